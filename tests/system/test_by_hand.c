/* Keys and counters that somebody wrote by hand, and a counter at its end: each has its own
 * problem, which names the key, while all masters are active. */
#include "fence/protocol/name.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 3,
    WAITED_MS = 2000,
    CALLS_MAX =
        200, /* calls of scripts within that, on a master: an idle service's looks are some */
};

#define NAME    "jobs/1"
#define KEY     "pawl:lock:" NAME
#define OWN_ID  "ownownownownownownown01"
#define VALUE   "strangerstrangerstranger.0000000000000001:1:0::by-hand"
#define HEADERS "Lock-Id: " OWN_ID "\r\nFencing-Token: 1\r\n"

static uint16_t port;

static void on_majority(const char *command)
{
    fleet_command(0, command);
    fleet_command(1, command);
}

static int start(void **state)
{
    fleet_start(MASTERS, REDIS_VOLATILE);
    port = pawld_start_new(fleet).port;
    masters_wait_all_active(port, MASTERS);
    return 0;
}

static void expect_named(const struct http_response *response, const char *problem, const char *key)
{
    EXPECT_PROBLEM(response, 409, problem, 2);
    if (!strstr(http_string(response, "detail"), key))
        fail_msg("the detail does not name %s: %s", key, response->body);
    assert_string_equal(http_string(response, "resource"), NAME);
    assert_int_equal(json_array_size(json_object_get(response->json, "masters")), MASTERS);
    assert_int_equal(masters_active(port), MASTERS);
}

static void expect_from_acquires(const char *problem, const char *key)
{
    expect_named(call_acquire_once(port, NAME, NULL), problem, key);
    expect_named(call_acquire_once(port, NAME, "{\"wait_ms\": 1000}"), problem, key);
    expect_named(call_acquire_once(port, NAME, "{\"lock_id\": \"" OWN_ID "\"}"), problem, key);
    expect_named(
        call(port, "POST", "/v1/locks", NULL, "{\"resources\": [\"free/1\", \"" NAME "\"]}"),
        problem, key);
    expect_named(call(port, "POST", "/v1/locks", NULL,
                      "{\"resources\": [\"free/1\", \"" NAME "\"], \"wait_ms\": 1000}"),
                 problem, key);
    call_grant(port, "free/1", "{\"ttl_ms\": 100}"); /* none of those took it */
    wait_ms(100);
}

static const struct http_response *extend(void)
{
    return call(port, "PATCH", "/v1/locks/" NAME, HEADERS, NULL);
}

static const struct http_response *release(void)
{
    return call(port, "DELETE", "/v1/locks/" NAME, HEADERS, NULL);
}

static const struct http_response *show(void)
{
    return call(port, "GET", "/v1/locks/" NAME, NULL, NULL);
}

static void expect_foreign(const char *command)
{
    on_majority(command);
    expect_from_acquires("foreign-lock", KEY);
    expect_named(extend(), "foreign-lock", KEY);
    expect_named(release(), "foreign-lock", KEY);
    expect_named(show(), "foreign-lock", KEY);
    on_majority("DEL " KEY);
    struct grant grant = call_grant(port, NAME, NULL);
    call_give_back(port, NAME, &grant);
}

static void lock_key_that_is_no_string_is_named(void **state)
{
    expect_foreign("LPUSH " KEY " junk");
    expect_foreign("HSET " KEY " junk 1");
}

static void lock_key_that_holds_no_lock_is_named(void **state)
{
    expect_foreign("SET " KEY " junk");
    expect_foreign("SET " KEY " junk PX 60000");
    expect_foreign("SET " KEY " a:1:0::");
    expect_foreign("SET " KEY " @junk");
    expect_foreign("SETRANGE " KEY " 5000 junk");
}

static void lock_without_expiry_is_named(void **state)
{
    on_majority("SET " KEY " " VALUE);
    expect_from_acquires("no-expiry", KEY);
    expect_named(show(), "no-expiry", KEY);
    EXPECT_JSON(release(), 200, 2); /* it is another's */
    assert_false(http_boolean(release(), "released"));
    on_majority("PEXPIRE " KEY " 50");
    wait_ms(100);
    call_grant(port, NAME, NULL);
}

