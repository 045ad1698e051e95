#include "api/mhd/server.h"
#include "api/v1/counters.h"
#include "tests/lib/case.h"
#include "tests/unit/api/loop.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A backend that notes the call, and gives the answer that the test has set. */
static struct fence_call seen; /* its name is copied to this */
static char seen_name[FENCE_RESOURCE_MAX + 1];
static unsigned calls;
static struct fence_answer next;

static void take_call(void *context, const struct fence_call *call)
{
    calls++;
    seen = *call;
    (void)snprintf(seen_name, sizeof(seen_name), "%s", call->resource);
    struct fence_answer answer = next;
    answer.kind = call->kind;
    answer.client = call->client;
    answer.resource = seen_name;
    api_counters_answer(&answer);
}

static struct api_backend backend = {.call = take_call};
static struct api_routes routes;

static int setup(void **state)
{
    calls = 0;
    next = (struct fence_answer){
        .count.value = 142,
        .total = 3,
        .parts = {FENCE_PART_GRANTED, FENCE_PART_DOWN, FENCE_PART_TIMEOUT},
    };
    routes = api_counters_routes(&backend);
    loop_begin(loop_serve(&routes, 0));
    return 0;
}

static int ask(const char *method, const char *name, const char *body)
{
    char text[1024];
    (void)snprintf(text, sizeof(text),
                   "%s /v1/counters/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                   "%zu\r\n\r\n%s",
                   method, name, strlen(body), body);
    loop_send(loop.http, loop.fd, text);
    return loop_receive(loop.http, loop.fd, loop.response);
}

static void post_takes_one_value_unless_the_body_says_more(void **state)
{
    static const struct {
        const char *body;
        uint32_t count;
    } bodies[] = {
        {"", 1}, {"{}", 1}, {"{\"count\": 1}", 1}, {"{\"count\":1000000}", FENCE_COUNT_MAX}};
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        assert_int_equal(ask("POST", "orders/42", bodies[i].body), 200);
        assert_int_equal(seen.kind, FENCE_CALL_COUNT);
        assert_int_equal(seen.origin, FENCE_ORIGIN_CLIENT);
        assert_int_equal(seen.count, bodies[i].count);
        assert_string_equal(seen_name, "orders/42");
        assert_string_equal(seen.lock_id, "");
        assert_string_equal(seen.owner, "");
    }
}

static void get_takes_no_value(void **state)
{
    assert_int_equal(ask("GET", "orders%2F42", ""), 200);
    assert_int_equal(seen.kind, FENCE_CALL_COUNT);
    assert_int_equal(seen.count, 0);
    assert_string_equal(seen_name, "orders/42");
}

static void values_are_answered_with_their_last_and_how_many(void **state)
{
    assert_int_equal(ask("POST", "orders", "{\"count\": 100}"), 200);
    assert_said("Content-Type: application/json\r\n");
    assert_said("Cache-Control: no-store\r\n");
    assert_said("\r\n\r\n{\"name\":\"orders\",\"value\":142,\"count\":100}");
}

static void reading_is_answered_with_the_last_value(void **state)
{
    assert_int_equal(ask("GET", "orders", ""), 200);
    assert_said("Cache-Control: no-store\r\n");
    assert_said("\r\n\r\n{\"name\":\"orders\",\"value\":142}");
}

static void longest_name_and_highest_value_are_written(void **state)
{
    char name[FENCE_RESOURCE_MAX + 1] = "";
    memset(name, 'x', FENCE_RESOURCE_MAX);
    next.count.value = FENCE_TOKEN_MAX;
    assert_int_equal(ask("POST", name, "{\"count\": 1000000}"), 200);
    assert_said("x\",\"value\":9007199254740991,\"count\":1000000}");
}

static void expect_problem(int error, int status, const char *name, const char *words)
{
    next.error = error;
    assert_int_equal(ask("POST", "orders", ""), status);
    assert_said(name);
    assert_said(words);
    assert_said("\"name\":\"orders\"");
}

static void counter_that_never_was_is_404(void **state)
{
    next.error = FENCE_ENOENT;
    assert_int_equal(ask("GET", "orders", ""), 404);
    assert_said("urn:pawl:no-such-counter");
    assert_said("Cache-Control: no-store\r\n");
    assert_said("\"name\":\"orders\"");
}

static void too_many_counters_says_what_to_do(void **state)
{
    expect_problem(FENCE_ECOUNTERS, 409, "urn:pawl:too-many-counters", "--max-counters");
}

