/* How long a loop heard no master: the time that it sleeps as planned is none of it. */
#include "server/loop/lag.h"
#include "tests/lib/case.h"

static struct server_lag lag;

static int setup(void **state)
{
    server_lag_init(&lag, 1000);
    return 0;
}

static void sleep_until_the_timer_is_no_lag(void **state)
{
    server_lag_sleeps(&lag, 1000);
    assert_int_equal(server_lag_woke(&lag, 90000, 90000), 0);
    server_lag_sleeps(&lag, 90000);
    assert_int_equal(server_lag_woke(&lag, 200000, 95000), 0); /* by a socket */
}

static void time_over_the_timer_counts(void **state)
{
    server_lag_sleeps(&lag, 1000);
    assert_int_equal(server_lag_woke(&lag, 20000, 27000), 7000);
}

static void timer_that_was_due_before_the_sleep_counts_from_the_sleep_on(void **state)
{
    server_lag_sleeps(&lag, 5000);
    assert_int_equal(server_lag_woke(&lag, 2000, 6000), 4000 + 1000);
}

static void work_before_the_sleep_counts(void **state)
{
    server_lag_sleeps(&lag, 31000);
    assert_int_equal(server_lag_woke(&lag, 90000, 90000), 30000);
    server_lag_sleeps(&lag, 90500);
    assert_int_equal(server_lag_woke(&lag, 99000, 99000), 500);
}

static void loop_that_looks_twice_without_a_sleep_has_worked_no_time(void **state)
{
    server_lag_sleeps(&lag, 1000);
    assert_int_equal(server_lag_woke(&lag, 9000, 9000), 0);
    assert_int_equal(server_lag_woke(&lag, 12000, 10000), 0);
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static const struct CMUnitTest cases[] = {
    CASE(sleep_until_the_timer_is_no_lag),
    CASE(time_over_the_timer_counts),
    CASE(timer_that_was_due_before_the_sleep_counts_from_the_sleep_on),
    CASE(work_before_the_sleep_counts),
    CASE(loop_that_looks_twice_without_a_sleep_has_worked_no_time),
};

CASE_MAIN(cases, NULL, NULL)
