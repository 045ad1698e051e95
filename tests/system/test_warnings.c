/* A warning is something to act on. Daily work logs none: a start, a reload, a stop, a
 * restart, one of pawld after another, and one of the masters after another. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/handing.h"
#include "tests/system/masters.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREE = 3,
    FIVE = 5,
    TTL_MAX_MS = 5000,
    WAIT_MS = 10000,
    LASTED_MS = 5000, /* without a vote */
    SLACK_MS = 1000,  /* the moments without one before counted, too */
};

static int start_fleet(void **state)
{
    const struct fleet_wanted *wanted = *state;
    fleet_start(wanted->n, wanted->persistence);
    fleet_init(TTL_MAX_MS);
    return handing_setup(state);
}

/* Each start goes on with the log. */
static struct pawl_service begin(void)
{
    return (struct pawl_service){.process = handing_start(NULL), .port = handing.port};
}

static struct pawl_service serve(void)
{
    const struct pawl_service service = begin();
    process_wait_line(service.process, "listening on ", WAIT_MS, NULL, 0);
    pawl_wait_ready(service);
    return service;
}

static void reload(struct pawl_service service)
{
    process_signal(service.process, SIGHUP);
    process_wait_line(service.process, "reloaded", WAIT_MS, NULL, 0);
}

/* The common settings of the tests' masters are no accident: they are one machine. */
static bool is_of_this_machine(const char *line)
{
    return strstr(line, " audit: same-host: ") != NULL;
}

static void expect_no_warning(void)
{
    char *text = text_read(workdir.log, 0);
    unsigned lines = 0;
    for (char *rest = text, *line = strsep(&rest, "\n"); rest != NULL; line = strsep(&rest, "\n")) {
        if ((strstr(line, " warning ") || strstr(line, " error ")) && !is_of_this_machine(line))
            fail_msg("%s", line);
        lines++;
    }
    assert_true(lines > 0);
    free(text);
}

/* Twice: the second start finds what the first one left. And once after a kill. */
static void restarts_log_no_warning(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct pawl_service service = serve();
        (void)call_grant(service.port, i == 0 ? "orders" : "reports", NULL);
        reload(service);
        assert_int_equal(process_stop(service.process), 0);
    }
    process_kill(serve().process);
    assert_int_equal(process_stop(serve().process), 0);
    expect_no_warning();
}

/* The drain tells a waiter, and no call is left over. */
static void stop_with_a_waiter_logs_no_warning(void **state)
{
    const struct pawl_service service = serve();
    (void)call_grant(service.port, "orders", NULL);
    struct http *waits =
        call_begin(service.port, "POST", "/v1/locks/orders", "{\"wait_ms\": 10000}");
    wait_ms(100);
    assert_int_equal(process_stop(service.process), 0);
    (void)call_end(waits);
    expect_no_warning();
}

static void hand_over_logs_no_warning(void **state)
{
    struct pawl_service old = serve();
    for (unsigned i = 0; i < 2; i++) {
        process_wait_line(old.process, "another pawld can replace this pawld", WAIT_MS, NULL, 0);
        const struct pawl_service next = serve();
        assert_int_equal(process_wait(old.process, WAIT_MS), 0);
        old = next;
    }
    assert_int_equal(process_stop(old.process), 0);
    expect_no_warning();
}

static void masters_that_restart_in_turn_log_no_warning(void **state)
{
    const struct pawl_service service = serve();
    masters_wait_all_active(service.port, fleet->n);
    for (unsigned i = 0; i < fleet->n; i++) {
        redis_fleet_kill(fleet, i);
        masters_wait_out(service.port, i, "unreachable", MASTERS_WAIT_LONG_MS);
        redis_fleet_restart(fleet, i, true);
        masters_wait_all_active(service.port, fleet->n);
    }
    assert_true(process_wrote(service.process,
                              " info .* does not vote: The connection to this master failed"));
    assert_int_equal(process_stop(service.process), 0);
    expect_no_warning();
}

