/* Breaking a grant: what the breaker and the holder are told, with masters up and down. */
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    TTL_MAX_MS = 300000,
    TRIES = 100, /* for a call that finds no majority, on a busy machine */
};

#define FORCE "?force=true"

static const struct http_response *call_break_once(uint16_t port, const char *resource,
                                                   const char *if_match)
{
    char path[CALL_PATH_MAX];
    char headers[64] = "";
    (void)snprintf(path, sizeof(path), "/v1/locks/%s" FORCE, resource);
    if (if_match)
        (void)snprintf(headers, sizeof(headers), "If-Match: %s\r\n", if_match);
    return call(port, "DELETE", path, headers, NULL);
}

/* It is safe to repeat after an unknown result. */
static const struct http_response *call_break(uint16_t port, const char *resource, int64_t token)
{
    char if_match[32];
    (void)snprintf(if_match, sizeof(if_match), "\"%" PRId64 "\"", token);
    const struct http_response *response = call_break_once(port, resource, if_match);
    for (int i = 0; i < TRIES && response->status == 503; i++)
        response = call_break_once(port, resource, if_match);
    return response;
}

static void expect_broken(const struct http_response *response, const char *resource, bool released,
                          int64_t token)
{
    EXPECT_JSON(response, 200, 3);
    assert_string_equal(http_string(response, "resource"), resource);
    assert_int_equal(http_boolean(response, "released"), released);
    assert_int_equal(http_integer(response, "token"), token);
}

/* The holder of @grant finds out, by whom, and has nothing left to release. */
static void expect_told(uint16_t port, const char *resource, const struct grant *grant)
{
    const struct http_response *response = call_extend(port, resource, grant, NULL);
    EXPECT_PROBLEM(response, 409, "lock-broken", 2);
    assert_string_equal(http_string(response, "resource"), resource);
    assert_true(json_is_null(json_object_get(response->json, "by")));
}

static void expect_nothing_to_release(uint16_t port, const char *resource,
                                      const struct grant *grant)
{
    const struct http_response *response = call_release(port, resource, grant);
    EXPECT_JSON(response, 200, 2);
    assert_false(http_boolean(response, "released"));
}

static void expect_free(uint16_t port, const char *resource)
{
    const struct http_response *response = call_inspect(port, resource);
    EXPECT_JSON(response, 200, 2);
    assert_false(http_boolean(response, "held"));
}

/* All of it, on a fleet that is up as far as it is to be. */
static void break_and_look(uint16_t port)
{
    struct grant held = call_grant(port, "orders/42", NULL);
    expect_broken(call_break(port, "orders/42", held.token), "orders/42", true, held.token);
    expect_told(port, "orders/42", &held);
    expect_free(port, "orders/42");

    struct grant next = call_grant(port, "orders/42", NULL);
    assert_true(next.token > held.token);
    expect_told(port, "orders/42", &held);
    expect_nothing_to_release(port, "orders/42", &held);
    call_expect_held(port, "orders/42", &next);
    EXPECT_JSON(call_keep(port, "orders/42", &next, NULL), 200, 6);
}

static void broken_grant_ends_and_the_next_one_is_higher(void **state)
{
    break_and_look(fleet_init_and_serve(TTL_MAX_MS).port);
}

static void broken_grant_ends_on_five_masters_too(void **state)
{
    broken_grant_ends_and_the_next_one_is_higher(state);
}

static void one_master_that_is_down_does_not_matter(void **state)
{
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    redis_fleet_kill(fleet, 2);
    masters_wait(port, 2, "down", "unreachable");
    break_and_look(port);
}

/* It had the lock, and the break did not reach it. */
static void master_that_comes_back_with_the_lock_does_not_bring_it_back(void **state)
{
    fleet_init(TTL_MAX_MS);
    uint16_t port = fleet_serve_all().port;
    struct grant held = call_grant(port, "back", NULL);
    redis_fleet_pause(fleet, 1);
    masters_wait_out(port, 1, "silent", MASTERS_WAIT_LONG_MS);
    expect_broken(call_break(port, "back", held.token), "back", true, held.token);
    redis_fleet_resume(fleet, 1);
    masters_wait_within(port, 1, "active", NULL, MASTERS_WAIT_LONG_MS);
    expect_told(port, "back", &held);
    struct grant next = call_grant(port, "back", NULL);
    assert_true(next.token > held.token);
}

static void without_a_majority_nothing_is_known(void **state)
{
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    struct grant held = call_grant(port, "orders/42", NULL);
    redis_fleet_kill(fleet, 1);
    redis_fleet_kill(fleet, 2);
    masters_wait(port, 1, "down", "unreachable");
    masters_wait(port, 2, "down", "unreachable");
    char if_match[32];
    (void)snprintf(if_match, sizeof(if_match), "\"%" PRId64 "\"", held.token);
    EXPECT_PROBLEM(call_break_once(port, "orders/42", if_match), 503, "no-quorum", 2);
}

