/* Clients that take their time, or that go: what a request may take to come in, and that no other
 * caller pays for one that does not come. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/line.h"
#include "tests/system/usage.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define HALF "POST /v1/locks/free HTTP/1.1\r\nHost: local"
#define CHUNKED                                                                                    \
    "POST /v1/locks/free HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
#define GET "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"

enum {
    TIMEOUT_MS = 800, /* for a head, and for a body */
    LATE_MS = 1600,   /* it is over by then */
    CROWD = 500,
    LINE = 9000, /* bytes of a chunk-size line: more than any buffer */
};

static struct pawl_service service;
static struct pawl_service ledger;
static struct http *crowd[CROWD];

static int start(void **state)
{
    static const char *const options[] = {"--head-timeout-ms", "800", "--body-timeout-ms", "800",
                                          NULL};
    char db[256];
    line_may_be_long();
    fleet_start(1, REDIS_VOLATILE);
    pawl_init_new(fleet);
    service = pawld_start(fleet, options);
    pawl_wait_ready(service);
    (void)snprintf(db, sizeof(db), "%s/ledger.db", fleet->dir);
    ledger = pawl_ledger_start(db, options);
    return 0;
}

static int disperse(void **state)
{
    for (int i = 0; i < CROWD; i++) {
        http_close(crowd[i]);
        crowd[i] = NULL;
    }
    return 0;
}

static void send_text(struct http *http, const char *text)
{
    (void)http_send(http, text, strlen(text));
}

static void expect_at_rest(struct pawl_service of)
{
    const long before_ms = usage_cpu_ms(of.process);
    wait_ms(1000);
    const long used_ms = usage_cpu_ms(of.process) - before_ms;
    if (used_ms > 300)
        fail_msg("%ld ms of processor time in a second in which nothing is asked", used_ms);
}

static bool is_over(void *arg)
{
    struct pollfd end = {.fd = http_fd(arg), .events = POLLRDHUP};
    return poll(&end, 1, 0) > 0;
}

struct endless {
    const struct pawl_service *of;
    bool kept_alive; /* the connection was used before */
};

static void lines_without_end_cost_nothing(void **state)
{
    const struct endless *endless = *state;
    const struct pawl_service of = *endless->of;
    static char line[LINE];
    memset(line, 'a', sizeof(line));
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = http_connect(of.port);
        if (endless->kept_alive) {
            struct http_response first;
            http_request(crowd[i], "GET", "/livez", NULL, NULL, &first);
            http_response_fini(&first);
        }
        send_text(crowd[i], CHUNKED "2;");
        (void)http_send(crowd[i], line, sizeof(line));
    }
    expect_at_rest(of);
    for (int i = 0; i < CROWD; i += 10)
        assert_true(wait_until(is_over, crowd[i], 1000));
}

static bool has_few_connections(void *arg)
{
    const struct http_response *response = call(*(uint16_t *)arg, "GET", "/v1/fleet", NULL, NULL);
    return json_integer_value(json_object_get(response->json, "connections")) <= 2;
}

static void expect_nothing_to_be_kept(const char *const *pieces, int count, bool reset)
{
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = http_connect(service.port);
        for (int piece = 0; piece < count; piece++) {
            send_text(crowd[i], pieces[piece]);
            if (piece + 1 < count && i % 50 == 0)
                wait_ms(2); /* they come apart */
        }
        const struct linger now = {.l_onoff = 1};
        if (reset)
            (void)setsockopt(http_fd(crowd[i]), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        http_close(crowd[i]);
        crowd[i] = NULL;
    }
    assert_true(wait_until(has_few_connections, &service.port, 500));
}

static void client_that_leaves_within_a_request_is_gone_at_once(void **state)
{
    static const char *const half[] = {HALF};
    static const char *const twice[] = {"POST /v1/loc", "ks/free HTTP/1.1\r\nHo"};
    static const char *const body[] = {CHUNKED "20\r\n{\"ttl_ms\""};
    static const char *const behind[] = {GET HALF};
    static const char *const blanks[] = {GET, "\r\n"};
    for (int reset = 0; reset <= 1; reset++) {
        expect_nothing_to_be_kept(half, 1, reset);
        expect_nothing_to_be_kept(twice, 2, reset);
        expect_nothing_to_be_kept(body, 1, reset);
        expect_nothing_to_be_kept(behind, 1, reset);
        expect_nothing_to_be_kept(blanks, 2, reset);
    }
}

