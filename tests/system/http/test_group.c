/* Several locks of one holder, extended and released in one request. */
#include "tests/lib/case.h"
#include "tests/lib/redis_fleet.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>
#include <jansson.h>

enum {
    MASTERS = 3,
    TTL_MAX_MS = 300000,
    MANY = 64,
    SCRIPTS_MAX = 12, /* one for the names, and what a server calls now and then */
    BODY_MAX = 16 * 1024,
    HEADERS_MAX = 128,
};

#define THREE   "\"resources\": [\"a\", \"b/c\", \"d\"]"
#define LOCK_ID "own-id-of-the-client-000001"

static uint16_t port;
static int64_t tokens[MANY];
static const struct http_response *answer;

static int start(void **state)
{
    (void)state;
    fleet_start(MASTERS, REDIS_VOLATILE);
    port = fleet_init_and_serve(TTL_MAX_MS).port;
    return 0;
}

/* Acquires what @resources names, and keeps the tokens. */
static void acquire_all(const char *resources)
{
    char body[3 * BODY_MAX];
    snprintf(body, sizeof(body), "{%s, \"lock_id\": \"" LOCK_ID "\", \"ttl_ms\": 60000}",
             resources);
    const struct http_response *response = call(port, "POST", "/v1/locks", NULL, body);
    assert_int_equal(response->status, 201);
    const json_t *grants = json_object_get(response->json, "grants");
    for (size_t k = 0; k < json_array_size(grants); k++)
        tokens[k] = json_integer_value(json_object_get(json_array_get(grants, k), "token"));
}

static void send_group(const char *method, const char *lock_id, const char *body)
{
    char headers[HEADERS_MAX] = "";
    if (lock_id)
        snprintf(headers, sizeof(headers), "Lock-Id: %s\r\n", lock_id);
    answer = call(port, method, "/v1/locks", headers, body);
}

static void extend_three(const char *more)
{
    char body[BODY_MAX];
    snprintf(body, sizeof(body), "{" THREE ", \"tokens\": [%lld, %lld, %lld]%s}",
             (long long)tokens[0], (long long)tokens[1], (long long)tokens[2], more);
    send_group("PATCH", LOCK_ID, body);
}

static const json_t *answer_of(size_t k)
{
    return json_array_get(json_object_get(answer->json, "responses"), k);
}

static void expect_one(size_t k, int status, const char *name)
{
    const json_t *body = json_object_get(answer_of(k), "body");
    assert_int_equal(json_integer_value(json_object_get(answer_of(k), "status")), status);
    assert_string_equal(json_string_value(json_object_get(body, "resource")), name);
}

static void expect_three(int first, int second, int third)
{
    EXPECT_JSON(answer, 200, 1);
    assert_int_equal(json_array_size(json_object_get(answer->json, "responses")), 3);
    expect_one(0, first, "a");
    expect_one(1, second, "b/c");
    expect_one(2, third, "d");
}

static void locks_of_one_holder_are_extended_and_released_together(void **state)
{
    (void)state;
    acquire_all(THREE);
    extend_three(", \"ttl_ms\": 200000");
    expect_three(200, 200, 200);
    assert_true(http_integer(call_inspect(port, "b/c"), "remaining_ms") > 60000);
    send_group("DELETE", LOCK_ID, "{" THREE "}");
    expect_three(200, 200, 200);
    assert_false(http_boolean(call_inspect(port, "a"), "held"));
    assert_false(http_boolean(call_inspect(port, "d"), "held"));
}

static void lock_that_is_lost_is_told_beside_those_that_are_kept(void **state)
{
    (void)state;
    acquire_all(THREE);
    const struct grant lost = {.lock_id = LOCK_ID, .token = tokens[1]};
    call_give_back(port, "b/c", &lost);
    const struct grant next = call_grant(port, "b/c", NULL);
    extend_three("");
    expect_three(200, 409, 200);
    call_give_back(port, "b/c", &next);
}

/* Returns the token. */
static int64_t take_seat(const char *body, const char *expected)
{
    const struct http_response *response = call(port, "POST", "/v1/semaphores/s", NULL, body);
    assert_int_equal(response->status, 201);
    assert_string_equal(http_string(response, "resource"), expected);
    return http_integer(response, "token");
}

#define OWN_SEAT(permits)                                                                          \
    "{\"permits\": " permits ", \"lock_id\": \"" LOCK_ID "\", \"ttl_ms\": 60000}"