static void another_token_breaks_nothing(void **state)
{
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    struct grant first = call_grant(port, "orders/42", NULL);
    call_give_back(port, "orders/42", &first);
    struct grant held = call_grant(port, "orders/42", NULL);
    const int64_t others[] = {first.token, held.token + 1, FENCE_TOKEN_MAX};
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const struct http_response *response = call_break(port, "orders/42", others[i]);
        EXPECT_PROBLEM(response, 412, "token-mismatch", 2);
        assert_int_equal(http_integer(response, "token"), held.token);
    }
    EXPECT_JSON(call_keep(port, "orders/42", &held, NULL), 200, 6);
    call_give_back(port, "orders/42", &held);
    struct grant next = call_grant(port, "orders/42", NULL);
    assert_int_equal(next.token, held.token + 1); /* no counter was raised */
}

static void lock_that_nobody_holds_is_not_broken(void **state)
{
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    expect_broken(call_break(port, "never", 7), "never", false, 7);
    struct grant held = call_grant(port, "once", NULL);
    expect_broken(call_break(port, "once", held.token), "once", true, held.token);
    expect_broken(call_break(port, "once", held.token), "once", false, held.token);
}

static void one_resource_of_a_group_is_broken_alone(void **state)
{
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    const struct http_response *response =
        call(port, "POST", "/v1/locks", "Content-Type: application/json\r\n",
             "{\"resources\": [\"group/a\", \"group/b\"]}");
    assert_int_equal(response->status, 201);
    struct grant a = {.token = 1};
    (void)snprintf(a.lock_id, sizeof(a.lock_id), "%s", http_string(response, "lock_id"));
    struct grant b = a;
    a.token = http_integer(call_inspect(port, "group/a"), "token");
    b.token = http_integer(call_inspect(port, "group/b"), "token");
    expect_broken(call_break(port, "group/a", a.token), "group/a", true, a.token);
    expect_told(port, "group/a", &a);
    EXPECT_JSON(call_keep(port, "group/b", &b, NULL), 200, 6);
}

static bool somebody_waits(void *context)
{
    const uint16_t *port = context;
    const struct http_response *response = call_inspect(*port, "orders/42");
    return response->status == 200 && http_integer(response, "waiters") > 0;
}

/* The waiter hears of it at another server. */
static void broken_lock_goes_to_who_waits(void **state)
{
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    uint16_t other = fleet_serve().port;
    struct grant held = call_grant(port, "orders/42", NULL);
    struct http *waiting = call_begin(other, "POST", "/v1/locks/orders/42", "{\"wait_ms\": 60000}");
    assert_true(wait_until(somebody_waits, &other, MASTERS_WAIT_LONG_MS));
    expect_broken(call_break(port, "orders/42", held.token), "orders/42", true, held.token);
    struct grant next = grant_of(call_end(waiting));
    assert_true(next.token > held.token);
}

static void request_is_read_strictly(void **state)
{
    static const char *const bad[] = {
        "34",       "\"034\"", "\"\"",           "\"0\"",
        "W/\"34\"", "*",       "\"34\", \"35\"", "\"9007199254740992\"",
        "\"34"};
    static const char *const queries[] = {
        "?force=false",           "?force=yes!", "?force", "?force=",
        "?force=true&force=true", "?forced=true"};
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    struct grant held = call_grant(port, "strict", NULL);
    EXPECT_PROBLEM(call_break_once(port, "strict", NULL), 428, "token-required", 0);
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        EXPECT_PROBLEM(call_break_once(port, "strict", bad[i]), 400, "invalid", 0);
    for (unsigned i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        char path[CALL_PATH_MAX];
        char headers[128];
        (void)snprintf(path, sizeof(path), "/v1/locks/strict%s", queries[i]);
        (void)snprintf(headers, sizeof(headers), "If-Match: \"%" PRId64 "\"\r\nLock-Id: %s\r\n",
                       held.token, held.lock_id);
        EXPECT_PROBLEM(call(port, "DELETE", path, headers, NULL), 400, "invalid", 0);
    }
    call_give_back(port, "strict", &held);
}

static const struct CMUnitTest cases[] = {
    FLEET_CASE(broken_grant_ends_and_the_next_one_is_higher, 3, REDIS_VOLATILE),
    FLEET_CASE(broken_grant_ends_on_five_masters_too, 5, REDIS_VOLATILE),
    FLEET_CASE(one_master_that_is_down_does_not_matter, 3, REDIS_VOLATILE),
    FLEET_CASE(master_that_comes_back_with_the_lock_does_not_bring_it_back, 3, REDIS_VOLATILE),
    FLEET_CASE(without_a_majority_nothing_is_known, 3, REDIS_VOLATILE),
    FLEET_CASE(another_token_breaks_nothing, 3, REDIS_VOLATILE),
    FLEET_CASE(lock_that_nobody_holds_is_not_broken, 3, REDIS_VOLATILE),
    FLEET_CASE(one_resource_of_a_group_is_broken_alone, 3, REDIS_VOLATILE),
    FLEET_CASE(broken_lock_goes_to_who_waits, 3, REDIS_VOLATILE),
    FLEET_CASE(request_is_read_strictly, 1, REDIS_VOLATILE),
};

CASE_MAIN(cases, NULL, NULL)
