#include "fence/protocol/incarnation.h"
#include "tests/lib/case.h"

static void next_incarnation_is_higher_whatever_the_random_bits(void **state)
{
    int64_t low = fence_incarnation_next(0, 0);
    int64_t high = fence_incarnation_next(0, UINT64_MAX);
    assert_true(low > 0);
    assert_true(high > low);
    assert_true(fence_incarnation_next(high, 0) > high);
    assert_true(fence_incarnation_next(low, 0) > high);
}

static void admissions_that_know_nothing_of_one_another_differ(void **state)
{
    assert_int_not_equal(fence_incarnation_next(0, 0x1234), fence_incarnation_next(0, 0x5678));
}

static void last_incarnation_can_still_be_followed(void **state)
{
    int64_t next = fence_incarnation_next(FENCE_INCARNATION_MAX, UINT64_MAX);
    assert_true(next > FENCE_INCARNATION_MAX);
    assert_true(next <= FENCE_TOKEN_MAX);
}

static void next_try_is_higher_and_below_any_new_memory(void **state)
{
    const int64_t own = fence_incarnation_next(0, 0x1234);
    const int64_t first = fence_incarnation_next_try(own, own, 0);
    const int64_t second = fence_incarnation_next_try(own, first, UINT64_MAX);
    assert_true(first > own);
    assert_true(second > first);
    assert_true(second < fence_incarnation_next(own, 0));
    assert_true(fence_incarnation_same_memory(own, second));
}

static void no_try_follows_an_incarnation_of_another_memory(void **state)
{
    const int64_t own = fence_incarnation_next(0, 0);
    assert_int_equal(fence_incarnation_next_try(own, fence_incarnation_next(own, 0), 0), 0);
    assert_int_equal(fence_incarnation_next_try(own, fence_incarnation_next(0, 2), 0), 0);
    assert_false(fence_incarnation_same_memory(own, fence_incarnation_next(0, 2)));
}

static void tries_of_a_memory_come_to_an_end(void **state)
{
    const int64_t own = fence_incarnation_next(0, UINT64_MAX);
    int64_t last = own;
    unsigned tries = 0;
    for (int64_t next = own; next != 0; next = fence_incarnation_next_try(own, last, UINT64_MAX)) {
        last = next;
        tries++;
    }
    assert_in_range(tries, 1 << (FENCE_INCARNATION_TRY_BITS - FENCE_INCARNATION_TRY_LEAP_BITS),
                    1 << FENCE_INCARNATION_TRY_BITS);
    assert_true(fence_incarnation_next(last, 0) > last);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(next_incarnation_is_higher_whatever_the_random_bits),
    cmocka_unit_test(admissions_that_know_nothing_of_one_another_differ),
    cmocka_unit_test(last_incarnation_can_still_be_followed),
    cmocka_unit_test(next_try_is_higher_and_below_any_new_memory),
    cmocka_unit_test(no_try_follows_an_incarnation_of_another_memory),
    cmocka_unit_test(tries_of_a_memory_come_to_an_end),
};

CASE_MAIN(cases, NULL, NULL)
