/* The service over TLS and its refusals, and clients that stall. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/https/https.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    TIMEOUT_MS = 20000,
    NAME_BYTES = 64,
    BODY_MAX = 64 * 1024,
};

static void locks_are_granted_over_tls(void **state)
{
    struct http_response response;
    assert_true(process_wrote(https.pawld, "listening on 127.0.0.1:[0-9]+, TLS$"));
    struct http *holder = https_connect(NULL, NULL);
    struct http *waiter = https_connect(NULL, NULL);
    http_request(holder, "POST", "/v1/locks/orders", NULL, "{\"ttl_ms\": 60000}", &response);
    struct grant grant = grant_of(&response);
    http_response_fini(&response);

    /* One that is parked, and is answered when the lock is released. */
    static const char wait[] = "POST /v1/locks/orders HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Length: 18\r\n\r\n{\"wait_ms\": 60000}";
    assert_true(http_send(waiter, wait, strlen(wait)));
    char headers[256];
    (void)snprintf(headers, sizeof(headers), "Lock-Id: %s\r\n", grant.lock_id);
    http_request(holder, "DELETE", "/v1/locks/orders", headers, NULL, &response);
    assert_int_equal(response.status, 200);
    http_response_fini(&response);
    http_receive(waiter, false, &response);
    assert_true(grant_of(&response).token > grant.token);
    http_response_fini(&response);
    http_close(holder);
    http_close(waiter);
}

static bool nobody_waits(void *arg)
{
    struct http_response response;
    http_request(arg, "GET", "/v1/fleet", NULL, NULL, &response);
    const bool none = http_integer(&response, "waiting") == 0;
    http_response_fini(&response);
    return none;
}

static bool somebody_waits(void *arg)
{
    return !nobody_waits(arg);
}

/* With a goodbye, and without. */
static void waiter_that_leaves_is_out_of_the_line(void **state)
{
    static const char wait[] = "POST /v1/locks/orders HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Length: 18\r\n\r\n{\"wait_ms\": 60000}";
    struct http_response response;
    struct http *holder = https_connect(NULL, NULL);
    http_request(holder, "POST", "/v1/locks/orders", NULL, "{\"ttl_ms\": 60000}", &response);
    assert_int_equal(response.status, 201);
    http_response_fini(&response);
    for (int resets = 0; resets <= 1; resets++) {
        struct http *waiter = https_connect(NULL, NULL);
        assert_true(http_send(waiter, wait, strlen(wait)));
        assert_true(wait_until(somebody_waits, holder, TIMEOUT_MS));
        const struct linger now = {.l_onoff = 1};
        if (resets)
            (void)setsockopt(http_fd(waiter), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        http_close(waiter);
        assert_true(wait_until(nobody_waits, holder, TIMEOUT_MS));
    }
    http_close(holder);
}

/* A body of one record is 16 KiB at most: these come in several. */
static void bodies_of_any_size_are_read(void **state)
{
    static const size_t sizes[] = {1000, 16 * 1024 - 10, 16 * 1024 + 10, BODY_MAX, BODY_MAX + 1};
    static char body[BODY_MAX + 2];
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct http_response response;
        struct http *http = https_connect(NULL, NULL);
        memset(body, ' ', sizes[i]);
        memcpy(body, "{}", 2);
        body[sizes[i]] = '\0';
        http_request(http, "POST", "/v1/locks/a", NULL, body, &response);
        assert_int_equal(response.status, sizes[i] > BODY_MAX ? 413 : i == 0 ? 201 : 409);
        http_response_fini(&response);
        http_close(http);
    }
}

/* One record with many requests, more than the buffer of a connection: what GnuTLS has left is not
 * forgotten. */
