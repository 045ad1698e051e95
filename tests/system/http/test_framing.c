/* The start and the end of a request and its body, byte by byte over a socket. Refusals of bytes
 * are in test_one_answer.c. */
#include "tests/lib/case.h"
#include "tests/system/calls.h"
#include "tests/system/http/untouched.h"

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

static void http_1_0_needs_no_host(void **state)
{
    static const char request[] = "GET /v1/locks/held HTTP/1.0\r\n\r\n";
    struct http *http = http_connect(untouched_port());
    struct http_response response = exchange(http, request, strlen(request));
    EXPECT_JSON(&response, 200, 6);
    http_response_fini(&response);
    http_close(http);
}

static void request_that_is_cut_short_is_not_carried_out(void **state)
{
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
    struct http *http = http_connect(untouched_port());
    struct http_response response = send_chunks(http, 17);
    EXPECT_PROBLEM(&response, 413, "too-large", 0);
    http_response_fini(&response);
    http_close(http);
}

static void body_without_end_is_cut_off(void **state)
{
    struct http *http = http_connect(untouched_port());
    struct http_response response = send_chunks(http, 4096); /* 16 MiB */
    assert_true(response.status == 0 || response.status == 413);
    http_response_fini(&response);
    http_close(http);
}

static void body_announced_too_large_is_refused_before_it_is_sent(void **state)
{
    static const char request[] = POST "Expect: 100-continue\r\nContent-Length: 65537\r\n\r\n";
    struct http *http = http_connect(untouched_port());
    struct http_response response = exchange(http, request, strlen(request));
    EXPECT_PROBLEM(&response, 413, "too-large", 0);
    http_response_fini(&response);
    http_close(http);
}

/* Sends @requests at once, and expects the answers to them in their order. */
static void expect_statuses(const char *requests, const int statuses[], size_t count)
{
    struct http *http = http_connect(untouched_port());
    assert_true(http_send(http, requests, strlen(requests)));
    for (size_t i = 0; i < count; i++) {
        struct http_response response;
        http_receive(http, false, &response);
        assert_int_equal(response.status, statuses[i]);
        http_response_fini(&response);
    }
    http_close(http);
}

static void requests_one_after_the_other_are_all_answered(void **state)
{
    static const int statuses[] = {200, 200, 400, 200};
    expect_statuses(GET "\r\n" GET "\r\n" POST "Content-Length: 1\r\n\r\n{" GET "\r\n", statuses,
                    COUNT(statuses));
}

/* No call waits for what is not there, and the next request is in the same packet. The answer is
 * made at once, without any master. */
#define LIVEZ "GET /livez HTTP/1.1\r\nHost: localhost\r\n"
static void request_that_expects_but_has_no_body_is_answered(void **state)
{
    static const int statuses[] = {200, 200}; /* and a 100, which is passed over */
    expect_statuses(LIVEZ "Expect: 100-continue\r\n\r\n" LIVEZ "\r\n", statuses, COUNT(statuses));
    expect_statuses(LIVEZ "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n" LIVEZ "\r\n",
                    statuses, COUNT(statuses));
}

#define REFUSED(name) cmocka_unit_test_teardown(name, untouched_check)

static const struct CMUnitTest cases[] = {
    REFUSED(http_1_0_needs_no_host),
    REFUSED(request_that_is_cut_short_is_not_carried_out),
    REFUSED(request_that_expects_but_has_no_body_is_answered),
    REFUSED(chunked_body_past_64_kib_is_refused),
    REFUSED(body_without_end_is_cut_off),
    REFUSED(body_announced_too_large_is_refused_before_it_is_sent),
    REFUSED(requests_one_after_the_other_are_all_answered),
};

CASE_MAIN(cases, untouched_start, untouched_stop)
