#include "fence/guard/guard.h"
#include "fence/protocol/limits.h"
#include "tests/lib/case.h"

static void first_token_is_accepted_and_recorded(void **state)
{
    int64_t highest = 0;
    assert_int_equal(fence_guard_judge(0, 34, &highest), 0);
    assert_int_equal(highest, 34);
}

static void newer_token_raises_the_guard(void **state)
{
    int64_t highest = 0;
    assert_int_equal(fence_guard_judge(33, 34, &highest), 0);
    assert_int_equal(highest, 34);
}

static void equal_token_is_accepted(void **state)
{
    int64_t highest = 0;
    assert_int_equal(fence_guard_judge(34, 34, &highest), 0);
    assert_int_equal(highest, 34);
}

static void older_token_is_refused_and_output_untouched(void **state)
{
    int64_t highest = 99;
    assert_int_equal(fence_guard_judge(34, 33, &highest), FENCE_ESTALE);
    assert_int_equal(fence_guard_judge(FENCE_TOKEN_MAX, 1, &highest), FENCE_ESTALE);
    assert_int_equal(highest, 99);
}

static void token_out_of_bounds_is_invalid_and_output_untouched(void **state)
{
    static const int64_t bad[] = {INT64_MIN, -1, 0, FENCE_TOKEN_MAX + 1, INT64_MAX};
    int64_t highest = 99;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(fence_token_valid(bad[i]));
        assert_int_equal(fence_guard_judge(0, bad[i], &highest), FENCE_EINVAL);
    }
    assert_int_equal(highest, 99);
}

static void token_bounds_are_inclusive(void **state)
{
    assert_true(fence_token_valid(1));
    assert_true(fence_token_valid(FENCE_TOKEN_MAX));
    assert_int_equal(FENCE_TOKEN_MAX, INT64_C(9007199254740991));
}

static void by_identity_only_the_last_claimant_writes(void **state)
{
    assert_int_equal(fence_guard_judge_id("AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAA"), 0);
    assert_int_equal(fence_guard_judge_id("AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAB"),
                     FENCE_ESTALE);
}

static void by_identity_a_prefix_is_another_id(void **state)
{
    assert_int_equal(fence_guard_judge_id("AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAA"),
                     FENCE_ESTALE);
    assert_int_equal(fence_guard_judge_id("", "AAAAAAAAAAAAAAAAAAAAAA"), FENCE_ESTALE);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(first_token_is_accepted_and_recorded),
    cmocka_unit_test(newer_token_raises_the_guard),
    cmocka_unit_test(equal_token_is_accepted),
    cmocka_unit_test(older_token_is_refused_and_output_untouched),
    cmocka_unit_test(token_out_of_bounds_is_invalid_and_output_untouched),
    cmocka_unit_test(token_bounds_are_inclusive),
    cmocka_unit_test(by_identity_only_the_last_claimant_writes),
    cmocka_unit_test(by_identity_a_prefix_is_another_id),
};

CASE_MAIN(cases, NULL, NULL)