static void seats_are_extended_and_released_with_locks(void **state)
{
    (void)state;
    char body[BODY_MAX];
    take_seat("{\"permits\": 1, \"lock_id\": \"other-id-of-a-client-00001\"}", "s#0");
    const int64_t second = take_seat(OWN_SEAT("2"), "s#1");
    call(port, "DELETE", "/v1/locks/s%230", "Lock-Id: other-id-of-a-client-00001\r\n", NULL);
    const int64_t first = take_seat(OWN_SEAT("1"), "s#0");
    acquire_all(THREE);
    snprintf(body, sizeof(body),
             "{\"resources\": [\"s#1\", \"a\", \"s#0\"], \"tokens\": [%lld, %lld, %lld], "
             "\"ttl_ms\": 200000}",
             (long long)second, (long long)tokens[0], (long long)first);
    send_group("PATCH", LOCK_ID, body);
    EXPECT_JSON(answer, 200, 1);
    expect_one(0, 200, "s#1");
    expect_one(1, 200, "a");
    expect_one(2, 200, "s#0");
    assert_true(http_integer(call_inspect(port, "s%231"), "remaining_ms") > 60000);
    send_group("PATCH", LOCK_ID, "{\"resources\": [\"s#64\"], \"tokens\": [1]}");
    EXPECT_PROBLEM(answer, 400, "invalid", 0);
    send_group("DELETE", LOCK_ID, "{\"resources\": [\"s#0\", \"s#1\"]}");
    expect_one(0, 200, "s#0");
    expect_one(1, 200, "s#1");
    assert_false(http_boolean(call_inspect(port, "s%230"), "held"));
    assert_false(http_boolean(call_inspect(port, "s%231"), "held"));
    send_group("DELETE", LOCK_ID, "{" THREE "}");
}

static void request_that_is_malformed_does_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        const char *lock_id;
        const char *body;
    } rows[] = {
        {"PATCH", LOCK_ID, "{" THREE "}"},
        {"PATCH", LOCK_ID, "{" THREE ", \"tokens\": [1, 2]}"},
        {"PATCH", LOCK_ID, "{" THREE ", \"tokens\": [1, 2, 0]}"},
        {"PATCH", LOCK_ID, "{" THREE ", \"tokens\": [1, 2, \"3\"]}"},
        {"PATCH", LOCK_ID, "{" THREE ", \"tokens\": [1, 2, 3], \"ttl_ms\": 1}"},
        {"PATCH", NULL, "{" THREE ", \"tokens\": [1, 2, 3]}"},
        {"DELETE", LOCK_ID, "{\"resources\": []}"},
        {"DELETE", LOCK_ID, "{\"resources\": [\"a\", \"b c\"]}"},
        {"DELETE", LOCK_ID, "{" THREE ", \"tokens\": [1]}"},
        {"DELETE", LOCK_ID, "{" THREE ", \"ttl_ms\": 5000}"},
        {"DELETE", NULL, "{" THREE "}"},
    };
    acquire_all(THREE);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        send_group(rows[i].method, rows[i].lock_id, rows[i].body);
        EXPECT_PROBLEM(answer, 400, "invalid", 0);
    }
    assert_true(http_boolean(call_inspect(port, "a"), "held"));
}

static long long scripts_run(void)
{
    redisReply *reply = redis_fleet_command(fleet, 0, "INFO commandstats");
    static const char name[] = "cmdstat_evalsha:calls=";
    const char *at = strstr(reply->str, name);
    assert_non_null(at);
    const long long calls = strtoll(at + strlen(name), NULL, 10);
    freeReplyObject(reply);
    return calls;
}

static void master_gets_all_names_in_one_script_call(void **state)
{
    (void)state;
    char names[BODY_MAX];
    char numbers[BODY_MAX];
    char body[3 * BODY_MAX];
    size_t len = 0;
    for (unsigned k = 0; k < MANY; k++)
        len +=
            (size_t)snprintf(names + len, sizeof(names) - len, "%s\"many/%u\"", k ? ", " : "", k);
    snprintf(body, sizeof(body), "\"resources\": [%s]", names);
    acquire_all(body);
    len = 0;
    for (unsigned k = 0; k < MANY; k++)
        len += (size_t)snprintf(numbers + len, sizeof(numbers) - len, "%s%lld", k ? ", " : "",
                                (long long)tokens[k]);
    snprintf(body, sizeof(body), "{\"resources\": [%s], \"tokens\": [%s]}", names, numbers);
    const long long before = scripts_run();
    send_group("PATCH", LOCK_ID, body);
    const long long after = scripts_run();
    EXPECT_JSON(answer, 200, 1);
    assert_int_equal(json_integer_value(json_object_get(answer_of(MANY - 1), "status")), 200);
    assert_in_range(after - before, 1, SCRIPTS_MAX);
}

#define GROUP_CASE(name) cmocka_unit_test_setup_teardown(name, start, fleet_teardown)

static const struct CMUnitTest cases[] = {
    GROUP_CASE(locks_of_one_holder_are_extended_and_released_together),
    GROUP_CASE(lock_that_is_lost_is_told_beside_those_that_are_kept),
    GROUP_CASE(seats_are_extended_and_released_with_locks),
    GROUP_CASE(request_that_is_malformed_does_nothing),
    GROUP_CASE(master_gets_all_names_in_one_script_call),
};

CASE_MAIN(cases, NULL, NULL)