static void own_lock_without_expiry_is_named_and_can_be_released(void **state)
{
    struct grant grant = call_grant(port, NAME, NULL);
    for (unsigned i = 0; i < MASTERS; i++)
        fleet_command(i, "PERSIST " KEY);
    expect_named(call_extend(port, NAME, &grant, NULL), "no-expiry", KEY);
    expect_named(show(), "no-expiry", KEY);
    assert_true(http_boolean(call_release(port, NAME, &grant), "released"));

    char body[128];
    snprintf(body, sizeof(body), "{\"lock_id\": \"%s\"}", OWN_ID);
    assert_int_equal(call_acquire(port, NAME, body)->status, 201);
    for (unsigned i = 0; i < MASTERS; i++)
        fleet_command(i, "PERSIST " KEY);
    expect_named(call_acquire_once(port, NAME, body), "no-expiry", KEY);
}

static void one_master_with_a_key_by_hand_takes_nothing_from_the_others(void **state)
{
    fleet_command(0, "LPUSH " KEY " junk");
    struct grant grant = call_grant(port, NAME, NULL);
    EXPECT_JSON(call_extend(port, NAME, &grant, NULL), 200, 6);
    assert_int_equal(http_integer(show(), "token"), grant.token);
    assert_true(http_boolean(call_release(port, NAME, &grant), "released"));
}

static void set_counter(const char *value)
{
    char command[128];
    snprintf(command, sizeof(command), "HSET pawl:fleet %u %s", fence_slot(NAME, strlen(NAME)),
             value);
    on_majority(command);
}

static void expect_counter(const char *value, const char *problem)
{
    char field[64];
    snprintf(field, sizeof(field), "field %u of pawl:fleet", fence_slot(NAME, strlen(NAME)));
    set_counter(value);
    expect_from_acquires(problem, field);
    EXPECT_JSON(show(), 200, 2);
    assert_false(http_boolean(release(), "released"));
}

/* The counter is put right, and locks are granted again. */
static void put_right(void)
{
    set_counter("7");
    struct grant grant = call_grant(port, NAME, NULL);
    call_give_back(port, NAME, &grant);
}

static void counter_that_is_used_up_is_named(void **state)
{
    static const char *const values[] = {"9007199254740991", "9223372036854775807"};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        expect_counter(values[i], "counter-used-up");
        EXPECT_PROBLEM(extend(), 409, "lock-lost", 1);
        put_right();
    }
}

/* An extension compares it with the token, where the lock is gone. */
static void counter_that_is_no_number_is_named(void **state)
{
    static const char *const values[] = {"junk", "1.5"};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        expect_counter(values[i], "foreign-counter");
        EXPECT_PROBLEM(extend(), 409, "foreign-counter", 2);
        put_right();
    }
}

static long long script_calls(unsigned i)
{
    redisReply *reply = redis_fleet_command(fleet, i, "INFO commandstats");
    const char *calls = strstr(reply->str, "cmdstat_evalsha:calls=");
    const long long count = calls ? strtoll(strchr(calls, '=') + 1, NULL, 10) : 0;
    freeReplyObject(reply);
    return count;
}

/* While somebody waits for what @command wrote. */
static void expect_few_questions(const char *command)
{
    on_majority(command);
    const long long before = script_calls(1);
    const uint64_t began_ms = wait_now_ms();
    char body[64];
    snprintf(body, sizeof(body), "{\"wait_ms\": %d}", WAITED_MS);
    assert_int_equal(call_acquire_once(port, NAME, body)->status, 409);
    assert_in_range(wait_now_ms() - began_ms, 0, WAITED_MS + 1000);
    assert_in_range(script_calls(1) - before, 1, CALLS_MAX);
}

static void a_lock_without_expiry_is_not_waited_for(void **state)
{
    expect_few_questions("SET " KEY " " VALUE);
}

static void an_expiry_in_the_far_future_is_no_expiry_now(void **state)
{
    expect_few_questions("SET " KEY " " VALUE " PX 9000000000000000000");
    EXPECT_PROBLEM(call_acquire_once(port, NAME, NULL), 409, "held", 3);
}

#define HAND_CASE(name) cmocka_unit_test_setup_teardown(name, start, fleet_teardown)

static const struct CMUnitTest cases[] = {
    HAND_CASE(lock_key_that_is_no_string_is_named),
    HAND_CASE(lock_key_that_holds_no_lock_is_named),
    HAND_CASE(lock_without_expiry_is_named),
    HAND_CASE(own_lock_without_expiry_is_named_and_can_be_released),
    HAND_CASE(one_master_with_a_key_by_hand_takes_nothing_from_the_others),
    HAND_CASE(counter_that_is_used_up_is_named),
    HAND_CASE(counter_that_is_no_number_is_named),
    HAND_CASE(a_lock_without_expiry_is_not_waited_for),
    HAND_CASE(an_expiry_in_the_far_future_is_no_expiry_now),
};

CASE_MAIN(cases, NULL, NULL)
