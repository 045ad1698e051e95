#include "fence/round/tally.h"
#include "tests/lib/case.h"

static void masters_not_asked_count_as_down(void **state)
{
    struct fence_tally tally;
    fence_tally_begin(&tally, 5, 0x13, 0);
    assert_int_equal(fence_tally_count(&tally, FENCE_PART_DOWN), 2);
    assert_int_equal(tally.parts[2], FENCE_PART_DOWN);
    assert_int_equal(tally.parts[3], FENCE_PART_DOWN);
    assert_int_equal(fence_tally_open(&tally), 3);
}

static void masters_outside_the_fleet_count_for_nothing(void **state)
{
    struct fence_tally tally;
    fence_tally_begin(&tally, 3, 0x7, 0);
    assert_int_equal(fence_tally_count(&tally, FENCE_PART_PENDING), 3);
    fence_tally_begin(&tally, 3, 0, 0);
    assert_int_equal(fence_tally_count(&tally, FENCE_PART_DOWN), 3);
}

static void part_is_recorded_once(void **state)
{
    struct fence_tally tally;
    fence_tally_begin(&tally, 3, 0x7, 0);
    assert_true(fence_tally_record(&tally, 1, FENCE_PART_HELD));
    assert_false(fence_tally_record(&tally, 1, FENCE_PART_GRANTED));
    assert_int_equal(tally.parts[1], FENCE_PART_HELD);
    assert_int_equal(fence_tally_open(&tally), 2);
}

static void master_not_asked_cannot_take_part(void **state)
{
    struct fence_tally tally;
    fence_tally_begin(&tally, 3, 0x3, 0);
    assert_false(fence_tally_record(&tally, 2, FENCE_PART_GRANTED));
    assert_int_equal(tally.parts[2], FENCE_PART_DOWN);
}

static void giving_up_times_out_only_those_that_owe_an_answer(void **state)
{
    struct fence_tally tally;
    fence_tally_begin(&tally, 3, 0x3, 0);
    assert_true(fence_tally_record(&tally, 0, FENCE_PART_GRANTED));
    fence_tally_give_up(&tally);
    assert_int_equal(tally.parts[0], FENCE_PART_GRANTED);
    assert_int_equal(tally.parts[1], FENCE_PART_TIMEOUT);
    assert_int_equal(tally.parts[2], FENCE_PART_DOWN);
    assert_int_equal(fence_tally_open(&tally), 0);
    assert_false(fence_tally_record(&tally, 1, FENCE_PART_GRANTED));
}

static void unknown_is_down_or_timed_out_and_nothing_else(void **state)
{
    struct fence_tally tally;
    fence_tally_begin(&tally, 7, 0x3f, 0);
    assert_true(fence_tally_record(&tally, 0, FENCE_PART_GRANTED));
    assert_true(fence_tally_record(&tally, 1, FENCE_PART_HELD));
    assert_true(fence_tally_record(&tally, 2, FENCE_PART_FREE));
    assert_true(fence_tally_record(&tally, 3, FENCE_PART_REFUSED));
    assert_int_equal(fence_tally_unknown(&tally), 1);
    fence_tally_give_up(&tally);
    assert_int_equal(fence_tally_unknown(&tally), 3);
}

static struct fence_tally three_of_five(void)
{
    struct fence_tally tally;
    fence_tally_begin(&tally, 5, 0x7, 0x18);
    return tally;
}

static void spare_masters_may_still_answer_and_are_not_down(void **state)
{
    struct fence_tally tally = three_of_five();
    assert_int_equal(tally.parts[3], FENCE_PART_PENDING);
    assert_int_equal(fence_tally_count(&tally, FENCE_PART_DOWN), 0);
    assert_int_equal(fence_tally_open(&tally), 5);
    assert_int_equal(tally.asked, 0x7);
}

static void spare_master_owes_no_answer_before_it_is_asked(void **state)
{
    struct fence_tally tally = three_of_five();
    assert_false(fence_tally_record(&tally, 3, FENCE_PART_GRANTED));
    assert_int_equal(tally.parts[3], FENCE_PART_PENDING);
    fence_tally_ask(&tally, 0x8);
    assert_true(fence_tally_record(&tally, 3, FENCE_PART_GRANTED));
    assert_int_equal(tally.asked, 0xf);
    assert_int_equal(tally.spare, 0x10);
    assert_int_equal(fence_tally_open(&tally), 4);
}

static void dropping_touches_only_those_that_are_spare(void **state)
{
    struct fence_tally tally = three_of_five();
    fence_tally_drop(&tally, 0x9);
    assert_int_equal(tally.parts[0], FENCE_PART_PENDING);
    assert_int_equal(tally.parts[3], FENCE_PART_DOWN);
    assert_int_equal(tally.open, 0x7);
    assert_int_equal(tally.spare, 0x10);
    assert_int_equal(fence_tally_unknown(&tally), 1);
    fence_tally_drop(&tally, ~UINT32_C(0)); /* also of masters that there are not */
    assert_int_equal(fence_tally_count(&tally, FENCE_PART_DOWN), 2);
    assert_int_equal(fence_tally_open(&tally), 3);
}

static void giving_up_counts_spare_masters_as_down(void **state)
{
    struct fence_tally tally = three_of_five();
    fence_tally_give_up(&tally);
    assert_int_equal(tally.parts[2], FENCE_PART_TIMEOUT);
    assert_int_equal(tally.parts[3], FENCE_PART_DOWN);
    assert_int_equal(fence_tally_open(&tally), 0);
}

static void master_that_is_asked_again_owes_an_answer_again(void **state)
{
    struct fence_tally tally = three_of_five();
    assert_true(fence_tally_record(&tally, 1, FENCE_PART_FREE));
    fence_tally_ask_again(&tally, 0x2);
    assert_int_equal(tally.parts[1], FENCE_PART_PENDING);
    assert_int_equal(tally.open, 0x7);
    assert_true(fence_tally_record(&tally, 1, FENCE_PART_GRANTED));
    assert_int_equal(fence_tally_count(&tally, FENCE_PART_FREE), 0);
    assert_int_equal(fence_tally_count(&tally, FENCE_PART_GRANTED), 1);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(masters_not_asked_count_as_down),
    cmocka_unit_test(masters_outside_the_fleet_count_for_nothing),
    cmocka_unit_test(part_is_recorded_once),
    cmocka_unit_test(master_not_asked_cannot_take_part),
    cmocka_unit_test(giving_up_times_out_only_those_that_owe_an_answer),
    cmocka_unit_test(unknown_is_down_or_timed_out_and_nothing_else),
    cmocka_unit_test(spare_masters_may_still_answer_and_are_not_down),
    cmocka_unit_test(spare_master_owes_no_answer_before_it_is_asked),
    cmocka_unit_test(dropping_touches_only_those_that_are_spare),
    cmocka_unit_test(giving_up_counts_spare_masters_as_down),
    cmocka_unit_test(master_that_is_asked_again_owes_an_answer_again),
};

CASE_MAIN(cases, NULL, NULL)
