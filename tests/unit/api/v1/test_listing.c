#include "api/mhd/server.h"
#include "api/v1/listing.h"
#include "tests/lib/case.h"
#include "tests/unit/api/loop.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A backend that notes the call, and gives the page that the test has set. */
static struct fence_listing_call seen; /* its strings are copied to these */
static char seen_prefix[FENCE_RESOURCE_MAX + 1];
static char seen_cursor[API_CURSOR_MAX + 1];
static unsigned calls;
static struct fence_listing_answer next;

static void take_call(void *context, const struct fence_listing_call *call)
{
    calls++;
    seen = *call;
    (void)snprintf(seen_prefix, sizeof(seen_prefix), "%s", call->prefix);
    (void)snprintf(seen_cursor, sizeof(seen_cursor), "%s", call->cursor);
    struct fence_listing_answer page = next;
    page.kind = call->kind;
    page.client = call->client;
    api_listing_answer(&page);
}

static struct api_backend backend = {.list = take_call};
static struct api_routes routes;

static int setup(void **state)
{
    calls = 0;
    next = (struct fence_listing_answer){.error = 0};
    routes = api_listing_routes(&backend);
    loop_begin(loop_serve(&routes, 0));
    return 0;
}

static int ask_raw(const char *bytes, size_t len)
{
    (void)send(loop.fd, bytes, len, 0);
    return loop_receive(loop.http, loop.fd, loop.response);
}

static int ask_path(const char *path, const char *query)
{
    char text[2048];
    int len =
        snprintf(text, sizeof(text), "GET %s%s HTTP/1.1\r\nHost: localhost\r\n\r\n", path, query);
    return ask_raw(text, (size_t)len);
}

static int ask(const char *query)
{
    return ask_path("/v1/locks", query);
}

static int ask_counters(const char *query)
{
    return ask_path("/v1/counters", query);
}

static void call_without_a_query_takes_the_defaults(void **state)
{
    assert_int_equal(ask(""), 200);
    assert_string_equal(seen_prefix, "");
    assert_string_equal(seen_cursor, "");
    assert_int_equal(seen.limit, 100);
    assert_int_equal(ask("?"), 200);
    assert_int_equal(ask("?prefix="), 200);
    assert_int_equal(calls, 3);
}

static void query_reaches_the_call(void **state)
{
    assert_int_equal(ask("?cursor=a.b%2Fc&limit=1000&prefix=orders/4%32"), 200);
    assert_int_equal(seen.kind, FENCE_LISTING_LOCKS);
    assert_string_equal(seen_prefix, "orders/42");
    assert_string_equal(seen_cursor, "a.b/c");
    assert_int_equal(seen.limit, 1000);
}

static void counters_are_asked_for_by_the_same_query(void **state)
{
    assert_int_equal(ask_counters("?cursor=a.b&limit=7&prefix=orders/"), 200);
    assert_int_equal(seen.kind, FENCE_LISTING_COUNTERS);
    assert_string_equal(seen_prefix, "orders/");
    assert_string_equal(seen_cursor, "a.b");
    assert_int_equal(seen.limit, 7);
    assert_int_equal(ask_counters("?limit=1001"), 400);
    assert_int_equal(ask_counters("?prefix=a//"), 400);
    assert_said("No counter can begin with this prefix");
    assert_int_equal(ask_counters("?offset=1"), 400);
    assert_int_equal(calls, 1);
}

static void assert_refused(const char *query, const char *word)
{
    assert_int_equal(ask(query), 400);
    assert_int_equal(calls, 0);
    assert_said(word);
}

static void limit_keeps_to_its_bounds(void **state)
{
    assert_refused("?limit=0", "limit must be a whole number from 1 to 1000");
    assert_refused("?limit=1001", "limit");
    assert_refused("?limit", "has no value");
}

static void prefix_is_one_that_a_resource_can_have(void **state)
{
    static const char *const bad[] = {"/", "a//", "a/./b", "../", "a%20", "a*", "%c3%bc"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char query[64];
        (void)snprintf(query, sizeof(query), "?prefix=%s", bad[i]);
        assert_refused(query, "No resource can begin with this prefix");
    }
    static const char *const good[] = {"a/", "a/.", "a/..", ".", "..", "A:@~_-.9"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        char query[64];
        (void)snprintf(query, sizeof(query), "?prefix=%s", good[i]);
        assert_int_equal(ask(query), 200);
    }
}

static void prefix_is_as_long_as_a_resource_at_most(void **state)
{
    char query[512] = "?prefix=";
    size_t len = strlen(query);
    memset(query + len, 'x', FENCE_RESOURCE_MAX + 1);
    query[len + FENCE_RESOURCE_MAX + 1] = '\0';
    assert_refused(query, "256 bytes");
    query[len + FENCE_RESOURCE_MAX] = '\0';
    assert_int_equal(ask(query), 200);
    assert_int_equal(strlen(seen_prefix), FENCE_RESOURCE_MAX);
}

static void unknown_and_repeated_parameters_are_refused(void **state)
{
    assert_refused("?offset=1", "offset");
    assert_refused("?limit=1&limit=1", "only once");
    assert_refused("?=1", "\\\"\\\"");
}

