/* pawld --workers: loops that share nothing, and yet one service. */
#include "tests/lib/case.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/workdir.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORKERS = 3,
    CROWD = 60, /* connections, of which some come to each worker: all but once in 10^10 */
    MASTERS = 3,
    FIGURES_MS = 2000, /* for figures to be what they should */
    WAKE_MS = 500,
    TIMEOUT_MS = 10000,
};

static struct pawl_service service;

static const char *const three_workers[] = {"--workers", "3", NULL};

static int start(void **state)
{
    fleet_start(MASTERS, REDIS_VOLATILE);
    pawl_init_new(fleet);
    return 0;
}

/* A service of its own for each case, so that its figures are the case's alone. Ready through every
 * worker, and not only through the one that is asked. */
static int serve(void **state)
{
    service = pawld_start(fleet, three_workers);
    fleet_wait_workers(service, WORKERS);
    return 0;
}

static int stop(void **state)
{
    return process_stop(service.process);
}

static struct http *crowd[CROWD];

static void crowd_begin(const char *path, const char *body)
{
    for (int i = 0; i < CROWD; i++)
        crowd[i] = call_begin(service.port, "POST", path, body);
}

static void crowd_leave(void)
{
    for (int i = 0; i < CROWD; i++)
        http_close(crowd[i]);
}

struct figure {
    const char *name;
    int64_t wanted;
};

static bool figure_is(void *arg)
{
    const struct figure *figure = arg;
    const struct http_response *response = call(service.port, "GET", "/v1/fleet", NULL, NULL);
    return http_integer(response, figure->name) == figure->wanted;
}

static void expect_figure(const char *name, int64_t wanted)
{
    struct figure figure = {name, wanted};
    if (!wait_until(figure_is, &figure, FIGURES_MS))
        fail_msg("%s is not %d in %s", name, (int)wanted,
                 call(service.port, "GET", "/v1/fleet", NULL, NULL)->body);
}

/* The view of the worker behind @http; each counts its own waiters. */
static int64_t waiters_seen(struct http *http, const char *resource)
{
    struct http_response response;
    char path[CALL_PATH_MAX];
    snprintf(path, sizeof(path), "/v1/locks/%s", resource);
    http_request(http, "GET", path, NULL, NULL, &response);
    const int64_t waiters = http_integer(&response, "waiters");
    http_response_fini(&response);
    return waiters;
}

/* A connection to a worker where no call waits for @resource, while somebody does at another. */
static struct http *connect_elsewhere(const char *resource)
{
    for (int i = 0; i < CROWD; i++) {
        struct http *http = http_connect(service.port);
        if (waiters_seen(http, resource) == 0)
            return http;
        http_close(http);
    }
    fail_msg("all of %d connections came to one worker", CROWD);
    return NULL;
}

static void connections_come_to_every_worker(void **state)
{
    call_grant(service.port, "crowd", NULL);
    crowd_begin("/v1/locks/crowd", "{\"wait_ms\": 60000}");
    expect_figure("waiting", CROWD);
    for (int i = 0; i < CROWD; i++) {
        struct http *http = http_connect(service.port);
        assert_in_range(waiters_seen(http, "crowd"), 1, CROWD - (WORKERS - 1));
        http_close(http);
    }
    crowd_leave();
}

static void lock_is_held_through_every_worker(void **state)
{
    struct grant holder = call_grant(service.port, "held", NULL);
    for (int i = 0; i < CROWD; i++)
        EXPECT_PROBLEM(call_acquire(service.port, "held", NULL), 409, "held", 3);
    call_give_back(service.port, "held", &holder);
}

static void tokens_grow_from_worker_to_worker(void **state)
{
    int64_t highest = 0;
    for (int i = 0; i < CROWD; i++) {
        struct grant grant = call_grant(service.port, "tokens", NULL);
        assert_true(grant.token > highest);
        highest = grant.token;
        call_give_back(service.port, "tokens", &grant);
    }
}

static void waiter_is_woken_by_a_release_through_another_worker(void **state)
{
    struct grant holder = call_grant(service.port, "woken", NULL);
    struct http *waiter =
        call_begin(service.port, "POST", "/v1/locks/woken", "{\"wait_ms\": 60000}");
    expect_figure("waiting", 1);
    wait_ms(FENCE_FIRST_LOOK_US * (1 + FENCE_LOOK_SPREADS) / 1000); /* it has told the masters */
    struct http *other = connect_elsewhere("woken");

    char lock_id[64];
    snprintf(lock_id, sizeof(lock_id), "Lock-Id: %s\r\n", holder.lock_id);
    const uint64_t released_ms = wait_now_ms();
    struct http_response response;
    http_request(other, "DELETE", "/v1/locks/woken", lock_id, NULL, &response);
    assert_true(http_boolean(&response, "released"));
    struct grant next = grant_of(call_end(waiter));
    assert_in_range(wait_now_ms() - released_ms, 0, WAKE_MS - 1);
    assert_true(next.token > holder.token);
    http_response_fini(&response);
    http_close(other);
}

