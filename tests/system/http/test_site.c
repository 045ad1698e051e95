/* The acts that pages of other sites may have a browser do here: nothing that changes anything, and
 * nothing under a name that is not this service's (DNS rebinding). */
#include "tests/lib/case.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"

#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct pawl_service service;
static struct pawl_service ledger;

static int start(void **state)
{
    static const char *const options[] = {"--host", "locks.example", "--host", "pawld", NULL};
    char db[256];
    fleet_start(1, REDIS_VOLATILE);
    pawl_init_new(fleet);
    service = pawld_start(fleet, options);
    pawl_wait_ready(service);
    (void)snprintf(db, sizeof(db), "%s/ledger.db", fleet->dir);
    ledger = pawl_ledger_start(db, options);
    return 0;
}

/* One request whose Host is @host, and with @headers. */
static struct http_response ask(uint16_t port, const char *line, const char *host,
                                const char *headers)
{
    char request[512];
    struct http_response response;
    const int len =
        snprintf(request, sizeof(request), "%s HTTP/1.1\r\nHost: %s\r\n%sContent-Length: 0\r\n\r\n",
                 line, host, headers);
    struct http *http = http_connect(port);
    (void)http_send(http, request, (size_t)len);
    http_receive(http, false, &response);
    http_close(http);
    return response;
}

static void expect_refused(uint16_t port, const char *line, const char *host, const char *headers,
                           int status, const char *name)
{
    struct http_response response = ask(port, line, host, headers);
    if (response.status != status)
        fail_msg("%s of %s with %s: answered with %d", line, host, headers, response.status);
    EXPECT_PROBLEM(&response, status, name, 0);
    http_response_fini(&response);
}

static void expect_status(uint16_t port, const char *line, const char *host, const char *headers,
                          int status)
{
    struct http_response response = ask(port, line, host, headers);
    if (response.status != status)
        fail_msg("%s of %s with %s: answered with %d", line, host, headers, response.status);
    http_response_fini(&response);
}

static const char *const foreign[] = {
    "Origin: http://evil.example\r\n",
    "Origin: null\r\n",
    "Origin: http://localhost:1\r\n",
    "Sec-Fetch-Site: cross-site\r\n",
    "Sec-Fetch-Site: same-site\r\n",
    "Origin: http://localhost\r\nSec-Fetch-Site: cross-site\r\n",
    "Content-Type: text/plain\r\nOrigin: http://evil.example\r\n",
};

static void page_of_another_site_changes_nothing(void **state)
{
    static const char *const lines[] = {
        "POST /v1/locks/page",   "POST /v1/locks",     "PATCH /v1/locks/page",
        "DELETE /v1/locks/page", "PUT /v1/locks/page",
    };
    for (size_t i = 0; i < COUNT(lines) * COUNT(foreign); i++)
        expect_refused(service.port, lines[i / COUNT(foreign)], "localhost",
                       foreign[i % COUNT(foreign)], 403, "cross-site");
    const struct http_response *response = call_inspect(service.port, "page");
    assert_false(http_boolean(response, "held"));
}

static void page_of_another_site_changes_nothing_in_the_ledger(void **state)
{
    static const char *const lines[] = {"PUT /v1/accounts/page", "POST /v1/accounts/page/claim"};
    for (size_t i = 0; i < COUNT(lines) * COUNT(foreign); i++)
        expect_refused(ledger.port, lines[i / COUNT(foreign)], "localhost",
                       foreign[i % COUNT(foreign)], 403, "cross-site");
    expect_status(ledger.port, "GET /v1/accounts/page", "localhost", "", 404);
}

static void own_pages_and_programs_are_served(void **state)
{
    static const char *const headers[] = {
        "",
        "Origin: http://localhost:7380\r\nSec-Fetch-Site: same-origin\r\n",
        "Origin: https://localhost:7380\r\n",
        "Sec-Fetch-Site: none\r\n",
    };
    char line[64];
    for (size_t i = 0; i < COUNT(headers); i++) {
        (void)snprintf(line, sizeof(line), "POST /v1/locks/own/%zu", i);
        expect_status(service.port, line, "localhost:7380", headers[i], 201);
    }
}

static void name_that_is_not_the_services_is_refused(void **state)
{
    static const char *const lines[] = {"POST /v1/locks/name", "GET /v1/fleet", "GET /livez"};
    static const char *const hosts[] = {"rebind.example", "rebind.example:80", "localhost.example",
                                        "127.0.0.1.example", ""};
    for (size_t i = 0; i < COUNT(lines) * COUNT(hosts); i++)
        expect_refused(service.port, lines[i / COUNT(hosts)], hosts[i % COUNT(hosts)], "", 403,
                       "cross-site");
    expect_refused(ledger.port, "GET /v1/rejections", "rebind.example", "", 403, "cross-site");
    const struct http_response *response = call_inspect(service.port, "name");
    assert_false(http_boolean(response, "held"));
}

static void addresses_localhost_and_configured_names_are_served(void **state)
{
    static const char *const hosts[] = {"127.0.0.1",     "[::1]:80",           "localhost",
                                        "locks.example", "LOCKS.example:7380", "pawld:1"};
    for (size_t i = 0; i < COUNT(hosts); i++) {
        expect_status(service.port, "GET /livez", hosts[i], "", 200);
        expect_status(ledger.port, "GET /v1/rejections", hosts[i], "", 200);
    }
}

/* A page may look, as far as a browser lets it: it cannot read the answer. */
static void reading_needs_no_origin(void **state)
{
    expect_status(service.port, "GET /livez", "localhost", "Origin: http://evil.example\r\n", 200);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(page_of_another_site_changes_nothing),
    cmocka_unit_test(page_of_another_site_changes_nothing_in_the_ledger),
    cmocka_unit_test(own_pages_and_programs_are_served),
    cmocka_unit_test(name_that_is_not_the_services_is_refused),
    cmocka_unit_test(addresses_localhost_and_configured_names_are_served),
    cmocka_unit_test(reading_needs_no_origin),
};

CASE_MAIN(cases, start, fleet_teardown)
