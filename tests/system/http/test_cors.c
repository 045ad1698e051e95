/* Pages of other sites that may call, and all others, which may not. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTED    "https://app.example.com"
#define OTHER     "https://evil.example"
#define PREFLIGHT "Access-Control-Request-Method: POST\r\n"
#define FOREIGN   "Sec-Fetch-Site: cross-site\r\n"

static struct pawl_service open_to_one, open_to_none, ledger;
static char metrics_listen[32];
static uint16_t metrics_port;

static int start(void **state)
{
    char db[256], port[8];
    fleet_start(1, REDIS_VOLATILE);
    pawl_init_new(fleet);
    (void)snprintf(metrics_listen, sizeof(metrics_listen), "127.0.0.1:0");
    const char *const options[] = {
        "--cors-origin", LISTED, "--cors-origin", "http://localhost:3000", "--metrics-listen",
        metrics_listen,  NULL};
    open_to_one = pawld_start(fleet, options);
    process_wait_line(open_to_one.process, "listening on 127.0.0.1:([0-9]+), for metrics$", 10000,
                      port, sizeof(port));
    metrics_port = (uint16_t)strtoul(port, NULL, 10);
    open_to_none = pawld_start(fleet, NULL);
    pawl_wait_ready(open_to_one);
    pawl_wait_ready(open_to_none);
    (void)snprintf(db, sizeof(db), "%s/ledger.db", fleet->dir);
    ledger = pawl_ledger_start(db, (const char *const[]){"--cors-origin", LISTED, NULL});
    return 0;
}

static void expect_no_sharing(const struct http_response *response)
{
    if (strcasestr(response->head, "Access-Control-") != NULL)
        fail_msg("a page is told more than it should be: %s", response->head);
}

static void expect_sharing(const struct http_response *response)
{
    EXPECT_HEADER(response, "Access-Control-Allow-Origin", LISTED);
    EXPECT_HEADER(response, "Vary", "Origin");
    assert_null(strcasestr(response->head, "Access-Control-Allow-Credentials"));
}

static void page_that_is_listed_may_ask_and_call(void **state)
{
    const struct http_response *response = call(open_to_one.port, "OPTIONS", "/v1/locks/page",
                                                "Origin: " LISTED "\r\n" FOREIGN PREFLIGHT, NULL);
    assert_int_equal(response->status, 204);
    expect_sharing(response);
    EXPECT_HEADER(response, "Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE");
    assert_non_null(strstr(response->head, "Lock-Id"));

    response = call(open_to_one.port, "POST", "/v1/locks/page", "Origin: " LISTED "\r\n" FOREIGN,
                    "{\"ttl_ms\": 60000}");
    const struct grant grant = grant_of(response);
    expect_sharing(response);
    response =
        call(open_to_one.port, "POST", "/v1/locks/page", "Origin: " LISTED "\r\n" FOREIGN, NULL);
    assert_int_equal(response->status, 409); /* refusals can be read, too */
    expect_sharing(response);
    response = call(open_to_one.port, "GET", "/v1/locks/page", "Origin: " LISTED "\r\n", NULL);
    assert_int_equal(response->status, 200);
    expect_sharing(response);
    call_give_back(open_to_one.port, "page", &grant);

    response =
        call(ledger.port, "PUT", "/v1/accounts/page", "Origin: " LISTED "\r\n" FOREIGN, "{}");
    assert_int_not_equal(response->status, 403);
    expect_sharing(response);
}

static void page_that_is_not_listed_is_refused_as_ever(void **state)
{
    static const char *const origins[] = {OTHER, "null", "http://app.example.com", LISTED ":8443",
                                          LISTED ".evil.example"};
    const uint16_t ports[] = {open_to_one.port, open_to_none.port, ledger.port};
    for (size_t i = 0; i < 3 * sizeof(origins) / sizeof(origins[0]); i++) {
        const uint16_t port = ports[i % 3];
        char headers[256];
        (void)snprintf(headers, sizeof(headers), "Origin: %s\r\n" FOREIGN PREFLIGHT,
                       origins[i / 3]);
        const struct http_response *response =
            call(port, "OPTIONS", "/v1/locks/page", headers, NULL);
        assert_int_equal(response->status, 403);
        expect_no_sharing(response);
        response = call(port, "POST", "/v1/locks/page", headers, NULL);
        EXPECT_PROBLEM(response, 403, "cross-site", 0);
        expect_no_sharing(response);
    }
    const struct http_response *response = call_inspect(open_to_one.port, "page");
    assert_false(http_boolean(response, "held"));
}

static void nothing_is_shared_without_a_list(void **state)
{
    const struct http_response *response =
        call(open_to_none.port, "POST", "/v1/locks/page", "Origin: " LISTED "\r\n" FOREIGN, NULL);
    EXPECT_PROBLEM(response, 403, "cross-site", 0);
    expect_no_sharing(response);
    assert_null(strcasestr(response->head, "Vary:"));
}

/* An answer for no waiter's page may not be taken for one that is shared. */
static void answers_to_programs_vary_too(void **state)
{
    const struct http_response *response = call(open_to_one.port, "GET", "/livez", NULL, NULL);
    EXPECT_HEADER(response, "Vary", "Origin");
    expect_no_sharing(response);
}

static void origin_that_comes_twice_is_refused(void **state)
{
    const struct http_response *response =
        call(open_to_one.port, "POST", "/v1/locks/page",
             "Origin: " LISTED "\r\nOrigin: " OTHER "\r\n", NULL);
    assert_in_range(response->status, 400, 403);
    expect_no_sharing(response);
}

static void host_is_checked_all_the_same(void **state)
{
    static const char request[] = "POST /v1/locks/page HTTP/1.1\r\nHost: rebind.example\r\n"
                                  "Origin: " LISTED "\r\nContent-Length: 0\r\n\r\n";
    struct http *http = http_connect(open_to_one.port);
    struct http_response response;
    assert_true(http_send(http, request, strlen(request)));
    http_receive(http, false, &response);
    EXPECT_PROBLEM(&response, 403, "cross-site", 0);
    http_response_fini(&response);
    http_close(http);
}

static void options_that_are_no_preflight_are_answered_as_ever(void **state)
{
    EXPECT_PROBLEM(call(open_to_one.port, "OPTIONS", "/v1/locks/page", NULL, NULL), 405,
                   "method-not-allowed", 0);
    EXPECT_PROBLEM(
        call(open_to_one.port, "OPTIONS", "/v1/locks/page", "Origin: " LISTED "\r\n", NULL), 405,
        "method-not-allowed", 0);
}

static void metrics_are_for_no_page(void **state)
{
    const struct http_response *response =
        call(metrics_port, "GET", "/livez", "Origin: " LISTED "\r\n", NULL);
    assert_int_equal(response->status, 200);
    expect_no_sharing(response);
    response = call(metrics_port, "OPTIONS", "/livez", "Origin: " LISTED "\r\n" PREFLIGHT, NULL);
    expect_no_sharing(response);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(page_that_is_listed_may_ask_and_call),
    cmocka_unit_test(page_that_is_not_listed_is_refused_as_ever),
    cmocka_unit_test(nothing_is_shared_without_a_list),
    cmocka_unit_test(answers_to_programs_vary_too),
    cmocka_unit_test(origin_that_comes_twice_is_refused),
    cmocka_unit_test(host_is_checked_all_the_same),
    cmocka_unit_test(options_that_are_no_preflight_are_answered_as_ever),
    cmocka_unit_test(metrics_are_for_no_page),
};

CASE_MAIN(cases, start, fleet_teardown)
