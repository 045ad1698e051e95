/* Calls that watch a lock which they do not take. */
#include "api/client/pawl.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/redis_fleet.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

enum {
    TTL_MAX_MS = 60000,
    MASTERS = 3,
    MANY = 60,
    SEEN_MS = 1000, /* some looks at a name later */
    ELECTIONS = 4,
    ELECTED_MS = 1000, /* server/ELECTION.md */
    CALL_MS = 200,
    WATCH_MS = 1200,
    CANCELLED_MS = 2500, /* libcurl looks once a second */
};

#define NAME   "leader"
#define PATH   "/v1/locks/" NAME
#define UNLESS PATH "?wait_ms=20000&unless="

/* Two servers over one fleet. */
static uint16_t port;
static uint16_t other;

static void serve_twice(void)
{
    port = fleet_init_and_serve(TTL_MAX_MS).port;
    other = fleet_serve().port;
}

static struct http *watch(uint16_t at, int64_t token)
{
    char path[CALL_PATH_MAX];
    snprintf(path, sizeof(path), UNLESS "%lld", (long long)token);
    return call_begin(at, "GET", token ? path : UNLESS "free", "");
}

static void expect_held(struct http *watcher, int64_t token)
{
    const struct http_response *response = call_end(watcher);
    EXPECT_JSON(response, 200, 6);
    assert_true(http_boolean(response, "held"));
    assert_int_equal(http_integer(response, "token"), token);
}

static void expect_free(struct http *watcher)
{
    const struct http_response *response = call_end(watcher);
    EXPECT_JSON(response, 200, 2);
    assert_false(http_boolean(response, "held"));
}

static void watchers_of_all_servers_learn_who_holds_it(void **state)
{
    serve_twice();
    struct http *near = watch(port, 0);
    struct http *far = watch(other, 0);
    wait_ms(50);
    struct grant grant = call_grant(port, NAME, NULL);
    expect_held(near, grant.token);
    expect_held(far, grant.token);
}

static void watchers_of_all_servers_learn_of_its_release(void **state)
{
    serve_twice();
    struct grant grant = call_grant(port, NAME, NULL);
    struct http *near = watch(port, grant.token);
    struct http *far = watch(other, grant.token);
    wait_ms(50);
    call_give_back(port, NAME, &grant);
    expect_free(near);
    expect_free(far);
}

/* Each watch begins at another moment between two looks of its server. */
static void observers_learn_of_a_new_leader_within_a_second(void **state)
{
    serve_twice();
    for (unsigned i = 0; i < ELECTIONS; i++) {
        struct http *observer = watch(other, 0);
        wait_ms(50 + 100 * i);
        struct grant grant = call_grant(port, NAME, NULL);
        const uint64_t granted_ms = wait_now_ms();
        expect_held(observer, grant.token);
        assert_in_range(wait_now_ms() - granted_ms, 0, ELECTED_MS);
        call_give_back(port, NAME, &grant);
    }
}

static void lease_that_ends_is_told(void **state)
{
    port = fleet_init_and_serve(TTL_MAX_MS).port;
    struct grant grant = call_grant(port, NAME, "{\"ttl_ms\": 300}");
    expect_free(watch(port, grant.token));
}

static void grant_that_followed_unseen_is_told_at_once(void **state)
{
    serve_twice();
    struct grant first = call_grant(port, NAME, NULL);
    call_give_back(port, NAME, &first);
    struct grant second = call_grant(port, NAME, NULL);
    expect_held(watch(other, first.token), second.token);
    expect_held(watch(other, 0), second.token);
}

static void wait_that_is_over_says_what_is(void **state)
{
    port = fleet_init_and_serve(TTL_MAX_MS).port;
    struct grant grant = call_grant(port, NAME, NULL);
    char path[CALL_PATH_MAX];
    snprintf(path, sizeof(path), PATH "?unless=%lld&wait_ms=200", (long long)grant.token);
    expect_held(call_begin(port, "GET", path, ""), grant.token);
    expect_free(call_begin(port, "GET", "/v1/locks/another?unless=free&wait_ms=200", ""));
    EXPECT_JSON(call(port, "GET", PATH "?unless=free", NULL, NULL), 200, 6);
}

static void what_watches_nothing_is_refused(void **state)
{
    static const char *const queries[] = {
        "wait_ms=1000",
        "unless=0&wait_ms=1000",
        "unless=-1&wait_ms=1000",
        "unless=held&wait_ms=1000",
        "unless=9007199254740992&wait_ms=1000",
        "unless=free&wait_ms=300001",
        "unless=free&unless=34&wait_ms=1000",
        "unless=free&timeout=3",
    };
    port = fleet_init_and_serve(TTL_MAX_MS).port;
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        char path[CALL_PATH_MAX];
        snprintf(path, sizeof(path), PATH "?%s", queries[i]);
        EXPECT_PROBLEM(call(port, "GET", path, NULL, NULL), 400, "invalid", 0);
    }
}