static void figures_are_summed_over_the_workers(void **state)
{
    expect_figure("workers", WORKERS);
    expect_figure("grants", 0);
    call_grant(service.port, "sum", NULL);
    crowd_begin("/v1/locks/sum", "{\"wait_ms\": 60000}");
    expect_figure("waiting", CROWD);
    expect_figure("calls", CROWD);
    expect_figure("grants", 1);
    const struct http_response *response = call(service.port, "GET", "/v1/fleet", NULL, NULL);
    assert_in_range(http_integer(response, "connections"), CROWD, CROWD + 2); /* with who asks */
    crowd_leave();
    expect_figure("waiting", 0);
    expect_figure("calls", 0);
    for (int i = 0; i < CROWD; i++) {
        char resource[32];
        snprintf(resource, sizeof(resource), "sum/%d", i);
        call_grant(service.port, resource, NULL);
    }
    expect_figure("grants", 1 + CROWD);
}

static void what_is_true_of_all_workers_is_logged_once(void **state)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/pawld.log", fleet->dir);
    static const char *const once[] = {" listening on ", " audit: master 1 ", " stopping\n"};
    unsigned before[3];
    for (size_t i = 0; i < 3; i++)
        before[i] = workdir_count(path, once[i]);
    stop(state);
    serve(state);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(workdir_count(path, once[i]), before[i] + 1);
}

/* Starts pawld with @workers on @port by a shell, which runs @before first; returns how it ended,
 * and what it wrote, which the caller frees. */
static int run(const char *before, const char *workers, uint16_t port, char **ret_output)
{
    char command[1024];
    char log[256];
    char *program = pawl_program("pawld");
    snprintf(log, sizeof(log), "%s/run.log", fleet->dir);
    remove(log);
    snprintf(command, sizeof(command), "%s exec %s --master %s --listen 127.0.0.1:%u --workers %s",
             before, program, fleet->master[0].url, (unsigned)port, workers);
    const int status =
        process_run((const char *const[]){"sh", "-c", command, NULL}, log, TIMEOUT_MS);
    *ret_output = text_read(log, 0);
    free(program);
    return status;
}

static void address_of_workers_is_refused_to_a_second_pawld(void **state)
{
    static const char *const others[] = {"1", "3"};
    for (size_t i = 0; i < 2; i++) {
        char *output = NULL;
        assert_int_equal(run("", others[i], service.port, &output), 1);
        assert_non_null(strstr(output, "cannot listen"));
        assert_non_null(strstr(output, "in use"));
        free(output);
    }
}

static void workers_do_not_join_a_pawld_that_has_one(void **state)
{
    struct pawl_service single = pawld_start(fleet, NULL);
    char *output = NULL;
    assert_int_equal(run("", "3", single.port, &output), 1);
    assert_non_null(strstr(output, "in use"));
    free(output);
    assert_int_equal(process_stop(single.process), 0);
}

static void worker_that_cannot_start_ends_all(void **state)
{
    char *output = NULL;
    assert_int_equal(run("ulimit -n 40;", "8", port_free(), &output), 1);
    assert_non_null(strstr(output, " error "));
    assert_null(strstr(output, "listening"));
    free(output);
}

static void port_that_was_left_open_is_one_for_all_workers(void **state)
{
    char *program = pawl_program("pawld");
    char log[256];
    char port[8];
    snprintf(log, sizeof(log), "%s/free.log", fleet->dir);
    const char *const args[] = {program,    "--workers",   "3", "--master", fleet->master[0].url,
                                "--listen", "127.0.0.1:0", NULL};
    struct process *process = process_start(args, log);
    process_wait_line(process, "listening on 127\\.0\\.0\\.1:([0-9]+)", TIMEOUT_MS, port,
                      sizeof(port));
    for (int i = 0; i < CROWD; i++) {
        const uint16_t found = (uint16_t)strtol(port, NULL, 10);
        assert_int_equal(call(found, "GET", "/livez", NULL, NULL)->status, 200);
    }
    assert_int_equal(process_stop(process), 0);
    free(program);
}

static void workers_stop_together_and_answer_who_waits(void **state)
{
    call_grant(service.port, "stop", NULL);
    crowd_begin("/v1/locks/stop", "{\"wait_ms\": 60000}");
    expect_figure("waiting", CROWD);
    struct http *busy[CROWD]; /* under way, at whatever stage, when the signal comes */
    for (int i = 0; i < CROWD; i++)
        busy[i] = call_begin(service.port, "POST", "/v1/locks/stop/busy", "{\"wait_ms\": 60000}");
    process_signal(service.process, SIGTERM);
    for (int i = 0; i < CROWD; i++)
        EXPECT_PROBLEM(call_end(crowd[i]), 503, "stopping", 0);
    assert_int_equal(process_wait(service.process, TIMEOUT_MS), 0);
    for (int i = 0; i < CROWD; i++)
        http_close(busy[i]);
}

#define WORKERS_CASE(name) cmocka_unit_test_setup_teardown(name, serve, stop)

static const struct CMUnitTest cases[] = {
    WORKERS_CASE(connections_come_to_every_worker),
    WORKERS_CASE(lock_is_held_through_every_worker),
    WORKERS_CASE(tokens_grow_from_worker_to_worker),
    WORKERS_CASE(waiter_is_woken_by_a_release_through_another_worker),
    WORKERS_CASE(figures_are_summed_over_the_workers),
    WORKERS_CASE(what_is_true_of_all_workers_is_logged_once),
    WORKERS_CASE(address_of_workers_is_refused_to_a_second_pawld),
    cmocka_unit_test(workers_do_not_join_a_pawld_that_has_one),
    cmocka_unit_test(worker_that_cannot_start_ends_all),
    cmocka_unit_test(port_that_was_left_open_is_one_for_all_workers),
    cmocka_unit_test_setup(workers_stop_together_and_answer_who_waits, serve),
};

CASE_MAIN(cases, start, fleet_teardown)
