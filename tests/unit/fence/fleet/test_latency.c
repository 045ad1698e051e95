#include "fence/fleet/latency.h"
#include "tests/lib/case.h"

enum {
    NOW_US = 5000000,
    WAITED_US = 3000,
    HEDGE_MOST_US = FENCE_MASTER_DEADLINE_US * FENCE_HEDGE_MOST_PERCENT / 100,
};

/* Each is asked when the one before it has ended. */
static uint64_t now_us = NOW_US;

static void answer(struct fence_latency *latency, uint64_t took_us, unsigned times)
{
    for (unsigned k = 0; k < times; k++)
        fence_latency_answered(latency, took_us, now_us += took_us);
}

static void miss(struct fence_latency *latency, unsigned times)
{
    for (unsigned k = 0; k < times; k++)
        fence_latency_missed(latency, WAITED_US, now_us += WAITED_US);
}

/* A master that always takes as long: its deviation has died away. */
static struct fence_latency steady(uint64_t took_us)
{
    struct fence_latency latency = {0};
    answer(&latency, took_us, 200);
    return latency;
}

static struct fence_latency slow(void)
{
    struct fence_latency latency = {0};
    miss(&latency, FENCE_SLOW_MISSES);
    return latency;
}

static void first_answer_is_the_mean_and_half_of_it_the_deviation(void **state)
{
    struct fence_latency latency = {0};
    answer(&latency, 800, 1);
    assert_int_equal(latency.mean_us, 800);
    assert_int_equal(latency.deviation_us, 400);
    assert_int_equal(fence_latency_hedge_us(&latency, 1, FENCE_MASTER_DEADLINE_US),
                     2 * (800 + 4 * 400));
}

static void mean_follows_what_is_measured(void **state)
{
    struct fence_latency latency = steady(800);
    assert_in_range(latency.mean_us, 790, 810);
    assert_in_range(latency.deviation_us, 0, 10);
    answer(&latency, 1600, 1);
    assert_in_range(latency.mean_us, 890, 910); /* an eighth of the way */
    assert_in_range(latency.deviation_us, 190, 210);
    answer(&latency, 400, 200);
    assert_in_range(latency.mean_us, 393, 407);
}

static void nothing_known_is_the_longest_delay(void **state)
{
    struct fence_latency each[5] = {{0}};
    assert_int_equal(fence_latency_hedge_us(each, 5, FENCE_MASTER_DEADLINE_US), HEDGE_MOST_US);
    each[0] = steady(100);
    each[4] = steady(100);
    assert_int_equal(fence_latency_hedge_us(each, 5, FENCE_MASTER_DEADLINE_US),
                     HEDGE_MOST_US); /* the median of too few */
}

/* Else only quick answers would count, and the delay would shrink until all calls are hedged. */
static void delay_grows_with_what_comes_too_late(void **state)
{
    struct fence_latency latency = steady(2000);
    uint64_t before_us = fence_latency_hedge_us(&latency, 1, FENCE_MASTER_DEADLINE_US);
    fence_latency_missed(&latency, before_us, now_us += before_us);
    assert_true(fence_latency_hedge_us(&latency, 1, FENCE_MASTER_DEADLINE_US) > before_us);
    latency = steady(2000);
    fence_latency_answered_late(&latency, 9000, now_us += 9000);
    assert_true(fence_latency_hedge_us(&latency, 1, FENCE_MASTER_DEADLINE_US) > before_us);
    assert_int_equal(latency.misses, 0);
}

/* 256 calls that go together are one measurement: the deviation of before is still known. */
static void batch_is_measured_once(void **state)
{
    struct fence_latency latency = steady(2000), once = latency;
    const uint64_t asked_us = now_us;
    now_us += 4000;
    fence_latency_answered(&once, 4000, now_us);
    for (unsigned k = 0; k < 256; k++)
        fence_latency_answered(&latency, now_us - asked_us - k, now_us);
    assert_int_equal(latency.mean_us, once.mean_us);
    assert_int_equal(latency.deviation_us, once.deviation_us);
    fence_latency_answered(&latency, 4000, now_us + 3999); /* asked while that was under way */
    assert_int_equal(latency.mean_us, once.mean_us);
    fence_latency_answered(&latency, 4000, now_us + 4000);
    assert_true(latency.mean_us > once.mean_us);
}

