/* Requests whose very frame is wrong, byte by byte over a socket: they are refused, or not answered
 * at all, and what follows them on the connection is not taken for a request. */
#include "tests/lib/case.h"
#include "tests/system/calls.h"
#include "tests/system/http/untouched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define POST         "POST /v1/locks/free HTTP/1.1\r\nHost: localhost\r\n"
#define GET          "GET /v1/locks/held HTTP/1.1\r\nHost: localhost\r\n"

/* Sends the bytes and no more, and reads one answer. */
static struct http_response exchange(struct http *http, const char *bytes, size_t len)
{
    struct http_response response;
    (void)http_send(http, bytes, len);
    http_receive(http, false, &response);
    return response;
}

static bool is_closed(struct http *http)
{
    struct http_response response;
    http_receive(http, false, &response);
    bool closed = response.status == 0;
    http_response_fini(&response);
    return closed;
}

/* Refused with a problem, and the connection ends: where the next request begins is not known. */
static void expect_refused_bytes(const char *request, size_t len)
{
    struct http *http = http_connect(untouched_port());
    struct http_response response = exchange(http, request, len);
    EXPECT_PROBLEM(&response, 400, "invalid", 0);
    EXPECT_HEADER(&response, "Connection", "close");
    http_response_fini(&response);
    assert_true(is_closed(http));
    http_close(http);
}

static void expect_refused(const char *request)
{
    expect_refused_bytes(request, strlen(request));
}

/* Refused in whatever way libmicrohttpd does it: a status of 400 or more, or no answer. */
static void expect_turned_away(const char *request, size_t len)
{
    struct http *http = http_connect(untouched_port());
    (void)http_send(http, request, len);
    struct http_response response;
    http_receive(http, false, &response);
    if (response.status != 0 && response.status < 400)
        fail_msg("answered with %d: %.60s", response.status, request);
    http_response_fini(&response);
    http_close(http);
}

