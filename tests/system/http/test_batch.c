/* Several independent calls in one request. */
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum {
    MASTERS = 3,
    TTL_MAX_MS = 300000,
    CALLS_MAX = 64,
    SOON_MS = 100, /* a request that came waits by then */
    GONE_MS = 2000,
    BODY_MAX = 64 * 1024,
};

static uint16_t port;
static const struct http_response *answer;
static json_t *responses;

static int start(void **state)
{
    fleet_start(MASTERS, REDIS_VOLATILE);
    port = fleet_init_and_serve(TTL_MAX_MS).port;
    return 0;
}

/* Sends @requests, the items of a batch. */
static void send_batch(const char *requests)
{
    static char body[BODY_MAX];
    (void)snprintf(body, sizeof(body), "{\"requests\":[%s]}", requests);
    answer = call(port, "POST", "/v1/batch", NULL, body);
    responses = json_object_get(answer->json, "responses");
}

static json_t *body_of(size_t i)
{
    return json_object_get(json_array_get(responses, i), "body");
}

static int status_of(size_t i)
{
    return (int)json_integer_value(json_object_get(json_array_get(responses, i), "status"));
}

static int64_t number_in(size_t i, const char *name)
{
    return json_integer_value(json_object_get(body_of(i), name));
}

static const char *type_of(size_t i)
{
    return json_string_value(json_object_get(body_of(i), "type"));
}

/* The item of a batch that has @call done with @grant. */
static const char *with_grant(const char *method, const char *name, const struct grant *grant)
{
    static char item[512];
    (void)snprintf(item, sizeof(item),
                   "{\"method\":\"%s\",\"path\":\"/v1/locks/%s\",\"lock_id\":\"%s\","
                   "\"token\":%lld}",
                   method, name, grant->lock_id, (long long)grant->token);
    return item;
}

/* ---------------------------------------------------------------------------------------------- */

static void each_call_has_an_answer_of_its_own_in_order(void **state)
{
    const struct grant held = call_grant(port, "held", "{\"owner\": \"somebody\"}");
    send_batch("{\"method\":\"POST\",\"path\":\"/v1/locks/a%2F1\",\"body\":{\"ttl_ms\":5000}},"
               "{\"method\":\"POST\",\"path\":\"/v1/locks/held\"},"
               "{\"method\":\"GET\",\"path\":\"/v1/locks/held\"},"
               "{\"method\":\"POST\",\"path\":\"/v1/counters/c\",\"body\":{\"count\":3}},"
               "{\"method\":\"POST\",\"path\":\"/v1/locks/b\",\"body\":{\"ttl_ms\":-1}},"
               "{\"method\":\"PUT\",\"path\":\"/v1/locks/b\"}");
    EXPECT_JSON(answer, 200, 1);
    assert_int_equal(json_array_size(responses), 6);
    assert_int_equal(status_of(0), 201);
    assert_int_equal(number_in(0, "ttl_ms"), 5000);
    assert_string_equal(json_string_value(json_object_get(body_of(0), "resource")), "a/1");
    assert_int_equal(status_of(1), 409);
    assert_string_equal(type_of(1), "urn:pawl:held");
    assert_true(json_integer_value(json_object_get(json_array_get(responses, 1), "retry_after_s")) >
                0);
    assert_int_equal(status_of(2), 200);
    assert_int_equal(number_in(2, "token"), held.token);
    assert_int_equal(status_of(3), 200);
    assert_int_equal(number_in(3, "value"), 3);
    assert_int_equal(status_of(4), 400);
    assert_int_equal(status_of(5), 405);
}

static void grant_is_extended_and_released_in_a_batch(void **state)
{
    const struct grant grant = call_grant(port, "mine", NULL);
    send_batch(with_grant("PATCH", "mine", &grant));
    assert_int_equal(status_of(0), 200);
    send_batch(with_grant("DELETE", "mine", &grant));
    assert_int_equal(status_of(0), 200);
    assert_true(json_is_true(json_object_get(body_of(0), "released")));
}

static void full_batch_is_answered_call_by_call(void **state)
{
    static char items[BODY_MAX];
    size_t len = 0;
    for (int i = 0; i < CALLS_MAX; i++)
        len += (size_t)snprintf(items + len, sizeof(items) - len,
                                "%s{\"method\":\"POST\",\"path\":\"/v1/locks/full/%d\"}",
                                i > 0 ? "," : "", i);
    send_batch(items);
    assert_int_equal(json_array_size(responses), CALLS_MAX);
    for (size_t i = 0; i < CALLS_MAX; i++)
        assert_true(status_of(i) == 201 || status_of(i) == 503); /* on a busy machine */
}