static void delay_is_never_shorter_or_longer_than_its_bounds(void **state)
{
    struct fence_latency quick = steady(10);
    assert_int_equal(fence_latency_hedge_us(&quick, 1, FENCE_MASTER_DEADLINE_US),
                     FENCE_HEDGE_LEAST_US);
    struct fence_latency lame = steady(UINT64_C(10) * HEDGE_MOST_US);
    assert_int_equal(fence_latency_hedge_us(&lame, 1, FENCE_MASTER_DEADLINE_US), HEDGE_MOST_US);
}

static void delay_is_twice_what_the_quickest_majority_takes(void **state)
{
    struct fence_latency each[5] = {
        steady(9000), steady(3000), steady(9000), steady(2000), steady(4000),
    };
    assert_in_range(fence_latency_hedge_us(each, 5, FENCE_MASTER_DEADLINE_US), 8000 - 20,
                    8000 + 200);
    each[4] = (struct fence_latency){0};
    assert_in_range(fence_latency_hedge_us(each, 5, FENCE_MASTER_DEADLINE_US), 18000 - 20,
                    18000 + 200);
}

static void slow_after_three_misses_in_a_row(void **state)
{
    struct fence_latency latency = steady(800);
    miss(&latency, 2);
    answer(&latency, 800, 1);
    miss(&latency, 2);
    assert_false(latency.slow);
    miss(&latency, 1);
    assert_true(latency.slow);
}

static void batch_that_is_late_is_one_miss(void **state)
{
    struct fence_latency latency = steady(800), once = latency;
    const uint64_t asked_us = now_us;
    fence_latency_missed(&once, WAITED_US, asked_us + WAITED_US);
    for (unsigned k = 0; k < 256; k++)
        fence_latency_missed(&latency, WAITED_US, asked_us + WAITED_US + k);
    assert_int_equal(latency.misses, 1);
    assert_false(latency.slow);
    assert_int_equal(latency.mean_us, once.mean_us);
    assert_int_equal(latency.deviation_us, once.deviation_us);
    now_us += 9000;
    fence_latency_answered_late(&once, 9000, now_us);
    for (unsigned k = 0; k < 256; k++)
        fence_latency_answered_late(&latency, 9000, now_us);
    assert_int_equal(latency.mean_us, once.mean_us);
    assert_int_equal(latency.deviation_us, once.deviation_us);
}

/* Else a batch of which a part is late would never make a master slow. */
static void what_went_along_with_a_miss_does_not_undo_it(void **state)
{
    struct fence_latency latency = steady(800);
    miss(&latency, 2);
    fence_latency_answered(&latency, WAITED_US, now_us + WAITED_US - 1);
    assert_int_equal(latency.misses, 2);
    miss(&latency, 1);
    assert_true(latency.slow);
    for (unsigned k = 0; k < FENCE_SLOW_MISSES; k++)
        fence_latency_answered(&latency, WAITED_US, now_us + WAITED_US - 1);
    assert_true(latency.slow);
    now_us += UINT64_C(2) * WAITED_US;
    for (unsigned k = 0; k < FENCE_SLOW_MISSES; k++)
        fence_latency_answered(&latency, 800,
                               now_us + 800); /* the answer in one batch: one of three */
    assert_true(latency.slow);
}

static void try_that_is_late_is_measured(void **state)
{
    struct fence_latency latency = {0};
    fence_latency_end_trial(&latency, WAITED_US + 1, WAITED_US, now_us += WAITED_US + 1);
    assert_int_equal(latency.mean_us, WAITED_US + 1);
    assert_false(latency.slow);
}

static void try_that_is_late_owes_all_answers_again(void **state)
{
    struct fence_latency latency = slow();
    for (unsigned k = 0; k < FENCE_SLOW_MISSES - 1; k++)
        fence_latency_end_trial(&latency, 800, WAITED_US, now_us += 800);
    fence_latency_end_trial(&latency, WAITED_US + 1, WAITED_US, now_us += WAITED_US + 1);
    for (unsigned k = 0; k < FENCE_SLOW_MISSES; k++) {
        assert_true(latency.slow);
        fence_latency_end_trial(&latency, 800, WAITED_US, now_us += 800);
    }
    assert_false(latency.slow);
}

