#include "fence/base/timers.h"
#include "tests/lib/case.h"

#include <stdbool.h>

enum {
    CAPACITY = 64,
};

static struct fence_timers timers;

static int set_up(void **state)
{
    return fence_timers_init(&timers, CAPACITY) ? 0 : -1;
}

static int tear_down(void **state)
{
    fence_timers_fini(&timers);
    return 0;
}

static void without_timers_nothing_is_due(void **state)
{
    assert_true(fence_timers_next_us(&timers) == FENCE_NEVER);
}

static void earliest_comes_first(void **state)
{
    fence_timers_set(&timers, 5, 300);
    fence_timers_set(&timers, 6, 100);
    fence_timers_set(&timers, 7, 200);
    assert_int_equal(fence_timers_next_us(&timers), 100);
    assert_int_equal(fence_timers_first(&timers), 6);
}

static void timer_set_again_is_moved(void **state)
{
    fence_timers_set(&timers, 1, 100);
    fence_timers_set(&timers, 2, 200);
    fence_timers_set(&timers, 1, 300);
    assert_int_equal(fence_timers_first(&timers), 2);
    fence_timers_set(&timers, 1, 50);
    assert_int_equal(fence_timers_first(&timers), 1);
    assert_int_equal(timers.count, 2);
}

static void never_clears_a_timer(void **state)
{
    fence_timers_set(&timers, 1, 100);
    fence_timers_set(&timers, 2, 200);
    fence_timers_set(&timers, 1, FENCE_NEVER);
    assert_int_equal(fence_timers_first(&timers), 2);
    fence_timers_set(&timers, 1, FENCE_NEVER);
    fence_timers_set(&timers, 2, FENCE_NEVER);
    assert_true(fence_timers_next_us(&timers) == FENCE_NEVER);
}

/* Against a plain array: the heap agrees with it after each of many changes. It is filled at random
 * and emptied from the front in turn, so that whatever lies deep comes to the front in the end. */
static void earliest_is_right_after_any_changes(void **state)
{
    uint64_t due_us[CAPACITY];
    for (unsigned i = 0; i < CAPACITY; i++)
        due_us[i] = FENCE_NEVER;
    uint64_t random = 1;
    for (unsigned step = 0; step < 50000; step++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        bool emptying = step / (2 * CAPACITY) % 2 == 1 && timers.count > 0;
        uint32_t slot =
            emptying ? fence_timers_first(&timers) : (uint32_t)(random >> 33) % CAPACITY;
        bool clear = emptying || random >> 62 == 0;
        due_us[slot] = clear ? FENCE_NEVER : (random >> 40) % 1000;
        fence_timers_set(&timers, slot, due_us[slot]);

        uint64_t earliest_us = FENCE_NEVER;
        for (unsigned i = 0; i < CAPACITY; i++)
            earliest_us = due_us[i] < earliest_us ? due_us[i] : earliest_us;
        assert_true(fence_timers_next_us(&timers) == earliest_us);
        if (earliest_us != FENCE_NEVER)
            assert_true(due_us[fence_timers_first(&timers)] == earliest_us);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const struct CMUnitTest cases[] = {
    CASE(without_timers_nothing_is_due),
    CASE(earliest_comes_first),
    CASE(timer_set_again_is_moved),
    CASE(never_clears_a_timer),
    CASE(earliest_is_right_after_any_changes),
};

CASE_MAIN(cases, NULL, NULL)
