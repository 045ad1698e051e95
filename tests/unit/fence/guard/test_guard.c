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

/* ---- readers and writers --------------------------------------------------------------------- */

static void writer_needs_the_highest_writers_token_or_more(void **state)
{
    struct fence_guard seen = {.writer = 34};
    assert_int_equal(fence_guard_judge_write(&seen, 33, &seen), FENCE_ESTALE);
    assert_int_equal(fence_guard_judge_write(&seen, 34, &seen), 0);
    assert_int_equal(fence_guard_judge_write(&seen, 36, &seen), 0);
    assert_int_equal(seen.writer, 36);
    assert_int_equal(seen.reader, 0);
}

static void writer_needs_more_than_the_highest_readers_token(void **state)
{
    struct fence_guard seen = {.writer = 30, .reader = 34};
    assert_int_equal(fence_guard_judge_write(&seen, 33, &seen), FENCE_ESTALE);
    assert_int_equal(fence_guard_judge_write(&seen, 34, &seen), FENCE_ESTALE);
    assert_int_equal(seen.writer, 30);
    assert_int_equal(fence_guard_judge_write(&seen, 35, &seen), 0);
    assert_int_equal(seen.writer, 35);
    assert_int_equal(seen.reader, 34);
}

static void reader_needs_the_highest_writers_token_or_more(void **state)
{
    struct fence_guard seen = {.writer = 34};
    assert_int_equal(fence_guard_judge_read(&seen, 33, &seen), FENCE_ESTALE);
    assert_int_equal(seen.reader, 0);
    assert_int_equal(fence_guard_judge_read(&seen, 34, &seen), 0);
    assert_int_equal(seen.reader, 34);
    assert_int_equal(seen.writer, 34);
}

static void reader_needs_nothing_of_other_readers_and_lowers_nothing(void **state)
{
    struct fence_guard seen = {.writer = 30, .reader = 40};
    assert_int_equal(fence_guard_judge_read(&seen, 31, &seen), 0);
    assert_int_equal(seen.reader, 40);
    assert_int_equal(fence_guard_judge_read(&seen, 41, &seen), 0);
    assert_int_equal(seen.reader, 41);
    assert_int_equal(seen.writer, 30);
}

static void tie_ends_the_writer_and_admits_the_reader(void **state)
{
    struct fence_guard seen = {0};
    assert_int_equal(fence_guard_judge_write(&seen, 34, &seen), 0);
    assert_int_equal(fence_guard_judge_read(&seen, 34, &seen), 0);
    assert_int_equal(fence_guard_judge_write(&seen, 34, &seen), FENCE_ESTALE);
    assert_int_equal(fence_guard_judge_read(&seen, 34, &seen), 0);
}

static void token_out_of_bounds_is_invalid_to_readers_and_writers(void **state)
{
    static const int64_t bad[] = {INT64_MIN, -1, 0, FENCE_TOKEN_MAX + 1, INT64_MAX};
    struct fence_guard seen = {.writer = 7, .reader = 9};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(fence_guard_judge_write(&seen, bad[i], &seen), FENCE_EINVAL);
        assert_int_equal(fence_guard_judge_read(&seen, bad[i], &seen), FENCE_EINVAL);
    }
    assert_int_equal(seen.writer, 7);
    assert_int_equal(seen.reader, 9);
}

static void refusal_names_the_writer_before_the_reader(void **state)
{
    const struct fence_guard seen = {.writer = 30, .reader = 34};
    bool is_reader = true;
    assert_int_equal(fence_guard_refusing(&seen, 29, &is_reader), 30);
    assert_false(is_reader);
    assert_int_equal(fence_guard_refusing(&seen, 34, &is_reader), 34);
    assert_true(is_reader);
}

/* ---- by identity ----------------------------------------------------------------------------- */

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
    cmocka_unit_test(writer_needs_the_highest_writers_token_or_more),
    cmocka_unit_test(writer_needs_more_than_the_highest_readers_token),
    cmocka_unit_test(reader_needs_the_highest_writers_token_or_more),
    cmocka_unit_test(reader_needs_nothing_of_other_readers_and_lowers_nothing),
    cmocka_unit_test(tie_ends_the_writer_and_admits_the_reader),
    cmocka_unit_test(token_out_of_bounds_is_invalid_to_readers_and_writers),
    cmocka_unit_test(refusal_names_the_writer_before_the_reader),
    cmocka_unit_test(by_identity_only_the_last_claimant_writes),
    cmocka_unit_test(by_identity_a_prefix_is_another_id),
};

CASE_MAIN(cases, NULL, NULL)