static void call_of_a_batch_does_not_wait(void **state)
{
    send_batch("{\"method\":\"POST\",\"path\":\"/v1/locks/w\",\"body\":{\"wait_ms\":1}}");
    assert_int_equal(status_of(0), 400);
    send_batch("{\"method\":\"POST\",\"path\":\"/v1/locks/w\",\"body\":{\"wait_ms\":0}}");
    assert_int_equal(status_of(0), 201);
}

static bool is_free(void *arg)
{
    return !http_boolean(call_inspect(port, arg), "held");
}

/* The sender of the second batch did not wait until the first one had its answer. */
static void lock_is_released_although_the_client_left_in_the_line(void **state)
{
    static const char *const options[] = {"--master-deadline-ms", "5000", NULL};
    const struct pawl_service patient = pawld_start(fleet, options);
    pawl_wait_ready(patient);
    char release[600];
    const struct grant grant = call_grant(patient.port, "left", "{\"ttl_ms\": 200000}");
    (void)snprintf(release, sizeof(release), "{\"requests\":[%s]}",
                   with_grant("DELETE", "left", &grant));
    for (unsigned i = 0; i < MASTERS; i++)
        redis_fleet_pause(fleet, i);
    struct http *first =
        call_begin(patient.port, "POST", "/v1/batch",
                   "{\"requests\":[{\"method\":\"GET\",\"path\":\"/v1/locks/first\"}]}");
    wait_ms(SOON_MS);
    struct http *second = call_begin(patient.port, "POST", "/v1/batch", release);
    wait_ms(SOON_MS);
    http_close(second);
    for (unsigned i = 0; i < MASTERS; i++)
        redis_fleet_resume(fleet, i);
    EXPECT_JSON(call_end(first), 200, 1);
    assert_true(wait_until(is_free, (void *)(uintptr_t) "left", GONE_MS));
}

static void batch_that_is_malformed_is_refused_whole(void **state)
{
    static const char good[] = "{\"method\":\"POST\",\"path\":\"/v1/locks/untouched\"}";
    static const struct {
        const char *item;
        const char *says;
    } bad[] = {
        {"{\"method\":\"GET\",\"path\":\"/v1/fleet\"}", "Request 2 of the batch: path must begin"},
        {"{\"method\":\"DELETE\",\"path\":\"/v1/locks/a?force=true\"}", "must not have a query"},
        {"{\"method\":\"POST\",\"path\":\"/v1/batch\"}", "path must begin"},
        {"{\"method\":\"GET\",\"path\":\"/v1/semaphores/a\"}", "of a POST"},
        {"{\"method\":\"GET\",\"path\":\"/v1/locks/a\",\"key\":1}", "unknown field"},
        {"{\"method\":\"GET\"}", "lacks the field path"},
        {"{\"method\":\"POST\",\"path\":\"/v1/locks/a\",\"body\":[]}", "body must be an object"},
        {"{\"method\":\"PATCH\",\"path\":\"/v1/locks/a\",\"token\":0}", "token is 0"},
        {"7", "item 2 has another type"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char items[512];
        (void)snprintf(items, sizeof(items), "%s,%s", good, bad[i].item);
        send_batch(items);
        EXPECT_PROBLEM(answer, 400, "invalid", 0);
        if (strstr(http_string(answer, "detail"), bad[i].says) == NULL)
            fail_msg("row %zu: %s", i, http_string(answer, "detail"));
    }
    send_batch("");
    EXPECT_PROBLEM(answer, 400, "invalid", 0);
    assert_false(http_boolean(call_inspect(port, "untouched"), "held"));
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(each_call_has_an_answer_of_its_own_in_order),
    cmocka_unit_test(grant_is_extended_and_released_in_a_batch),
    cmocka_unit_test(full_batch_is_answered_call_by_call),
    cmocka_unit_test(call_of_a_batch_does_not_wait),
    cmocka_unit_test(lock_is_released_although_the_client_left_in_the_line),
    cmocka_unit_test(batch_that_is_malformed_is_refused_whole),
};

CASE_MAIN(cases, start, fleet_teardown)
