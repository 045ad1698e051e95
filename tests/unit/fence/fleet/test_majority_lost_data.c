#include "fence/fleet/majority_lost_data.h"
#include "tests/lib/case.h"

/* A fleet of @n whose first @count masters are out for @reason; the others are active. */
static bool lost(unsigned n, unsigned count, enum fence_reason reason)
{
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, n);
    for (unsigned i = 0; i < n; i++) {
        fleet.master[i].state = i < count ? FENCE_MASTER_REFUSED : FENCE_MASTER_ACTIVE;
        fleet.master[i].reason = i < count ? reason : FENCE_REASON_NONE;
    }
    return fence_fleet_lost_memory(&fleet);
}

static void memory_is_lost_when_no_majority_is_left(void **state)
{
    static const enum fence_reason forgotten[] = {
        FENCE_REASON_BLANK,       FENCE_REASON_FORGOT,    FENCE_REASON_JOINING,
        FENCE_REASON_ROLLED_BACK, FENCE_REASON_MALFORMED,
    };
    for (size_t k = 0; k < sizeof(forgotten) / sizeof(forgotten[0]); k++) {
        assert_true(lost(1, 1, forgotten[k]));
        assert_false(lost(3, 1, forgotten[k]));
        assert_true(lost(3, 2, forgotten[k]));
        assert_false(lost(5, 2, forgotten[k]));
        assert_true(lost(5, 3, forgotten[k]));
        assert_true(lost(9, 9, forgotten[k]));
    }
}

static void masters_that_forgot_in_different_ways_add_up(void **state)
{
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, 5);
    fleet.master[0].reason = FENCE_REASON_BLANK;
    fleet.master[2].reason = FENCE_REASON_JOINING;
    assert_false(fence_fleet_lost_memory(&fleet));
    fleet.master[4].reason = FENCE_REASON_FORGOT;
    assert_true(fence_fleet_lost_memory(&fleet));
}

static void masters_that_are_out_for_another_reason_may_remember(void **state)
{
    static const enum fence_reason others[] = {
        FENCE_REASON_CONNECTING,  FENCE_REASON_UNREACHABLE, FENCE_REASON_SILENT,
        FENCE_REASON_NO_MAJORITY, FENCE_REASON_RESTARTED,   FENCE_REASON_UNFIT,
    };
    for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++)
        assert_false(lost(3, 3, others[k]));
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(memory_is_lost_when_no_majority_is_left),
    cmocka_unit_test(masters_that_forgot_in_different_ways_add_up),
    cmocka_unit_test(masters_that_are_out_for_another_reason_may_remember),
};

CASE_MAIN(cases, NULL, NULL)