static void requests_of_one_record_are_all_answered(void **state)
{
    enum {
        REQUESTS = 300
    };
    static const char one[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static char all[REQUESTS * sizeof(one) + 1];
    size_t len = 0;
    for (int i = 0; i < REQUESTS; i++)
        len += (size_t)snprintf(all + len, sizeof(all) - len, "%s", one);
    struct http *http = https_connect(NULL, NULL);
    assert_true(http_send(http, all, len));
    for (int i = 0; i < REQUESTS; i++) {
        struct http_response response;
        http_receive(http, false, &response);
        assert_int_equal(response.status, 200);
        http_response_fini(&response);
    }
    http_close(http);
}

/* Records that were there before the service looked: the kernel tells of them once. */
static void records_that_come_together_are_all_answered(void **state)
{
    enum {
        RECORDS = 100
    };
    static const char one[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    https_serve((const char *const[]){"--workers", "1", NULL});
    struct http *http = https_connect(NULL, NULL);
    for (int records = 1; records <= RECORDS; records += 11) {
        process_signal(https.pawld, SIGSTOP);
        for (int i = 0; i < records; i++)
            assert_true(http_send(http, one, strlen(one)));
        process_signal(https.pawld, SIGCONT);
        for (int i = 0; i < records; i++) {
            struct http_response response;
            http_receive(http, false, &response);
            assert_int_equal(response.status, 200);
            http_response_fini(&response);
        }
    }
    http_close(http);
}

/* The last answer of a connection, and the goodbye behind it. */
static void connection_ends_with_a_goodbye(void **state)
{
    static const char last[] =
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    static const char bad[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n";
    char bytes[4096];
    for (int i = 0; i < 2; i++) {
        struct http *http = https_connect(NULL, NULL);
        const char *request = i == 0 ? last : bad;
        assert_true(http_send(http, request, strlen(request)));
        ssize_t got = 1;
        size_t len = 0;
        while (got > 0) {
            got = http_receive_bytes(http, bytes + len, sizeof(bytes) - 1 - len);
            len += got > 0 ? (size_t)got : 0;
        }
        bytes[len] = '\0';
        assert_int_equal(strncmp(bytes, i == 0 ? "HTTP/1.1 200" : "HTTP/1.1 400", 12), 0);
        assert_int_equal(got, 0); /* and not a connection that was cut */
        http_close(http);
    }
}

static void plain_http_is_told_to_speak_tls(void **state)
{
    const struct http_response *response = call(https.port, "POST", "/v1/locks/a", NULL, "{}");
    EXPECT_PROBLEM(response, 400, "invalid", 0);
    assert_non_null(strstr(http_string(response, "detail"), "https://"));
    assert_int_equal(https_ask(https_connect(NULL, NULL)), 200);
}

static void one_port_can_stay_plain(void **state)
{
    char plain[32], said[NAME_BYTES];
    (void)snprintf(plain, sizeof(plain), "http://127.0.0.1:0");
    https_serve((const char *const[]){"--listen", plain, NULL});
    process_wait_line(https.pawld, "listening on 127.0.0.1:([0-9]+)$", TIMEOUT_MS, said,
                      sizeof(said));
    const uint16_t other = (uint16_t)strtoul(said, NULL, 10);
    assert_int_equal(call(other, "GET", "/livez", NULL, NULL)->status, 200);
    assert_int_equal(https_ask(https_connect(NULL, NULL)), 200);
}

static void old_protocols_are_refused(void **state)
{
    assert_int_equal(https_ask(https_connect(NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.3")), 200);
    assert_int_equal(https_ask(https_connect(NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.2")), 200);
    assert_int_equal(https_ask(https_connect(NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.1")), 0);
    assert_int_equal(https_ask(https_connect(NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.0")), 0);
    assert_int_equal(https_ask(https_connect(NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.2:-KX-ALL:+RSA")),
                     0);
    assert_int_equal(https_ask(https_connect(NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.2:-CIPHER-ALL:"
                                                   "+AES-128-CBC")),
                     0);
}

static void priorities_can_be_narrowed_and_not_lowered(void **state)
{
    https_serve((const char *const[]){"--tls-priorities", "NORMAL:-VERS-ALL:+VERS-TLS1.3", NULL});
    assert_int_equal(https_ask(https_connect(NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.2")), 0);
    assert_int_equal(https_ask(https_connect(NULL, NULL)), 200);
    https_stop();
    https_expect_no_start((const char *const[]){"--tls-priorities", "NORMAL:+VERS-TLS1.1", NULL}, 1,
                          "TLS before 1.2");
    https_expect_no_start((const char *const[]){"--tls-priorities", "NONSENSE", NULL}, 1,
                          "NONSENSE");
}

static bool has_ended(void *arg)
{
    struct pollfd end = {.fd = http_fd(arg), .events = POLLRDHUP};
    return poll(&end, 1, 0) > 0;
}

/* One that says nothing, one whose hello stops half-way, and one that sends a byte at a time. */
static void handshake_that_stalls_is_ended(void **state)
{
    static const unsigned char hello[] = {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3};
    https_serve((const char *const[]){"--head-timeout-ms", "800", NULL});
    const uint64_t began_ms = wait_now_ms();
    struct http *stalled[3];
    for (int i = 0; i < 3; i++)
        stalled[i] = http_connect(https.port);
    assert_true(http_send(stalled[1], hello, sizeof(hello)));
    for (size_t i = 0; i < sizeof(hello) && !has_ended(stalled[2]); i++) {
        (void)http_send(stalled[2], hello + i, 1);
        wait_ms(100);
    }
    for (int i = 0; i < 3; i++) {
        assert_true(wait_until(has_ended, stalled[i], TIMEOUT_MS));
        http_close(stalled[i]);
    }
    assert_true(wait_now_ms() - began_ms >= 700);
    assert_int_equal(https_ask(https_connect(NULL, NULL)), 200);
}

/* Clients that stall in a handshake make room for others. */
static void handshakes_that_stall_are_ended_for_others(void **state)
{
    enum {
        ROOM = 32,
        STALLED = 48
    };
    struct http *stalled[STALLED];
    https_serve((const char *const[]){"--max-connections", "32", "--workers", "1", NULL});
    for (int i = 0; i < STALLED; i++) {
        stalled[i] = http_connect(https.port);
        (void)http_send(stalled[i], "\x16\x03\x01", 3);
    }
    const uint64_t began_ms = wait_now_ms();
    assert_int_equal(https_ask(https_connect(NULL, NULL)), 200);
    assert_true(wait_now_ms() - began_ms < 9000); /* before their time is up */
    int ended = 0;
    for (int i = 0; i < STALLED; i++) {
        ended += has_ended(stalled[i]);
        http_close(stalled[i]);
    }
    assert_in_range(ended, STALLED - ROOM + 1, STALLED);
}

static const struct CMUnitTest cases[] = {
    HTTPS_SERVED(locks_are_granted_over_tls),
    HTTPS_SERVED(waiter_that_leaves_is_out_of_the_line),
    HTTPS_SERVED(bodies_of_any_size_are_read),
    HTTPS_SERVED(requests_of_one_record_are_all_answered),
    HTTPS_CASE(records_that_come_together_are_all_answered),
    HTTPS_SERVED(connection_ends_with_a_goodbye),
    HTTPS_SERVED(plain_http_is_told_to_speak_tls),
    HTTPS_CASE(one_port_can_stay_plain),
    HTTPS_SERVED(old_protocols_are_refused),
    HTTPS_CASE(priorities_can_be_narrowed_and_not_lowered),
    HTTPS_CASE(handshake_that_stalls_is_ended),
    HTTPS_CASE(handshakes_that_stall_are_ended_for_others),
};

CASE_MAIN(cases, https_make_certificates, https_remove_certificates)