static long long evaluated(void)
{
    redisReply *reply = redis_fleet_command(fleet, 0, "INFO commandstats");
    static const char count[] = "cmdstat_evalsha:calls=";
    const char *at = strstr(reply->str, count);
    assert_non_null(at);
    const long long calls = strtoll(at + sizeof(count) - 1, NULL, 10);
    freeReplyObject(reply);
    return calls;
}

/* Calls of scripts by a server that watches with @count calls for a while. */
static long long cost_of(unsigned count)
{
    struct http *watchers[MANY];
    for (unsigned i = 0; i < count; i++)
        watchers[i] = watch(port, 0);
    wait_ms(SEEN_MS);
    const long long before = evaluated();
    wait_ms(SEEN_MS);
    const long long cost = evaluated() - before;
    for (unsigned i = 0; i < count; i++)
        http_close(watchers[i]);
    return cost;
}

/* Scripts that tell positions and the like come beside the looks. */
static void many_watchers_cost_the_masters_what_one_costs(void **state)
{
    port = fleet_init_and_serve(TTL_MAX_MS).port;
    const long long of_one = cost_of(1);
    const long long of_many = cost_of(MANY);
    assert_true(of_one > 0);
    assert_in_range(of_many, 1, 2 * (unsigned long long)of_one + 4);
}

static void server_that_stops_ends_its_watches(void **state)
{
    fleet_init(TTL_MAX_MS);
    struct pawl_service service = fleet_serve();
    struct http *watcher = watch(service.port, 0);
    wait_ms(100);
    process_signal(service.process, SIGTERM);
    EXPECT_PROBLEM(call_end(watcher), 503, "stopping", 0);
}

/* So long pawl_watch() looks for a server that is not there. */
static uint64_t unavailable_ms(struct pawl_state seen)
{
    static const char *const server = "http://127.0.0.1:1";
    const struct pawl_options options = {
        .servers = &server, .server_count = 1, .call_timeout_ms = CALL_MS};
    pawl_client *client = NULL;
    assert_int_equal(pawl_client_new(&options, &client), 0);
    const uint64_t began_ms = wait_now_ms();
    assert_int_equal(pawl_watch(client, NAME, WATCH_MS, &seen), PAWL_EUNAVAILABLE);
    pawl_client_free(client);
    return wait_now_ms() - began_ms;
}

static void watch_of_a_known_lock_outlives_the_call_timeout(void **state)
{
    assert_in_range(unavailable_ms((struct pawl_state){.known = true}), WATCH_MS, 2 * WATCH_MS);
    assert_in_range(unavailable_ms((struct pawl_state){.known = false}), CALL_MS, WATCH_MS - 1);
}

static void *cancel_soon(void *client)
{
    wait_ms(200);
    pawl_cancel(client);
    return NULL;
}

/* The client for C. */
static void watch_is_cancelled_by_another_thread(void **state)
{
    char url[64];
    const char *server = url;
    pthread_t thread;
    pawl_client *client = NULL;
    struct pawl_state seen = {.known = false};
    port = fleet_init_and_serve(TTL_MAX_MS).port;
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", (unsigned)port);
    const struct pawl_options options = {.servers = &server, .server_count = 1};
    assert_int_equal(pawl_client_new(&options, &client), 0);
    assert_int_equal(pawl_watch(client, NAME, PAWL_WAIT, &seen), 0);
    assert_int_equal(pawl_watch(client, NAME, 100, &seen), PAWL_UNCHANGED);
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, client), 0);
    const uint64_t began_ms = wait_now_ms();
    assert_int_equal(pawl_watch(client, NAME, PAWL_WAIT, &seen), PAWL_ECANCELLED);
    assert_in_range(wait_now_ms() - began_ms, 0, CANCELLED_MS);
    assert_int_equal(pthread_join(thread, NULL), 0);
    seen.token = 34;
    assert_int_equal(pawl_watch(client, NAME, PAWL_NO_WAIT, &seen), PAWL_EINVAL);
    pawl_client_free(client);
}

static const struct CMUnitTest cases[] = {
    FLEET_CASE(watchers_of_all_servers_learn_who_holds_it, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(watchers_of_all_servers_learn_of_its_release, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(observers_learn_of_a_new_leader_within_a_second, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(lease_that_ends_is_told, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(grant_that_followed_unseen_is_told_at_once, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(wait_that_is_over_says_what_is, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(what_watches_nothing_is_refused, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(many_watchers_cost_the_masters_what_one_costs, MASTERS, REDIS_VOLATILE),
    cmocka_unit_test(watch_of_a_known_lock_outlives_the_call_timeout),
    FLEET_CASE(watch_is_cancelled_by_another_thread, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(server_that_stops_ends_its_watches, MASTERS, REDIS_VOLATILE),
};

CASE_MAIN(cases, NULL, NULL)
