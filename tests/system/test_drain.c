/* How pawld ends: it tells the waiters, lets holders extend and release, and is gone in time.
 *
 * A worker that is held by ptrace(2) cannot end, so the other one goes on draining until it is let
 * go. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/thread.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/line.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
    CROWD = 48, /* connections: a worker has as few as NEEDED of them once in 10^9 */
    NEEDED = 6,
    WAITERS = 600, /* more than are told in a turn */
    LIVE_MS = 3000,
    TIMEOUT_MS = 20000,
    WARMED = 20, /* locks, after which pawld knows how quick the masters are */
    SETTLED_MS = 100,
    QUICK_MS = 4000, /* far less than the drain's 10 s, also on a slow machine */
};

static struct pawl_service service;

static int start_over(enum redis_persistence persistence)
{
    line_may_be_long();
    fleet_start(3, persistence);
    pawl_init_new(fleet);
    return 0;
}

static int start(void **state)
{
    return start_over(REDIS_VOLATILE);
}

/* A master that keeps all is sent its next script when it has answered the last one. */
static int start_durable(void **state)
{
    return start_over(REDIS_ALWAYS);
}

static void serve(const char *const options[])
{
    service = pawld_start(fleet, options);
    pawl_wait_ready(service);
}

/* Ready through each of two workers. */
static void serve_with_two_workers(void)
{
    serve((const char *const[]){"--workers", "2", NULL});
    fleet_wait_workers(service, 2);
}

/* Connections to the first of two workers. */
static struct http *live[CROWD];
static unsigned lives;
static pid_t held; /* 0: none */