/* Bytes that libmicrohttpd drops behind a NUL would have been part of the prefix. */
static void nul_in_the_query_is_refused(void **state)
{
    static const char first[] = "GET /v1/locks?prefix=a\0b HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_int_equal(ask_raw(first, sizeof(first) - 1), 400);
    assert_int_equal(calls, 0);
    assert_said("NUL");
}

static void page_shows_its_locks_and_where_to_go_on(void **state)
{
    static const struct fence_listed locks[] = {
        {.resource = "a", .owner = "w \"1\"", .token = 34, .remaining_ms = 1001, .waiters = 2},
        {.resource = "b/c", .owner = "", .token = 0, .remaining_ms = 0},
    };
    next.locks = locks;
    next.count = 2;
    next.next_cursor = "x.y";
    assert_int_equal(ask(""), 200);
    assert_said("Content-Type: application/json\r\n");
    assert_said("Cache-Control: no-store\r\n");
    assert_said("\r\n\r\n{\"locks\":["
                "{\"resource\":\"a\",\"token\":34,\"owner\":\"w \\\"1\\\"\","
                "\"remaining_ms\":1001,\"waiters\":2},"
                "{\"resource\":\"b/c\",\"token\":null,\"owner\":\"\",\"remaining_ms\":0,"
                "\"waiters\":0}],"
                "\"next_cursor\":\"x.y\"}");
}

static void page_of_counters_has_names_and_values(void **state)
{
    static const struct fence_listed counters[] = {
        {.resource = "a", .token = FENCE_TOKEN_MAX},
        {.resource = "b/c", .token = 1},
    };
    next.locks = counters;
    next.count = 2;
    next.next_cursor = "x.y";
    assert_int_equal(ask_counters(""), 200);
    assert_said("Cache-Control: no-store\r\n");
    assert_said("\r\n\r\n{\"counters\":[{\"name\":\"a\",\"value\":9007199254740991},"
                "{\"name\":\"b/c\",\"value\":1}],\"next_cursor\":\"x.y\"}");
}

static void last_page_has_no_cursor(void **state)
{
    assert_int_equal(ask(""), 200);
    assert_said("{\"locks\":[],\"next_cursor\":null}");
}

static void page_of_the_longest_locks_is_written(void **state)
{
    static struct fence_listed locks[3];
    for (size_t i = 0; i < 3; i++) {
        memset(locks[i].resource, 'x', FENCE_RESOURCE_MAX);
        memset(locks[i].owner, '\x01', FENCE_OWNER_MAX); /* six bytes each */
        locks[i].token = FENCE_TOKEN_MAX;
        locks[i].remaining_ms = INT64_MAX;
        locks[i].waiters = UINT32_MAX;
    }
    next.locks = locks;
    next.count = 3;
    assert_int_equal(ask(""), 200);
    assert_said("\\u0001\",\"remaining_ms\":9223372036854775807,\"waiters\":4294967295}],");
}

static void wrong_cursor_is_told_to_start_anew(void **state)
{
    next.error = FENCE_EINVAL;
    assert_int_equal(ask("?cursor=x"), 400);
    assert_said("urn:pawl:invalid");
    assert_said("Restart the listing without a cursor");
}

static void no_quorum_names_each_masters_part(void **state)
{
    next.error = FENCE_ENOQUORUM;
    next.total = 3;
    next.parts[1] = FENCE_PART_DOWN;
    next.parts[2] = FENCE_PART_TIMEOUT;
    assert_int_equal(ask(""), 503);
    assert_said("Retry-After: 1\r\n");
    assert_said("\"masters\":[\"pending\",\"down\",\"timeout\"]");
    assert_false(loop_says("SCAN"));
    next.parts[0] = FENCE_PART_REFUSED;
    assert_int_equal(ask(""), 503);
    assert_said("must allow SCAN and MGET");
    assert_int_equal(ask_counters(""), 503);
    assert_said("must allow HSCAN and HMGET");
}

static void other_failures_are_those_of_the_table(void **state)
{
    next.error = FENCE_EBUSY;
    assert_int_equal(ask(""), 429);
    next.error = FENCE_ENOTREADY;
    assert_int_equal(ask(""), 503);
    assert_said("urn:pawl:not-ready");
    next.error = FENCE_ENOMEM;
    assert_int_equal(ask(""), 503);
    assert_said("urn:pawl:no-memory");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, loop_end)

static const struct CMUnitTest cases[] = {
    CASE(call_without_a_query_takes_the_defaults),
    CASE(query_reaches_the_call),
    CASE(counters_are_asked_for_by_the_same_query),
    CASE(limit_keeps_to_its_bounds),
    CASE(prefix_is_one_that_a_resource_can_have),
    CASE(prefix_is_as_long_as_a_resource_at_most),
    CASE(unknown_and_repeated_parameters_are_refused),
    CASE(nul_in_the_query_is_refused),
    CASE(page_shows_its_locks_and_where_to_go_on),
    CASE(page_of_counters_has_names_and_values),
    CASE(last_page_has_no_cursor),
    CASE(page_of_the_longest_locks_is_written),
    CASE(wrong_cursor_is_told_to_start_anew),
    CASE(no_quorum_names_each_masters_part),
    CASE(other_failures_are_those_of_the_table),
};

CASE_MAIN(cases, NULL, NULL)