static void length_beside_a_coding_is_refused(void **state)
{
    (void)state;
    expect_refused(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    expect_refused(POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n");
}

static void coding_that_is_unknown_is_refused(void **state)
{
    (void)state;
    expect_refused(POST "Transfer-Encoding: gzip\r\n\r\n");
    expect_refused(POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n");
    expect_refused(POST "Transfer-Encoding: identity\r\n\r\n");
    expect_refused(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n");
    expect_refused("POST /v1/locks/free HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
}

static void length_that_is_no_number_is_turned_away(void **state)
{
    (void)state;
    static const char *const lengths[] = {
        "-1", "+2", "0x2", "2 2", "2,2", "two", "99999999999999999999999999"};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        char request[256];
        int len =
            snprintf(request, sizeof(request), POST "Content-Length: %s\r\n\r\n{}", lengths[i]);
        expect_turned_away(request, (size_t)len);
    }
    expect_refused(POST "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}");
}

static void host_that_is_missing_or_repeated_is_refused(void **state)
{
    (void)state;
    expect_refused("POST /v1/locks/free HTTP/1.1\r\n\r\n");
    expect_refused("GET /v1/locks/held HTTP/1.1\r\n\r\n");
    expect_refused(GET "Host: other\r\n\r\n");
}

static void http_1_0_needs_no_host(void **state)
{
    (void)state;
    static const char request[] = "GET /v1/locks/held HTTP/1.0\r\n\r\n";
    struct http *http = http_connect(untouched_port());
    struct http_response response = exchange(http, request, strlen(request));
    EXPECT_JSON(&response, 200, 6);
    http_response_fini(&response);
    http_close(http);
}

static void request_line_that_is_none_is_turned_away(void **state)
{
    (void)state;
    static const char *const requests[] = {
        "POST\r\n\r\n",
        "POST /v1/locks/free\r\n\r\n",
        "POST /v1/locks/free HTTP/2.0\r\nHost: localhost\r\n\r\n",
        "POST /v1/locks/free HTTP/1.1 \r\nHost: localhost\r\n\r\n",
        "POST /v1/locks/fr ee HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "POST v1/locks/free HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "POST * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "CONNECT test:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    };
    for (size_t i = 0; i < COUNT(requests); i++)
        expect_turned_away(requests[i], strlen(requests[i]));
}

#define REFUSE_BYTES(text) expect_refused_bytes(text, sizeof(text) - 1)

static void bytes_of_zero_are_refused(void **state)
{
    (void)state;
    REFUSE_BYTES("POST /v1/locks/free\0x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    REFUSE_BYTES("POST /v1/locks/fr\0ee?a=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    REFUSE_BYTES("POST\0x /v1/locks/free HTTP/1.1\r\nHost: localhost\r\n\r\n");
    REFUSE_BYTES("POST /v1/locks/free HTTP/1.1\r\nHost: te\0st\r\n\r\n");
    REFUSE_BYTES(POST "X: a\0b\r\nY: c\r\n\r\n");
    REFUSE_BYTES(POST "X: a\0\r\nY: c\r\n\r\n");
    REFUSE_BYTES(POST "Y: c\r\nX: a\0b\r\n\r\n");
    REFUSE_BYTES(POST "Content-Length: 2\0003\r\n\r\n{}");

    static const char in_body[] = POST "Content-Length: 3\r\n\r\n{}\0";
    expect_turned_away(in_body, sizeof(in_body) - 1);
}

/* What is in the second line would else be lost without a word: a precondition, a length. */
static void header_line_that_goes_on_is_refused(void **state)
{
    (void)state;
    expect_refused(POST "Content-Length:\r\n 2\r\n\r\n{}");
    expect_refused(POST "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n");
    expect_refused(POST "If-Match: \"9\r\n\t9\"\r\n\r\n");
    expect_refused(POST "X: 1\r\n 2\r\n\r\n");
    expect_refused(POST "X: 1\r\n  \r\nY: 2\r\n\r\n");
}

static void header_line_without_a_name_is_refused(void **state)
{
    (void)state;
    expect_refused(POST ": x\r\n\r\n");
    expect_refused(GET ": x\r\n" GET "\r\n");
    expect_refused(POST "Content-Length: 14\r\n: x\r\n\r\n{\"ttl_ms\":100}");
}

static void header_name_with_white_space_is_refused(void **state)
{
    (void)state;
    expect_refused(POST "Content-Length : 2\r\n\r\n{}");
    expect_refused(POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n");
}

static void request_that_is_cut_short_is_not_carried_out(void **state)
{
    (void)state;
    static const char *const requests[] = {
        "\r\n\r\n",
        "\x16\x03\x01\x02",
        "POST /v1/locks/free HTT",
        POST,
        POST "Content-Length: 3\r\n\r\n{}",
        POST "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
        POST "Transfer-Encoding: chunked\r\n\r\n2\r\n{",
    };
    for (size_t i = 0; i < COUNT(requests); i++) {
        struct http *http = http_connect(untouched_port());
        assert_true(http_send(http, requests[i], strlen(requests[i])));
        http_close(http);
    }
}

static void chunk_that_is_malformed_is_turned_away(void **state)
{
    (void)state;
    static const char *const requests[] = {
        POST "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        POST "Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n",
        POST "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        POST "Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
    };
    for (size_t i = 0; i < COUNT(requests); i++)
        expect_turned_away(requests[i], strlen(requests[i]));
}

static void chunked_body_is_read(void **state)
{
    (void)state;
    static const char request[] = POST "Transfer-Encoding: chunked\r\n\r\n"
                                       "5\r\n{\"ttl\r\n7;a=b\r\n_ms\": 9\r\n2\r\n9}\r\n0\r\n\r\n";
    struct http *http = http_connect(untouched_port());
    for (int i = 0; i < 2; i++) { /* the second over the same connection */
        struct http_response response = exchange(http, request, strlen(request));
        EXPECT_PROBLEM(&response, 400, "invalid", 0);
        assert_non_null(strstr(http_string(&response, "detail"), "ttl_ms is 99"));
        http_response_fini(&response);
    }
    http_close(http);
}

/* Sends a body of spaces in chunks of 4 KiB, @chunks of them, as far as they are taken. */
static struct http_response send_chunks(struct http *http, int chunks)
{
    static const char head[] = POST "Transfer-Encoding: chunked\r\n\r\n";
    static const char length[] = "1000\r\n", end[] = "\r\n", last[] = "0\r\n\r\n";
    char spaces[0x1000];
    memset(spaces, ' ', sizeof(spaces));
    bool taken = http_send(http, head, strlen(head));
    for (int i = 0; i < chunks && taken; i++)
        taken = http_send(http, length, strlen(length)) &&
                http_send(http, spaces, sizeof(spaces)) && http_send(http, end, strlen(end));
    return exchange(http, last, strlen(last));
}

static void chunked_body_past_64_kib_is_refused(void **state)
{
    (void)state;
    struct http *http = http_connect(untouched_port());
    struct http_response response = send_chunks(http, 17);
    EXPECT_PROBLEM(&response, 413, "too-large", 0);
    http_response_fini(&response);
    http_close(http);
}

static void body_without_end_is_cut_off(void **state)
{
    (void)state;
    struct http *http = http_connect(untouched_port());
    struct http_response response = send_chunks(http, 4096); /* 16 MiB */
    assert_true(response.status == 0 || response.status == 413);
    http_response_fini(&response);
    http_close(http);
}

static void body_announced_too_large_is_refused_before_it_is_sent(void **state)
{
    (void)state;
    static const char request[] = POST "Expect: 100-continue\r\nContent-Length: 65537\r\n\r\n";
    struct http *http = http_connect(untouched_port());
    struct http_response response = exchange(http, request, strlen(request));
    EXPECT_PROBLEM(&response, 413, "too-large", 0);
    http_response_fini(&response);
    http_close(http);
}

static void requests_one_after_the_other_are_all_answered(void **state)
{
    (void)state;
    static const char requests[] =
        GET "\r\n" GET "\r\n" POST "Content-Length: 1\r\n\r\n{" GET "\r\n";
    static const int statuses[] = {200, 200, 400, 200};
    struct http *http = http_connect(untouched_port());
    assert_true(http_send(http, requests, strlen(requests)));
    for (size_t i = 0; i < COUNT(statuses); i++) {
        struct http_response response;
        http_receive(http, false, &response);
        assert_int_equal(response.status, statuses[i]);
        http_response_fini(&response);
    }
    http_close(http);
}

/* Nobody waits for what is not there, and the next request is in the same packet. The answer is
 * made at once, without any master. */
#define LIVEZ "GET /livez HTTP/1.1\r\nHost: localhost\r\n"
static void request_that_expects_but_has_no_body_is_answered(void **state)
{
    (void)state;
    static const char *const requests[] = {
        LIVEZ "Expect: 100-continue\r\n\r\n" LIVEZ "\r\n",
        LIVEZ "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n" LIVEZ "\r\n",
    };
    static const int statuses[] = {200, 200}; /* and a 100, which is passed over */
    for (size_t k = 0; k < COUNT(requests); k++) {
        struct http *http = http_connect(untouched_port());
        assert_true(http_send(http, requests[k], strlen(requests[k])));
        for (size_t i = 0; i < COUNT(statuses); i++) {
            struct http_response response;
            http_receive(http, false, &response);
            assert_int_equal(response.status, statuses[i]);
            http_response_fini(&response);
        }
        http_close(http);
    }
}

#define REFUSED(name) cmocka_unit_test_teardown(name, untouched_check)

static const struct CMUnitTest cases[] = {
    REFUSED(length_beside_a_coding_is_refused),
    REFUSED(coding_that_is_unknown_is_refused),
    REFUSED(length_that_is_no_number_is_turned_away),
    REFUSED(host_that_is_missing_or_repeated_is_refused),
    REFUSED(http_1_0_needs_no_host),
    REFUSED(request_line_that_is_none_is_turned_away),
    REFUSED(bytes_of_zero_are_refused),
    REFUSED(header_line_that_goes_on_is_refused),
    REFUSED(header_line_without_a_name_is_refused),
    REFUSED(header_name_with_white_space_is_refused),
    REFUSED(request_that_is_cut_short_is_not_carried_out),
    REFUSED(chunk_that_is_malformed_is_turned_away),
    REFUSED(chunked_body_is_read),
    REFUSED(request_that_expects_but_has_no_body_is_answered),
    REFUSED(chunked_body_past_64_kib_is_refused),
    REFUSED(body_without_end_is_cut_off),
    REFUSED(body_announced_too_large_is_refused_before_it_is_sent),
    REFUSED(requests_one_after_the_other_are_all_answered),
};

CASE_MAIN(cases, untouched_start, untouched_stop)