static bool answers(struct http *http)
{
    static const char request[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct http_response response;
    struct pollfd readable = {.fd = http_fd(http), .events = POLLIN};
    assert_true(http_send(http, request, strlen(request)));
    if (poll(&readable, 1, lives < NEEDED ? LIVE_MS / CROWD : 0) <= 0)
        return false;
    http_receive(http, false, &response);
    http_response_fini(&response);
    return true;
}

/* Holds the second worker, and finds connections to the first. */
static void hold_second_worker(void)
{
    struct http *crowd[CROWD];
    for (int i = 0; i < CROWD; i++)
        crowd[i] = http_connect(service.port);
    held = thread_hold(process_id(service.process), "worker 2");
    lives = 0;
    for (int i = 0; i < CROWD; i++) {
        if (answers(crowd[i]))
            live[lives++] = crowd[i];
        else
            http_close(crowd[i]);
    }
    assert_true(lives >= NEEDED);
}

static void let_go(void)
{
    const pid_t thread = held;
    held = 0;
    if (thread != 0)
        thread_let_go(thread);
}

static int teardown(void **state)
{
    let_go();
    while (lives > 0)
        http_close(live[--lives]);
    return fleet_teardown(state);
}

/* One call over a connection to the first worker, which ends with it. */
static const struct http_response *call_live(const char *method, const char *path,
                                             const struct grant *grant)
{
    static struct http_response response;
    char lines[256] = "";
    char value[16];
    if (grant != NULL)
        (void)snprintf(lines, sizeof(lines), "Lock-Id: %s\r\nFencing-Token: %lld\r\n",
                       grant->lock_id, (long long)grant->token);
    assert_true(lives > 0);
    struct http *http = live[--lives];
    http_response_fini(&response);
    http_request(http, method, path, lines, NULL, &response);
    assert_true(http_header(&response, "Connection", value, sizeof(value)));
    assert_string_equal(value, "close");
    http_close(http);
    return &response;
}

static void holders_extend_and_release_while_nothing_more_is_granted(void **state)
{
    char seconds[16];
    serve_with_two_workers();
    const struct grant grant = call_grant(service.port, "kept", NULL);
    hold_second_worker();
    process_signal(service.process, SIGTERM);
    process_wait_line(service.process, " stopping$", TIMEOUT_MS, NULL, 0);

    EXPECT_PROBLEM(call_live("GET", "/readyz", NULL), 503, "stopping", 0);
    const struct http_response *refused = call_live("POST", "/v1/locks/new", NULL);
    EXPECT_PROBLEM(refused, 503, "stopping", 0);
    assert_true(http_header(refused, "Retry-After", seconds, sizeof(seconds)));
    assert_int_equal(call_live("PATCH", "/v1/locks/kept", &grant)->status, 200);
    assert_true(http_boolean(call_live("DELETE", "/v1/locks/kept", &grant), "released"));
    assert_int_equal(call_live("GET", "/livez", NULL)->status, 200);

    assert_true(process_alive(service.process));
    let_go();
    assert_int_equal(process_wait(service.process, TIMEOUT_MS), 0);
}

static void all_who_wait_are_told_at_once(void **state)
{
    static struct http *waiters[WAITERS];
    serve(NULL);
    call_grant(service.port, "held", NULL);
    for (int i = 0; i < WAITERS; i++)
        waiters[i] = call_begin(service.port, "POST", "/v1/locks/held", "{\"wait_ms\": 300000}");
    assert_true(line_becomes(service.port, "held", WAITERS, TIMEOUT_MS));
    const uint64_t began_ms = wait_now_ms();
    process_signal(service.process, SIGTERM);
    for (int i = 0; i < WAITERS; i++)
        EXPECT_PROBLEM(call_end(waiters[i]), 503, "stopping", 0);
    assert_int_equal(process_wait(service.process, TIMEOUT_MS), 0);
    assert_in_range(wait_now_ms() - began_ms, 0, QUICK_MS);
}

/* None of those who were told has the lock, or keeps others from it. */
static void lock_is_free_for_others_after_its_waiters_were_told(void **state)
{
    serve(NULL);
    struct pawl_service other = pawld_start(fleet, NULL);
    pawl_wait_ready(other);
    const struct grant holder = call_grant(service.port, "next", NULL);
    struct http *waiter =
        call_begin(service.port, "POST", "/v1/locks/next", "{\"wait_ms\": 300000}");
    assert_true(line_becomes(service.port, "next", 1, TIMEOUT_MS));
    process_signal(service.process, SIGTERM);
    EXPECT_PROBLEM(call_end(waiter), 503, "stopping", 0);
    assert_int_equal(process_wait(service.process, TIMEOUT_MS), 0);
    call_give_back(other.port, "next", &holder);
    const struct grant next = call_grant(other.port, "next", NULL);
    assert_true(next.token > holder.token);
    assert_int_equal(process_stop(other.process), 0);
}

static void open_connections_do_not_hold_up_the_end(void **state)
{
    struct http *idle[CROWD];
    serve(NULL);
    for (int i = 0; i < CROWD; i++) {
        idle[i] = http_connect(service.port);
        if (i % 2 == 0) /* half a request */
            assert_true(http_send(idle[i], "POST /v1/locks/x HTTP/1.1\r\nHost:", 31));
    }
    const uint64_t began_ms = wait_now_ms();
    process_signal(service.process, SIGTERM);
    assert_int_equal(process_wait(service.process, TIMEOUT_MS), 0);
    assert_in_range(wait_now_ms() - began_ms, 0, QUICK_MS);
    for (int i = 0; i < CROWD; i++)
        http_close(idle[i]);
}

static bool gives_up(void *arg)
{
    return process_wrote(service.process, "worker 2 is stuck");
}

static void second_signal_ends_at_once(void **state)
{
    serve((const char *const[]){"--workers", "2", NULL});
    hold_second_worker();
    process_signal(service.process, SIGTERM);
    process_wait_line(service.process, " stopping$", TIMEOUT_MS, NULL, 0);
    process_signal(service.process, SIGINT);
    process_wait_line(service.process, "second stop signal", TIMEOUT_MS, NULL, 0);
    /* The second worker is stuck anyway, and not waited for. */
    const uint64_t began_ms = wait_now_ms();
    assert_true(wait_until(gives_up, NULL, TIMEOUT_MS));
    assert_in_range(wait_now_ms() - began_ms, 0, 2 * QUICK_MS);
    let_go();
    assert_int_equal(process_wait(service.process, TIMEOUT_MS), 1);
}

/* For a load balancer: all is served, and /readyz says no. */
static void all_is_served_during_the_lead(void **state)
{
    serve((const char *const[]){"--drain-lead", "3s", NULL});
    process_signal(service.process, SIGTERM);
    process_wait_line(service.process, " stopping$", TIMEOUT_MS, NULL, 0);
    EXPECT_PROBLEM(call(service.port, "GET", "/readyz", NULL, NULL), 503, "stopping", 0);
    const struct http_response *granted = call_acquire(service.port, "lead", NULL);
    assert_int_equal(granted->status, 201);
    EXPECT_HEADER(granted, "Connection", "close");
    struct http *waiter =
        call_begin(service.port, "POST", "/v1/locks/lead", "{\"wait_ms\": 300000}");
    EXPECT_PROBLEM(call_end(waiter), 503, "stopping", 0); /* when the lead is over */
    assert_int_equal(process_wait(service.process, TIMEOUT_MS), 0);
}

static void drain_ends_with_its_time(void **state)
{
    serve((const char *const[]){"--workers", "2", "--drain", "500ms", NULL});
    hold_second_worker();
    process_signal(service.process, SIGTERM);
    assert_true(wait_until(gives_up, NULL, TIMEOUT_MS));
    let_go();
    assert_int_equal(process_wait(service.process, TIMEOUT_MS), 1);
}

static void sighup_reloads_and_ends_nothing(void **state)
{
    serve(NULL);
    call_grant(service.port, "held", NULL);
    struct http *waiter =
        call_begin(service.port, "POST", "/v1/locks/held", "{\"wait_ms\": 300000}");
    assert_true(line_becomes(service.port, "held", 1, TIMEOUT_MS));
    process_signal(service.process, SIGHUP);
    process_wait_line(service.process, " reloaded: nothing$", TIMEOUT_MS, NULL, 0);
    assert_true(line_becomes(service.port, "held", 1, TIMEOUT_MS));
    process_signal(service.process, SIGTERM);
    EXPECT_PROBLEM(call_end(waiter), 503, "stopping", 0);
    assert_int_equal(process_wait(service.process, TIMEOUT_MS), 0);
}

#define DRAIN_CASE(name) cmocka_unit_test_setup_teardown(name, start, teardown)

/* Master 2 takes the lock when it goes on, and pawld has to take that back: two masters such as
 * this one would keep a lock from all until its lease ends. The clean-up is not on its way yet when
 * pawld is told to end. */
static void clean_up_at_a_slow_master_is_not_left_behind(void **state)
{
    serve((const char *const[]){NULL});
    for (int i = 0; i < WARMED; i++) {
        struct grant grant = call_grant(service.port, "warm", NULL);
        call_give_back(service.port, "warm", &grant);
    }
    redis_fleet_pause(fleet, 1);
    assert_int_equal(call(service.port, "POST", "/v1/locks/a", NULL, "{}")->status, 201);
    process_signal(service.process, SIGTERM);
    assert_int_equal(process_wait(service.process, QUICK_MS), 0);
    redis_fleet_resume(fleet, 1);
    wait_ms(SETTLED_MS);
    assert_int_equal(redis_fleet_integer(fleet, 0, "EXISTS pawl:lock:%s", "a"), 1);
    assert_int_equal(redis_fleet_integer(fleet, 1, "EXISTS pawl:lock:%s", "a"), 0);
}

static const struct CMUnitTest cases[] = {
    DRAIN_CASE(holders_extend_and_release_while_nothing_more_is_granted),
    DRAIN_CASE(all_who_wait_are_told_at_once),
    DRAIN_CASE(lock_is_free_for_others_after_its_waiters_were_told),
    DRAIN_CASE(open_connections_do_not_hold_up_the_end),
    DRAIN_CASE(second_signal_ends_at_once),
    DRAIN_CASE(all_is_served_during_the_lead),
    DRAIN_CASE(drain_ends_with_its_time),
    cmocka_unit_test_setup_teardown(clean_up_at_a_slow_master_is_not_left_behind, start_durable,
                                    teardown),
    DRAIN_CASE(sighup_reloads_and_ends_nothing),
};

CASE_MAIN(cases, NULL, NULL)
