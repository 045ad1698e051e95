/* The words of /metrics about masters that stop, die, and come back. */
#include "tests/lib/case.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"
#include "tests/system/metrics/scrape.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MASTERS = 3,
    TTL_MAX_MS = 60000,
    NAMES = 8,
};

static uint16_t port;

static void take_and_release(void)
{
    char name[32];
    for (int k = 0; k < NAMES; k++) {
        (void)snprintf(name, sizeof(name), "name/%d", k);
        struct grant grant = call_grant(port, name, NULL);
        call_give_back(port, name, &grant);
    }
}

static void expect_state(unsigned member, const char *state)
{
    static const char *const states[] = {"down",      "waiting", "returning",
                                         "rejoining", "refused", "active"};
    char sample[128];
    (void)snprintf(sample, sizeof(sample), "pawl_master_state{member=\"%u\",state=\"%s\"}", member,
                   state);
    scrape_wait(port, sample, 1, MASTERS_WAIT_LONG_MS);
    char *text = scrape(port);
    double sum = 0;
    for (unsigned i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        (void)snprintf(sample, sizeof(sample), "pawl_master_state{member=\"%u\",state=\"%s\"}",
                       member, states[i]);
        sum += scrape_value(text, sample);
    }
    assert_true(sum == 1); /* it is in one state at a time */
    free(text);
}

static void serve(void)
{
    port = fleet_init_and_serve(TTL_MAX_MS).port;
}

static void healthy_fleet_is_active_and_ready(void **state)
{
    serve();
    take_and_release();
    char *text = scrape(port);
    assert_true(scrape_value(text, "pawl_ready") == 1);
    assert_true(scrape_value(text, "pawl_masters") == MASTERS);
    assert_true(scrape_value(text, "pawl_masters_active") == MASTERS);
    assert_true(scrape_value(text, "pawl_script_call_duration_seconds_count{member=\"1\"}") >=
                NAMES);
    assert_true(scrape_value(text, "pawl_master_round_trip_seconds{member=\"1\"}") > 0);
    assert_true(scrape_value(text, "pawl_attempts_total") >= NAMES);
    free(text);
    for (unsigned member = 1; member <= MASTERS; member++)
        expect_state(member, "active");
}

/* The first master is asked first, as is usual. */
static void stopped_master_shows_in_hedges_and_as_silent(void **state)
{
    serve();
    const double before = scrape_now(port, "pawl_hedges_total");
    redis_fleet_pause(fleet, 0);
    take_and_release();
    scrape_wait(port, "pawl_hedges_total", before + 1, MASTERS_WAIT_MS);
    scrape_wait(port, "pawl_master_reason{member=\"1\",reason=\"silent\"}", 1,
                MASTERS_WAIT_LONG_MS);
    expect_state(1, "down");
    assert_true(scrape_now(port, "pawl_masters_active") == MASTERS - 1);
    assert_true(scrape_now(port, "pawl_ready") == 1);
    redis_fleet_resume(fleet, 0);
    expect_state(1, "active");
    assert_true(scrape_now(port, "pawl_master_reason{member=\"1\",reason=\"silent\"}") == 0);
}

static void master_that_forgot_is_counted_when_it_was_taken_back(void **state)
{
    serve();
    assert_true(scrape_now(port, "pawl_master_rejoins_total{member=\"2\"}") == 0);
    redis_fleet_kill(fleet, 1);
    scrape_wait(port, "pawl_master_reason{member=\"2\",reason=\"unreachable\"}", 1,
                MASTERS_WAIT_LONG_MS);
    expect_state(2, "down");
    redis_fleet_restart(fleet, 1, false);
    scrape_wait(port, "pawl_master_rejoins_total{member=\"2\"}", 1, MASTERS_WAIT_LONG_MS);
    expect_state(2, "active");
    assert_true(scrape_now(port, "pawl_master_rejoins_total{member=\"1\"}") == 0);
}

static void fleet_without_a_majority_is_not_ready(void **state)
{
    serve();
    redis_fleet_kill(fleet, 0);
    redis_fleet_kill(fleet, 1);
    expect_state(1, "down");
    expect_state(2, "down");
    assert_true(scrape_now(port, "pawl_ready") == 0);
    assert_true(scrape_now(port, "pawl_masters_active") <
                scrape_now(port, "pawl_masters_majority"));
    const struct http_response *response = call_acquire_once(port, "a", NULL);
    assert_int_equal(response->status, 503);
    char *text = scrape(port);
    assert_true(scrape_value(text, "pawl_calls_total{call=\"acquire\",result=\"no-quorum\"}") +
                    scrape_value(text, "pawl_calls_total{call=\"acquire\",result=\"not-ready\"}") ==
                1);
    free(text);
}

static const struct CMUnitTest cases[] = {
    FLEET_CASE(healthy_fleet_is_active_and_ready, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(stopped_master_shows_in_hedges_and_as_silent, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(master_that_forgot_is_counted_when_it_was_taken_back, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(fleet_without_a_majority_is_not_ready, MASTERS, REDIS_VOLATILE),
};

CASE_MAIN(cases, NULL, NULL)
