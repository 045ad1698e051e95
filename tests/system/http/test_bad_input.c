/* The refusals of pawld: each request gets the answer that says why, nothing on the master changes,
 * and the process lives on (tests/system/http/untouched.h looks after each case). */
#include "tests/lib/case.h"
#include "tests/system/calls.h"
#include "tests/system/http/untouched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    BODY_MAX = 64 * 1024,
    HEADERS_MAX = 32 * 1024,
};

/* The word @what has to stand in the detail: the member, or the bound that was broken. */
static void expect_invalid(const struct http_response *response, const char *what)
{
    EXPECT_PROBLEM(response, 400, "invalid", 0);
    if (!strstr(http_string(response, "detail"), what))
        fail_msg("nothing about %s in \"%s\"", what, http_string(response, "detail"));
}

static const struct http_response *acquire(const char *body)
{
    return call_acquire(untouched_port(), "free", body);
}

static void body_that_is_no_json_object_is_refused(void **state)
{
    static const char *const bodies[] = {
        "{",
        "}",
        "{\"ttl_ms\": 100",
        "{\"ttl_ms\": }",
        "{\"ttl_ms\": 100,}",
        "[]",
        "null",
        "100",
        "\"ttl_ms\"",
        "{} {}",
        "{\"a\":1}x",
        " ",
        "{\"ttl_ms\": 0x64}",
        "{'ttl_ms': 100}",
        "{\"ttl_ms\": 0100}",
        "{\"ttl_ms\": NaN}",
        "{\"owner\": \"\\ud800\"}",
        "{\"owner\": \"\n\"}",
        "\xef\xbb\xbf{}",
    };
    for (size_t i = 0; i < COUNT(bodies); i++)
        expect_invalid(acquire(bodies[i]), "The body");
}

static void member_that_is_unknown_is_refused(void **state)
{
    expect_invalid(acquire("{\"ttl\": 100}"), "\"ttl\"");
    expect_invalid(acquire("{\"TTL_MS\": 100}"), "\"TTL_MS\"");
    expect_invalid(acquire("{\"ttl_ms\": 1000, \"\": 1}"), "unknown field");
    expect_invalid(acquire("{\"ttl_ms\": 1000, \"resource\": \"free\"}"), "\"resource\"");
}

static void member_that_comes_twice_is_refused(void **state)
{
    expect_invalid(acquire("{\"ttl_ms\": 1000, \"ttl_ms\": 1000}"), "duplicate");
    expect_invalid(acquire("{\"owner\": \"a\", \"\\u006fwner\": \"b\"}"), "duplicate");
}

static void member_of_another_type_is_refused(void **state)
{
    static const char *const values[] = {"\"1000\"", "1000.0", "1e3", "true",
                                         "null",     "[1000]", "{}"};
    static const char *const numbers[] = {"ttl_ms", "wait_ms"};
    for (size_t n = 0; n < COUNT(numbers); n++) {
        for (size_t i = 0; i < COUNT(values); i++) {
            char body[64];
            snprintf(body, sizeof(body), "{\"%s\": %s}", numbers[n], values[i]);
            expect_invalid(acquire(body), numbers[n]);
        }
    }
    expect_invalid(acquire("{\"owner\": 7}"), "owner");
    expect_invalid(acquire("{\"owner\": null}"), "owner");
    expect_invalid(acquire("{\"lock_id\": []}"), "lock_id");
}