/* As in a composition of containers. */
static void masters_that_start_after_pawld_log_no_warning(void **state)
{
    for (unsigned i = 0; i < fleet->n; i++)
        redis_fleet_kill(fleet, i);
    const struct pawl_service service = begin();
    process_wait_line(service.process, "does not vote", WAIT_MS, NULL, 0);
    for (unsigned i = 0; i < fleet->n; i++)
        redis_fleet_restart(fleet, i, true);
    pawl_wait_ready(service);
    masters_wait_all_active(service.port, fleet->n);
    assert_int_equal(process_stop(service.process), 0);
    expect_no_warning();
}

#define AWAY                                                                                       \
    " warning .*master 1 .* does not vote, and has not for 5 s: The connection to this master "    \
    "failed"

static void master_that_stays_away_is_a_warning_once(void **state)
{
    const struct pawl_service service = serve();
    masters_wait_all_active(service.port, fleet->n);
    const uint64_t began_ms = wait_now_ms();
    redis_fleet_kill(fleet, 0);
    process_wait_line(service.process, AWAY, LASTED_MS + WAIT_MS, NULL, 0);
    assert_true(wait_now_ms() - began_ms >= LASTED_MS - SLACK_MS);
    wait_ms(1000);
    assert_false(process_wrote(service.process, AWAY "(.*\n)+.*" AWAY));
    redis_fleet_restart(fleet, 0, true);
    masters_wait_all_active(service.port, fleet->n);
    assert_int_equal(process_stop(service.process), 0);
}

/* It accepts connections, and answers nothing. */
static void masters_that_all_stay_silent_are_a_warning(void **state)
{
    const struct pawl_service service = serve();
    masters_wait_all_active(service.port, fleet->n);
    for (unsigned i = 0; i < fleet->n; i++)
        redis_fleet_pause(fleet, i);
    process_wait_line(service.process, " warning .*master 2 .* does not vote, and has not for",
                      LASTED_MS + WAIT_MS, NULL, 0);
    for (unsigned i = 0; i < fleet->n; i++)
        redis_fleet_resume(fleet, i);
    pawl_wait_ready(service);
    assert_int_equal(process_stop(service.process), 0);
}

static void master_that_somebody_has_to_mend_is_a_warning_at_once(void **state)
{
    const struct pawl_service service = serve();
    masters_wait_all_active(service.port, fleet->n);
    fleet_command(0, "CONFIG SET appendfsync everysec");
    process_wait_line(service.process, " warning .*master 1 .* does not vote: ", LASTED_MS - 1000,
                      NULL, 0);
    assert_int_equal(process_stop(service.process), 0);
}

#define FILE_CASE(name) cmocka_unit_test_setup_teardown(name, handing_setup, workdir_teardown)
#define NAMED_CASE(label, name, n)                                                                 \
    {                                                                                              \
        label, name, start_fleet, workdir_teardown, &((struct fleet_wanted){n, REDIS_ALWAYS})      \
    }
#define MASTERS_CASE(name, n) NAMED_CASE(#name, name, n)

static const struct CMUnitTest cases[] = {
    FILE_CASE(restarts_log_no_warning),
    FILE_CASE(stop_with_a_waiter_logs_no_warning),
    FILE_CASE(hand_over_logs_no_warning),
    NAMED_CASE("restarts_over_three_masters_log_no_warning", restarts_log_no_warning, THREE),
    NAMED_CASE("restarts_over_five_masters_log_no_warning", restarts_log_no_warning, FIVE),
    NAMED_CASE("hand_over_over_masters_logs_no_warning", hand_over_logs_no_warning, THREE),
    MASTERS_CASE(masters_that_restart_in_turn_log_no_warning, THREE),
    NAMED_CASE("five_masters_that_restart_in_turn_log_no_warning",
               masters_that_restart_in_turn_log_no_warning, FIVE),
    MASTERS_CASE(masters_that_start_after_pawld_log_no_warning, THREE),
    MASTERS_CASE(master_that_stays_away_is_a_warning_once, THREE),
    MASTERS_CASE(masters_that_all_stay_silent_are_a_warning, THREE),
    MASTERS_CASE(master_that_somebody_has_to_mend_is_a_warning_at_once, THREE),
};

CASE_MAIN(cases, NULL, NULL)