/* Sends @start, then one byte of @rest at a time, until there is an answer. */
static void expect_timeout(const char *start, const char *rest)
{
    const uint64_t began_ms = wait_now_ms();
    struct http *http = http_connect(service.port);
    send_text(http, start);
    for (size_t i = 0; i < strlen(rest) && !is_over(http); i++) {
        (void)http_send(http, rest + i, 1);
        wait_ms(100);
    }
    struct http_response response;
    http_receive(http, false, &response);
    const uint64_t took_ms = wait_now_ms() - began_ms;
    EXPECT_PROBLEM(&response, 408, "request-timeout", 0);
    EXPECT_HEADER(&response, "Connection", "close");
    assert_in_range(took_ms, TIMEOUT_MS, LATE_MS);
    http_response_fini(&response);
    http_close(http);
}

static void head_that_drips_is_408(void **state)
{
    expect_timeout("G", "ET /livez HTTP/1.1\r\nHost: localhost\r\nX: aaaaaaaaaaaaaaaaaaaaaaa");
    expect_timeout("GET /livez HTTP/1.1\r\nX", ": aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
}

static void body_that_drips_is_408(void **state)
{
    expect_timeout("POST /v1/locks/free HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60\r\n\r\n",
                   "                                                           ");
    expect_timeout(CHUNKED, "1\r\n \r\n1\r\n \r\n1\r\n \r\n1\r\n \r\n1\r\n \r\n1\r\n \r\n1\r\n ");
    expect_timeout(CHUNKED, "1;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    expect_timeout(CHUNKED "0\r\n", "a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
}

static void client_that_says_nothing_is_let_go(void **state)
{
    struct http *http = http_connect(service.port);
    struct http_response response;
    const uint64_t began_ms = wait_now_ms();
    http_receive(http, false, &response);
    assert_int_equal(response.status, 0);
    assert_in_range(wait_now_ms() - began_ms, TIMEOUT_MS - 100, LATE_MS);
    http_response_fini(&response);
    http_close(http);
}

static void connection_between_requests_outlives_both_times(void **state)
{
    struct http *http = http_connect(service.port);
    for (int i = 0; i < 2; i++) {
        struct http_response response;
        http_request(http, "GET", "/livez", NULL, NULL, &response);
        assert_int_equal(response.status, 200);
        http_response_fini(&response);
        wait_ms(LATE_MS);
    }
    http_close(http);
}

/* Half of the next request came already: its time begins with the answer to the one before. */
static void request_that_waits_is_not_timed(void **state)
{
    static const char body[] = "{\"wait_ms\": 1600}";
    char request[256];
    call_grant(service.port, "busy", "{\"ttl_ms\": 60000}");
    (void)snprintf(request, sizeof(request),
                   "POST /v1/locks/busy HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n"
                   "%sGET /livez HT",
                   strlen(body), body);
    struct http *http = http_connect(service.port);
    send_text(http, request);
    struct http_response response;
    http_receive(http, false, &response);
    assert_int_equal(response.status, 409);
    http_response_fini(&response);
    wait_ms(300);
    send_text(http, "TP/1.1\r\nHost: localhost\r\n\r\n");
    http_receive(http, false, &response);
    assert_int_equal(response.status, 200);
    http_response_fini(&response);
    http_close(http);
}

#define CASE(name) cmocka_unit_test_teardown(name, disperse)
#define ENDLESS(name, ...)                                                                         \
    {                                                                                              \
        name, lines_without_end_cost_nothing, NULL, disperse, &((struct endless){__VA_ARGS__})     \
    }

static const struct CMUnitTest cases[] = {
    ENDLESS("chunk_line_without_end_costs_nothing", &service, false),
    ENDLESS("chunk_line_without_end_on_a_used_connection_costs_nothing", &service, true),
    ENDLESS("chunk_line_without_end_costs_the_ledger_nothing", &ledger, false),
    CASE(client_that_leaves_within_a_request_is_gone_at_once),
    CASE(head_that_drips_is_408),
    CASE(body_that_drips_is_408),
    CASE(client_that_says_nothing_is_let_go),
    CASE(connection_between_requests_outlives_both_times),
    CASE(request_that_waits_is_not_timed),
};

CASE_MAIN(cases, start, fleet_teardown)
