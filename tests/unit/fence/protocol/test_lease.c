#include "fence/protocol/lease.h"
#include "tests/lib/case.h"

static void majority_is_more_than_half_of_all_masters(void **state)
{
    assert_int_equal(fence_majority(1), 1);
    assert_int_equal(fence_majority(3), 2);
    assert_int_equal(fence_majority(5), 3);
    assert_int_equal(fence_majority(7), 4);
    assert_int_equal(fence_majority(9), 5);
}

static void blocking_set_leaves_one_less_than_a_majority(void **state)
{
    for (unsigned n = 1; n <= FENCE_MASTERS_MAX; n++)
        assert_int_equal(n - fence_blocking(n), fence_majority(n) - 1);
}

static void validity_is_ttl_less_elapsed_and_drift(void **state)
{
    /* 30 s, less 1% and 2 ms of drift, less 11 ms on the way. */
    assert_int_equal(fence_validity_us(30000, 5000000, 5011000), 29687000);
    assert_int_equal(fence_validity_us(100, 0, 0), 97000);
}

static void validity_counts_from_the_first_send_not_from_zero(void **state)
{
    uint64_t began_us = INT64_MAX;
    assert_int_equal(fence_validity_us(1000, began_us, began_us + 1), 987999);
}

static void validity_is_not_positive_once_the_lease_may_be_over(void **state)
{
    uint64_t usable_us = 100000 - 1000 - 2000;
    assert_int_equal(fence_validity_us(100, 7, 7 + usable_us - 1), 1);
    assert_int_equal(fence_validity_us(100, 7, 7 + usable_us), 0);
    assert_int_equal(fence_validity_us(100, 7, 7 + usable_us + 1), -1);
    assert_true(fence_validity_us(100, 0, INT64_MAX) < 0);
}

static void longest_ttl_does_not_overflow(void **state)
{
    int64_t ttl_us = INT64_C(1000) * FENCE_TTL_CEILING_MS;
    assert_int_equal(fence_validity_us(FENCE_TTL_CEILING_MS, 0, 0), ttl_us - ttl_us / 100 - 2000);
    assert_true(fence_validity_us(UINT32_MAX, 0, 0) > 0);
}

static void patience_is_a_tenth_of_a_short_ttl(void **state)
{
    assert_int_equal(fence_round_timeout_us(FENCE_MASTER_DEADLINE_US, 100), 10000);
    assert_int_equal(fence_round_timeout_us(FENCE_MASTER_DEADLINE_US, 499), 49900);
}

static void patience_is_never_more_than_the_master_deadline(void **state)
{
    assert_int_equal(fence_round_timeout_us(FENCE_MASTER_DEADLINE_US, 500),
                     FENCE_MASTER_DEADLINE_US);
    assert_int_equal(fence_round_timeout_us(FENCE_MASTER_DEADLINE_US, 30000),
                     FENCE_MASTER_DEADLINE_US);
    assert_int_equal(fence_round_timeout_us(FENCE_MASTER_DEADLINE_US, UINT32_MAX),
                     FENCE_MASTER_DEADLINE_US);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(majority_is_more_than_half_of_all_masters),
    cmocka_unit_test(blocking_set_leaves_one_less_than_a_majority),
    cmocka_unit_test(validity_is_ttl_less_elapsed_and_drift),
    cmocka_unit_test(validity_counts_from_the_first_send_not_from_zero),
    cmocka_unit_test(validity_is_not_positive_once_the_lease_may_be_over),
    cmocka_unit_test(longest_ttl_does_not_overflow),
    cmocka_unit_test(patience_is_a_tenth_of_a_short_ttl),
    cmocka_unit_test(patience_is_never_more_than_the_master_deadline),
};

CASE_MAIN(cases, NULL, NULL)
