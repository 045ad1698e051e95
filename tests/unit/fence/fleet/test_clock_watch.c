#include "fence/fleet/clock_watch.h"
#include "tests/lib/case.h"

#define SECOND_US     INT64_C(1000000)
#define INTERVAL_US   (5 * SECOND_US)
#define ROUND_TRIP_US INT64_C(400)
#define WALL_LEAD_US  (1000000 * SECOND_US) /* the lead of the wall clock over the boot clock */

/* A reading that began at @boot_us, with their clock @ahead_us ahead of where it should be. */
static struct fence_clock_reading reading(uint64_t boot_us, int64_t ahead_us)
{
    int64_t wall_us = (int64_t)boot_us + WALL_LEAD_US;
    return (struct fence_clock_reading){
        .theirs_us = (uint64_t)(wall_us + ahead_us),
        .before_us = boot_us,
        .after_us = boot_us + ROUND_TRIP_US,
    };
}

static int64_t strayed(uint64_t apart_us, int64_t ahead_us)
{
    struct fence_clock_reading first = reading(SECOND_US, 0);
    struct fence_clock_reading second = reading(SECOND_US + apart_us, ahead_us);
    return fence_clock_strayed_us(&first, &second);
}

static void clock_that_keeps_step_has_not_strayed(void **state)
{
    assert_int_equal(strayed(INTERVAL_US, 0), 0);
    assert_int_equal(strayed(ROUND_TRIP_US, 0), 0);
    assert_int_equal(strayed(3600 * SECOND_US, 0), 0);
}

static void step_is_told_with_its_size_and_direction(void **state)
{
    assert_in_range(strayed(INTERVAL_US, 3 * SECOND_US), 3 * SECOND_US - ROUND_TRIP_US,
                    3 * SECOND_US);
    assert_in_range(-strayed(INTERVAL_US, -3 * SECOND_US), 3 * SECOND_US - ROUND_TRIP_US,
                    3 * SECOND_US);
    assert_true(strayed(INTERVAL_US, -WALL_LEAD_US) < 0); /* to 1970 */
}

static void rate_within_one_percent_is_borne_and_one_beyond_is_not(void **state)
{
    int64_t percent_us = INTERVAL_US / 100;
    int64_t spare_us = FENCE_CLOCK_SLACK_US + 2 * ROUND_TRIP_US;
    assert_int_equal(strayed(INTERVAL_US, percent_us), 0);
    assert_int_equal(strayed(INTERVAL_US, -percent_us), 0);
    assert_true(strayed(INTERVAL_US, percent_us + spare_us) > 0);
    assert_true(strayed(INTERVAL_US, -percent_us - spare_us) < 0);
}

/* A reading that took long says little, and must not accuse. */
static void slow_answer_is_no_step(void **state)
{
    struct fence_clock_reading first = reading(SECOND_US, 0);
    struct fence_clock_reading second = reading(6 * SECOND_US, 0);
    second.after_us += 2 * SECOND_US;
    second.theirs_us += 2 * SECOND_US; /* it sat in a queue before it was answered */
    assert_int_equal(fence_clock_strayed_us(&first, &second), 0);
    second = reading(6 * SECOND_US, 0);
    second.after_us += 2 * SECOND_US; /* or its answer sat in ours */
    assert_int_equal(fence_clock_strayed_us(&first, &second), 0);
}

static void small_step_between_quick_readings_is_seen(void **state)
{
    assert_true(strayed(SECOND_US, SECOND_US / 50) > 0);
    assert_true(strayed(SECOND_US, -SECOND_US / 50) < 0);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(clock_that_keeps_step_has_not_strayed),
    cmocka_unit_test(step_is_told_with_its_size_and_direction),
    cmocka_unit_test(rate_within_one_percent_is_borne_and_one_beyond_is_not),
    cmocka_unit_test(slow_answer_is_no_step),
    cmocka_unit_test(small_step_between_quick_readings_is_seen),
};

CASE_MAIN(cases, NULL, NULL)
