#include "fence/state/counter_hints.h"
#include "tests/lib/case.h"

enum {
    SLOT = 4711,
    GENERATION = 3,
    FIRST_TWO = 0x3,
    ALL = 0x7,
};

static struct core_counter_hints hints;

static int begin(void **state)
{
    return core_counter_hints_init(&hints);
}

static int end(void **state)
{
    core_counter_hints_fini(&hints);
    return 0;
}

static void learn(int64_t number, uint32_t set)
{
    core_counter_hints_learn(&hints, SLOT, GENERATION, number, set);
}

static int64_t hint(uint32_t set)
{
    return core_counter_hints_for(&hints, SLOT, GENERATION, set);
}

static void nothing_is_hinted_of_a_slot_that_nobody_asked_for(void **state)
{
    assert_int_equal(hint(ALL), 0);
    assert_int_equal(core_counter_hints_for(&hints, SLOT, 0, ALL), 0);
    learn(7, FIRST_TWO);
    assert_int_equal(core_counter_hints_for(&hints, SLOT + 1, GENERATION, ALL), 0);
    assert_int_equal(core_counter_hints_for(&hints, FENCE_SLOTS - 1, GENERATION, ALL), 0);
}

static void masters_in_step_need_no_hint(void **state)
{
    learn(7, FIRST_TWO);
    assert_int_equal(hint(FIRST_TWO), 0);
    assert_int_equal(hint(0x1), 0);
}

static void one_that_is_not_in_step_is_told_the_number(void **state)
{
    learn(7, FIRST_TWO);
    assert_int_equal(hint(0x4), 7);
    assert_int_equal(hint(0x6), 7);
}

static void masters_that_give_the_same_number_are_in_step_together(void **state)
{
    learn(7, FIRST_TWO);
    learn(7, 0x4);
    assert_int_equal(hint(ALL), 0);
}

static void higher_number_leaves_the_others_behind(void **state)
{
    learn(7, FIRST_TWO);
    learn(8, 0x6);
    assert_int_equal(hint(0x6), 0);
    assert_int_equal(hint(0x1), 8);
}

/* As of a lock that was found: its number is older than what the counter is at. */
static void lower_number_is_not_hinted_and_who_gave_it_is_not_in_step(void **state)
{
    learn(7, FIRST_TWO);
    learn(5, 0x2);
    assert_int_equal(hint(0x1), 0);
    assert_int_equal(hint(0x2), 7);
}

static void change_of_the_views_forgets_it(void **state)
{
    learn(7, FIRST_TWO);
    assert_int_equal(core_counter_hints_for(&hints, SLOT, GENERATION + 1, ALL), 0);
    core_counter_hints_learn(&hints, SLOT, GENERATION + 1, 5, 0x1);
    assert_int_equal(core_counter_hints_for(&hints, SLOT, GENERATION + 1, ALL), 5);
    assert_int_equal(core_counter_hints_for(&hints, SLOT, GENERATION + 1, 0x1), 0);
    assert_int_equal(hint(ALL), 0);
}

#define HINTS_CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

static const struct CMUnitTest cases[] = {
    HINTS_CASE(nothing_is_hinted_of_a_slot_that_nobody_asked_for),
    HINTS_CASE(masters_in_step_need_no_hint),
    HINTS_CASE(one_that_is_not_in_step_is_told_the_number),
    HINTS_CASE(masters_that_give_the_same_number_are_in_step_together),
    HINTS_CASE(higher_number_leaves_the_others_behind),
    HINTS_CASE(lower_number_is_not_hinted_and_who_gave_it_is_not_in_step),
    HINTS_CASE(change_of_the_views_forgets_it),
};

CASE_MAIN(cases, NULL, NULL)