static void number_past_its_bounds_is_refused(void **state)
{
    static const struct {
        const char *body;
        const char *member;
    } rows[] = {
        {"{\"ttl_ms\": 99}", "ttl_ms"},
        {"{\"ttl_ms\": 0}", "ttl_ms"},
        {"{\"ttl_ms\": -1}", "ttl_ms"},
        {"{\"ttl_ms\": -9223372036854775808}", "ttl_ms"},
        {"{\"ttl_ms\": 4294968296}", "ttl_ms"}, /* 1000 in 32 bits */
        {"{\"ttl_ms\": 9223372036854775807}", "ttl_ms"},
        {"{\"ttl_ms\": 9223372036854775808}", "ttl_ms"},
        {"{\"ttl_ms\": 99999999999999999999999999}", "ttl_ms"},
        {"{\"ttl_ms\": 1e400}", "ttl_ms"},
        {"{\"wait_ms\": -1}", "wait_ms"},
        {"{\"wait_ms\": 300001}", "300000"},
        {"{\"wait_ms\": 4294967296}", "wait_ms"}, /* 0 in 32 bits */
        {"{\"wait_ms\": -99999999999999999999999999}", "wait_ms"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        expect_invalid(acquire(rows[i].body), rows[i].member);
}

static void ttl_longer_than_the_fleet_allows_is_refused(void **state)
{
    const struct http_response *response = acquire("{\"ttl_ms\": 300001}");
    EXPECT_PROBLEM(response, 400, "invalid", 1);
    assert_non_null(strstr(http_string(response, "detail"), "ttl_ms"));
    assert_int_equal(http_integer(response, "ttl_max_ms"), 300000);
    char headers[256];
    snprintf(headers, sizeof(headers), "%sFencing-Token: 1\r\n", untouched_lock_id());
    response = call(untouched_port(), "PATCH", "/v1/locks/held", headers, "{\"ttl_ms\": 300001}");
    EXPECT_PROBLEM(response, 400, "invalid", 1);
}

static void owner_that_is_no_label_is_refused(void **state)
{
    char body[256];
    snprintf(body, sizeof(body), "{\"owner\": \"%0129d\"}", 0);
    expect_invalid(acquire(body), "128");
    static const char *const bodies[] = {
        "{\"owner\": \"a\\nb\"}",   "{\"owner\": \"\\u0000\"}",  "{\"owner\": \"a\\u0000b\"}",
        "{\"owner\": \"\\u007f\"}", "{\"owner\": \"\\u0085\"}",  "{\"owner\": \"\\u001b[2J\"}",
        "{\"owner\": \"\xff\"}",    "{\"owner\": \"\xc0\xaf\"}", "{\"owner\": \"\xed\xa0\x80\"}",
    };
    for (size_t i = 0; i < COUNT(bodies); i++)
        EXPECT_PROBLEM(acquire(bodies[i]), 400, "invalid", 0);
}

static void lock_id_of_the_client_that_is_malformed_is_refused(void **state)
{
    expect_invalid(acquire("{\"lock_id\": \"abcdefghijklmnopqrstu\"}"), "22");
    expect_invalid(acquire("{\"lock_id\": \"abcdefghijklmnopqrstuvwxyz=\"}"), "base64url");
    expect_invalid(acquire("{\"lock_id\": \"\"}"), "22");
    char body[128];
    snprintf(body, sizeof(body), "{\"lock_id\": \"%065d\"}", 0);
    expect_invalid(acquire(body), "64");
}

static void body_past_64_kib_is_refused(void **state)
{
    char *body = malloc(BODY_MAX + 2);
    assert_non_null(body);
    memset(body, ' ', BODY_MAX + 1);
    body[BODY_MAX + 1] = '\0';
    EXPECT_PROBLEM(acquire(body), 413, "too-large", 0);

    /* One byte less is read, and refused for what it says: nothing. */
    body[BODY_MAX] = '\0';
    expect_invalid(acquire(body), "JSON");
    free(body);
}

static void body_of_another_type_is_refused(void **state)
{
    static const char *const types[] = {"text/plain", "application/x-www-form-urlencoded",
                                        "application/jsonp", "application/problem+json", "json"};
    for (size_t i = 0; i < COUNT(types); i++) {
        char headers[128];
        snprintf(headers, sizeof(headers), "Content-Type: %s\r\n", types[i]);
        EXPECT_PROBLEM(call(untouched_port(), "POST", "/v1/locks/free", headers, "{}"), 415,
                       "unsupported-media-type", 0);
    }
}

static void body_where_none_belongs_is_refused(void **state)
{
    expect_invalid(call(untouched_port(), "DELETE", "/v1/locks/held", untouched_lock_id(),
                        "{\"force\": true}"),
                   "force");
    expect_invalid(call(untouched_port(), "GET", "/v1/locks/held", NULL, "{\"a\": 1}"), "\"a\"");
}

static void expect_bad_name(const char *name)
{
    char path[CALL_PATH_MAX];
    static const char *const methods[] = {"POST", "PATCH", "DELETE", "GET"};
    snprintf(path, sizeof(path), "/v1/locks/%s", name);
    for (size_t i = 0; i < COUNT(methods); i++)
        EXPECT_PROBLEM(call(untouched_port(), methods[i], path, untouched_lock_id(), NULL), 400,
                       "invalid", 0);
}

static void name_with_an_empty_or_dotted_segment_is_refused(void **state)
{
    static const char *const names[] = {
        "",     "/",       "/a",       "a/",       "a//b", ".",        "..",     "a/./b",
        "a/..", "../held", "%2e%2E/b", "a/%2e%2e", "%2F",  "a%2F%2Fb", "./held",
    };
    for (size_t i = 0; i < COUNT(names); i++)
        expect_bad_name(names[i]);
}

static void name_with_other_characters_is_refused(void **state)
{
    static const char *const names[] = {
        "a%20b", "a+b",    "a%25b", "a*b",   "a,b",      "a;b", "a=b", "a!b", "%0a",
        "a%7fb", "%C3%B6", "a%22b", "a%5Cb", "a%7Bb%7D", "a$b", "a&b", "a'b", "a(b)",
    };
    for (size_t i = 0; i < COUNT(names); i++)
        expect_bad_name(names[i]);
}

static void name_badly_encoded_is_refused(void **state)
{
    static const char *const names[] = {
        "a%00b", "%00",    "a%zz",   "a%",        "a%4",     "%%34",    "%2",
        "%ff",   "%c3%28", "%c0%af", "%ed%a0%80", "a%u0041", "held%00",
    };
    for (size_t i = 0; i < COUNT(names); i++)
        expect_bad_name(names[i]);
}

static void name_past_255_bytes_is_refused(void **state)
{
    char name[257];
    memset(name, 'n', sizeof(name) - 1);
    name[256] = '\0';
    expect_bad_name(name);

    name[255] = '\0'; /* the longest that is one */
    const struct http_response *response = call_inspect(untouched_port(), name);
    EXPECT_JSON(response, 200, 2);
    assert_string_equal(http_string(response, "resource"), name);
}

static void every_allowed_character_is_allowed(void **state)
{
    static const char name[] = "AZaz09._~:@/-/...%41";
    const struct http_response *response = call_inspect(untouched_port(), name);
    EXPECT_JSON(response, 200, 2);
    assert_string_equal(http_string(response, "resource"), "AZaz09._~:@/-/...A");
}

static void lock_id_that_is_missing_or_malformed_is_refused(void **state)
{
    static const char *const headers[] = {
        "",
        "Lock-Id:\r\n",
        "Lock-Id: abcdefghijklmnopqrstu\r\n",
        "Lock-Id: abcdefghijklmnopqrstuvwxy+/\r\n",
        "Lock-Id: abcdefghijklm nopqrstuvwxyz\r\n",
        "Lock-Id: *\r\n",
        "Lock-Id: 00000000000000000000000000000000000000000000000000000000000000000\r\n",
    };
    for (size_t i = 0; i < COUNT(headers); i++) {
        expect_invalid(call(untouched_port(), "DELETE", "/v1/locks/held", headers[i], NULL),
                       "Lock-Id");
        char with_token[256];
        snprintf(with_token, sizeof(with_token), "%sFencing-Token: 1\r\n", headers[i]);
        expect_invalid(call(untouched_port(), "PATCH", "/v1/locks/held", with_token, NULL),
                       "Lock-Id");
    }
}

static void token_that_is_missing_or_malformed_is_refused(void **state)
{
    static const char *const tokens[] = {
        "",
        "0",
        "-1",
        "+1",
        "01",
        "1.0",
        "1e0",
        "0x1",
        "one",
        "1 2",
        "1,1",
        "\"1\"",
        "9007199254740992",
        "18446744073709551617",
        "99999999999999999999999999999999",
    };
    for (size_t i = 0; i < COUNT(tokens); i++) {
        char headers[256];
        snprintf(headers, sizeof(headers), "%sFencing-Token: %s\r\n", untouched_lock_id(),
                 tokens[i]);
        expect_invalid(call(untouched_port(), "PATCH", "/v1/locks/held", headers, NULL),
                       "Fencing-Token");
        expect_invalid(call(untouched_port(), "DELETE", "/v1/locks/held", headers, NULL),
                       "Fencing-Token");
    }
    expect_invalid(call(untouched_port(), "PATCH", "/v1/locks/held", untouched_lock_id(), NULL),
                   "Fencing-Token");
}

static void release_under_a_condition_is_refused(void **state)
{
    static const char *const conditions[] = {"\"1\"", "1", "*", ""};
    for (size_t i = 0; i < COUNT(conditions); i++) {
        char headers[256];
        snprintf(headers, sizeof(headers), "%sIf-Match: %s\r\n", untouched_lock_id(),
                 conditions[i]);
        expect_invalid(call(untouched_port(), "DELETE", "/v1/locks/held", headers, NULL),
                       "?force=true");
    }
}

static void header_that_comes_twice_is_refused(void **state)
{
    char headers[512];
    snprintf(headers, sizeof(headers), "%s%s", untouched_lock_id(), untouched_lock_id());
    expect_invalid(call(untouched_port(), "DELETE", "/v1/locks/held", headers, NULL), "Lock-Id");
    snprintf(headers, sizeof(headers), "%sFencing-Token: 1\r\nfencing-token: 1\r\n",
             untouched_lock_id());
    expect_invalid(call(untouched_port(), "PATCH", "/v1/locks/held", headers, NULL),
                   "Fencing-Token");
    expect_invalid(call(untouched_port(), "POST", "/v1/locks/free",
                        "Content-Type: application/json\r\nContent-Type: application/json\r\n",
                        "{}"),
                   "Content-Type");
}

static void headers_past_their_bounds_are_refused(void **state)
{
    char *headers = malloc(HEADERS_MAX);
    assert_non_null(headers);
    snprintf(headers, HEADERS_MAX, "X-Long: %05600d\r\n", 0);
    EXPECT_PROBLEM(call(untouched_port(), "POST", "/v1/locks/free", headers, NULL), 431,
                   "headers-too-large", 0);

    size_t len = 0;
    for (int i = 0; i < 80; i++) /* short, but many */
        len += (size_t)snprintf(headers + len, HEADERS_MAX - len, "X-%d: 1\r\n", i);
    EXPECT_PROBLEM(call(untouched_port(), "POST", "/v1/locks/free", headers, NULL), 431,
                   "headers-too-large", 0);

    /* libmicrohttpd's own refusal: its memory is out before the headers end. */
    snprintf(headers, HEADERS_MAX, "X-Long: %025000d\r\n", 0);
    assert_int_equal(call(untouched_port(), "POST", "/v1/locks/free", headers, NULL)->status, 431);
    free(headers);
}

static void path_that_is_unknown_is_not_found(void **state)
{
    static const char *const paths[] = {"/nowhere",
                                        "/v1",
                                        "/v1/",
                                        "/v1/lock/held",
                                        "/v2/locks/held",
                                        "/V1/locks/held",
                                        "//v1/locks/held",
                                        "/livez/",
                                        "/v1/fleet/1",
                                        "/readyz%2F"};
    for (size_t i = 0; i < COUNT(paths); i++)
        EXPECT_PROBLEM(call(untouched_port(), "GET", paths[i], NULL, NULL), 404, "not-found", 0);
}

static void method_that_is_not_served_is_told_which_are(void **state)
{
    static const char *const methods[] = {"PUT", "OPTIONS", "TRACE", "BREW", "post", "get"};
    for (size_t i = 0; i < COUNT(methods); i++) {
        const struct http_response *response =
            call(untouched_port(), methods[i], "/v1/locks/held", untouched_lock_id(), NULL);
        EXPECT_PROBLEM(response, 405, "method-not-allowed", 0);
        EXPECT_HEADER(response, "Allow", "POST, PATCH, DELETE, GET, HEAD");
    }
    static const char *const paths[] = {"/v1/fleet", "/livez", "/readyz"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        const struct http_response *response = call(untouched_port(), "POST", paths[i], NULL, "{}");
        EXPECT_PROBLEM(response, 405, "method-not-allowed", 0);
        EXPECT_HEADER(response, "Allow", "GET, HEAD");
    }
}

static void query_is_refused(void **state)
{
    expect_invalid(call(untouched_port(), "POST", "/v1/locks/free?ttl_ms=100", NULL, NULL),
                   "ttl_ms");
    expect_invalid(call(untouched_port(), "GET", "/v1/locks/held?a", NULL, NULL), "\"a\"");
    expect_invalid(call(untouched_port(), "GET", "/v1/fleet?x=%zz", NULL, NULL), "\"x\"");
}

static void head_of_what_is_refused_has_no_body(void **state)
{
    struct http *http = http_connect(untouched_port());
    struct http_response response;
    http_request(http, "HEAD", "/v1/locks/a//b", NULL, NULL, &response);
    assert_int_equal(response.status, 400);
    EXPECT_HEADER(&response, "Content-Type", "application/problem+json");
    http_response_fini(&response);
    http_request(http, "GET", "/livez", NULL, NULL, &response);
    assert_int_equal(response.status, 200);
    http_response_fini(&response);
    http_close(http);
}

#define REFUSED(name) cmocka_unit_test_teardown(name, untouched_check)

static const struct CMUnitTest cases[] = {
    REFUSED(body_that_is_no_json_object_is_refused),
    REFUSED(member_that_is_unknown_is_refused),
    REFUSED(member_that_comes_twice_is_refused),
    REFUSED(member_of_another_type_is_refused),
    REFUSED(number_past_its_bounds_is_refused),
    REFUSED(ttl_longer_than_the_fleet_allows_is_refused),
    REFUSED(owner_that_is_no_label_is_refused),
    REFUSED(lock_id_of_the_client_that_is_malformed_is_refused),
    REFUSED(body_past_64_kib_is_refused),
    REFUSED(body_of_another_type_is_refused),
    REFUSED(body_where_none_belongs_is_refused),
    REFUSED(name_with_an_empty_or_dotted_segment_is_refused),
    REFUSED(name_with_other_characters_is_refused),
    REFUSED(name_badly_encoded_is_refused),
    REFUSED(name_past_255_bytes_is_refused),
    REFUSED(every_allowed_character_is_allowed),
    REFUSED(lock_id_that_is_missing_or_malformed_is_refused),
    REFUSED(token_that_is_missing_or_malformed_is_refused),
    REFUSED(release_under_a_condition_is_refused),
    REFUSED(header_that_comes_twice_is_refused),
    REFUSED(headers_past_their_bounds_are_refused),
    REFUSED(path_that_is_unknown_is_not_found),
    REFUSED(method_that_is_not_served_is_told_which_are),
    REFUSED(query_is_refused),
    REFUSED(head_of_what_is_refused_has_no_body),
};

CASE_MAIN(cases, untouched_start, untouched_stop)