static void obstacles_name_the_field_and_the_masters(void **state)
{
    static const char masters[] = "\"masters\":[\"granted\",\"down\",\"timeout\"]";
    expect_problem(FENCE_ESPENT, 409, "urn:pawl:counter-used-up",
                   "The field n:orders of pawl:fleet");
    assert_said(masters);
    expect_problem(FENCE_EMISCOUNTED, 409, "urn:pawl:foreign-counter",
                   "The field n:orders of pawl:fleet");
    assert_said(masters);
}

static void detail_with_the_longest_name_is_whole(void **state)
{
    char name[FENCE_RESOURCE_MAX + 1] = "";
    memset(name, 'x', FENCE_RESOURCE_MAX);
    next.error = FENCE_ESPENT;
    assert_int_equal(ask("POST", name, ""), 409);
    assert_said("last value that was issued.\"");
    next.error = FENCE_EMISCOUNTED;
    assert_int_equal(ask("POST", name, ""), 409);
    assert_said("last value that was issued, or higher.\"");
}

static void failures_of_the_service_speak_of_no_lock(void **state)
{
    expect_problem(FENCE_ENOQUORUM, 503, "urn:pawl:no-quorum",
                   "\"masters\":[\"granted\",\"down\",\"timeout\"]");
    assert_null(strstr(loop.response, " lock"));
    expect_problem(FENCE_ECONTENDED, 409, "urn:pawl:contended",
                   "Several servers counted at the same time");
    assert_null(strstr(loop.response, " lock"));
    expect_problem(FENCE_EBUSY, 429, "urn:pawl:busy", "Retry-After: 1\r\n");
    expect_problem(FENCE_ENOTREADY, 503, "urn:pawl:not-ready", "Retry-After: 1\r\n");
}

static void expect_refused(const char *method, const char *name, const char *body, const char *word)
{
    assert_int_equal(ask(method, name, body), 400);
    assert_int_equal(calls, 0);
    assert_said("urn:pawl:invalid");
    assert_said(word);
}

static void count_keeps_to_its_bounds(void **state)
{
    expect_refused("POST", "orders", "{\"count\": 0}", "from 1 to 1000000");
    expect_refused("POST", "orders", "{\"count\": -1}", "count");
    expect_refused("POST", "orders", "{\"count\": 1000001}", "count");
    expect_refused("POST", "orders", "{\"count\": 1.5}", "count");
    expect_refused("POST", "orders", "{\"count\": \"1\"}", "count");
    expect_refused("POST", "orders", "{\"count\": null}", "count");
}

static void unknown_members_and_what_is_no_object_are_refused(void **state)
{
    expect_refused("POST", "orders", "{\"value\": 1}", "value");
    expect_refused("POST", "orders", "{\"count\": 1, \"ttl_ms\": 1000}", "ttl_ms");
    expect_refused("POST", "orders", "{\"count\": 1, \"count\": 1}", "count");
    expect_refused("POST", "orders", "[1]", "JSON");
    expect_refused("GET", "orders", "{\"count\": 1}", "count");
}

static void bad_names_of_counters_are_refused(void **state)
{
    static const char *const bad[] = {"", "a//b", "a/", "a/./b", "..", "a%20b", "a*"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_refused("POST", bad[i], "", "The name of a counter must be 1 to 255 bytes");
        expect_refused("GET", bad[i], "", "The name of a counter must be");
    }
}

static void other_methods_are_told_of_those_that_would_do(void **state)
{
    assert_int_equal(ask("DELETE", "orders", ""), 405);
    assert_said("Allow: POST, GET, HEAD\r\n");
    assert_int_equal(calls, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, loop_end)

static const struct CMUnitTest cases[] = {
    CASE(post_takes_one_value_unless_the_body_says_more),
    CASE(get_takes_no_value),
    CASE(values_are_answered_with_their_last_and_how_many),
    CASE(reading_is_answered_with_the_last_value),
    CASE(longest_name_and_highest_value_are_written),
    CASE(counter_that_never_was_is_404),
    CASE(too_many_counters_says_what_to_do),
    CASE(obstacles_name_the_field_and_the_masters),
    CASE(detail_with_the_longest_name_is_whole),
    CASE(failures_of_the_service_speak_of_no_lock),
    CASE(count_keeps_to_its_bounds),
    CASE(unknown_members_and_what_is_no_object_are_refused),
    CASE(bad_names_of_counters_are_refused),
    CASE(other_methods_are_told_of_those_that_would_do),
};

CASE_MAIN(cases, NULL, NULL)