static void back_after_three_answers_in_time(void **state)
{
    struct fence_latency latency = slow();
    answer(&latency, 800, 2);
    assert_true(latency.slow);
    miss(&latency, 1); /* and it owes three again */
    answer(&latency, 800, 2);
    assert_true(latency.slow);
    answer(&latency, 800, 1);
    assert_false(latency.slow);
    miss(&latency, 2); /* it is a master like others: two misses are not enough */
    assert_false(latency.slow);
}

static void slow_one_is_tried_now_and_then(void **state)
{
    struct fence_latency latency = slow();
    const uint64_t since_us = now_us;
    assert_false(fence_latency_begin_trial(&latency, since_us));
    assert_false(fence_latency_begin_trial(&latency, since_us + FENCE_SLOW_TRIAL_US - 1));
    assert_true(fence_latency_begin_trial(&latency, since_us + FENCE_SLOW_TRIAL_US));
    assert_false(
        fence_latency_begin_trial(&latency, since_us + FENCE_SLOW_TRIAL_US)); /* it was just now */
    assert_true(fence_latency_begin_trial(&latency, since_us + UINT64_C(2) * FENCE_SLOW_TRIAL_US));
}

/* It is not asked, and what it takes has to be known, too. */
static void spare_is_tried_once_a_second(void **state)
{
    struct fence_latency latency = {0};
    assert_false(
        fence_latency_begin_trial(&latency, now_us)); /* it may be asked first in a moment */
    assert_false(fence_latency_begin_trial(&latency, now_us + FENCE_SLOW_TRIAL_US - 1));
    assert_true(fence_latency_begin_trial(&latency, now_us + FENCE_SLOW_TRIAL_US));
    latency = steady(800);
    assert_false(fence_latency_begin_trial(&latency, now_us + FENCE_SPARE_TRIAL_US - 1));
    assert_false(fence_latency_begin_trial(&latency, now_us + FENCE_SPARE_TRIAL_US)); /* as above */
    assert_false(
        fence_latency_begin_trial(&latency, now_us + UINT64_C(2) * FENCE_SPARE_TRIAL_US - 1));
    assert_true(fence_latency_begin_trial(&latency, now_us + UINT64_C(2) * FENCE_SPARE_TRIAL_US));
    assert_false(fence_latency_begin_trial(&latency, now_us + UINT64_C(2) * FENCE_SPARE_TRIAL_US));
}

static void slow_ones_are_named_while_they_leave_a_majority(void **state)
{
    struct fence_latency each[5] = {{0}};
    assert_int_equal(fence_latency_slow(each, 5), 0);
    each[1] = slow();
    each[4] = slow();
    assert_int_equal(fence_latency_slow(each, 5), 0x12);
    each[0] = slow();
    assert_int_equal(fence_latency_slow(each, 5), 0); /* the load is to blame */
    assert_int_equal(fence_latency_slow(each, 1), 0);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(first_answer_is_the_mean_and_half_of_it_the_deviation),
    cmocka_unit_test(mean_follows_what_is_measured),
    cmocka_unit_test(nothing_known_is_the_longest_delay),
    cmocka_unit_test(delay_grows_with_what_comes_too_late),
    cmocka_unit_test(batch_is_measured_once),
    cmocka_unit_test(delay_is_never_shorter_or_longer_than_its_bounds),
    cmocka_unit_test(delay_is_twice_what_the_quickest_majority_takes),
    cmocka_unit_test(slow_after_three_misses_in_a_row),
    cmocka_unit_test(batch_that_is_late_is_one_miss),
    cmocka_unit_test(what_went_along_with_a_miss_does_not_undo_it),
    cmocka_unit_test(try_that_is_late_is_measured),
    cmocka_unit_test(try_that_is_late_owes_all_answers_again),
    cmocka_unit_test(back_after_three_answers_in_time),
    cmocka_unit_test(slow_one_is_tried_now_and_then),
    cmocka_unit_test(spare_is_tried_once_a_second),
    cmocka_unit_test(slow_ones_are_named_while_they_leave_a_majority),
};

CASE_MAIN(cases, NULL, NULL)
