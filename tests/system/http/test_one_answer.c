/* Whatever bytes come, there is one answer: one head, and a problem in JSON. Each request is sent
 * on a new connection, behind one that was answered, and together with one before it. */
#include "tests/lib/answer.h"
#include "tests/lib/case.h"
#include "tests/system/calls.h"
#include "tests/system/http/untouched.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define GET          "GET /v1/locks/held HTTP/1.1\r\nHost: localhost\r\n"
#define POST         "POST /v1/locks/free HTTP/1.1\r\nHost: localhost\r\n"
#define CHUNKED      POST "Transfer-Encoding: chunked\r\n\r\n"
#define CLOSE        "Host: localhost\r\nConnection: close\r\n\r\n"
#define BYTES(text)  text, sizeof(text) - 1

enum {
    REQUEST_MAX = 64 * 1024,
    ANSWER_MAX = 16 * 1024,
    END_S = 4, /* a connection that was refused ends by then */
};

struct text {
    char bytes[REQUEST_MAX];
    size_t len;
};

static void put(struct text *text, const char *bytes, size_t len)
{
    assert_true(text->len + len <= sizeof(text->bytes));
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
}

static void put_times(struct text *text, const char *piece, size_t times)
{
    for (size_t i = 0; i < times; i++)
        put(text, piece, strlen(piece));
}

/* Reads to the end of the connection. */
static size_t read_all(struct http *http, const char *name, char answer[static ANSWER_MAX])
{
    const struct timeval patience = {.tv_sec = END_S};
    (void)setsockopt(http_fd(http), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    size_t len = 0;
    ssize_t got = 1;
    while (got > 0 && len < ANSWER_MAX - 1) {
        got = http_receive_bytes(http, answer + len, ANSWER_MAX - 1 - len);
        len += got > 0 ? (size_t)got : 0;
    }
    answer[len] = '\0';
    if (got < 0 && errno == EAGAIN)
        fail_msg("%s: the connection does not end; so far: \"%s\"", name, answer);
    return len;
}

static unsigned count_heads(const char *answer)
{
    unsigned heads = 0;
    for (const char *at = answer; (at = strstr(at, "HTTP/1.")) != NULL; at++)
        heads += strspn(at + 8, " 0123456789") > 3; /* with a status */
    return heads;
}

/* One head, one body of the announced length, a problem of @status (0: any from 400 on). If the
 * next request would begin is not known, so that the connection ends. */
static void check_answer(const char *name, const char *answer, size_t len, int status)
{
    if (len == 0)
        fail_msg("%s: no answer", name);
    if (count_heads(answer) != 1)
        fail_msg("%s: %u heads in \"%s\"", name, count_heads(answer), answer);
    struct answer whole;
    if (answer_read(answer, len, &whole) != ANSWER_WHOLE || whole.len != len)
        fail_msg("%s: no whole body in \"%s\"", name, answer);
    json_t *json = json_loadb(whole.body, whole.body_len, 0, NULL);
    const char *type = NULL, *title = NULL, *detail = NULL;
    int told = 0;
    if (json_unpack(json, "{s:s, s:s, s:i, s:s !}", "type", &type, "title", &title, "status", &told,
                    "detail", &detail) != 0 ||
        told != whole.status || (status == 400 && strcmp(type, "urn:pawl:invalid") != 0))
        fail_msg("%s: no problem in \"%s\"", name, answer);
    json_decref(json);
    if (status > 0 ? whole.status != status : whole.status < 400)
        fail_msg("%s: answered with %d", name, whole.status);
    if (strstr(answer, "\r\nConnection: close\r\n") == NULL ||
        strstr(answer, "\r\nCache-Control: no-store\r\n") == NULL)
        fail_msg("%s: a header is missing in \"%s\"", name, answer);
}

/* @before: a request that is answered with 200 first; "": none. */
static void expect_after(const char *name, const char *before, const struct text *request,
                         int status)
{
    char answer[ANSWER_MAX];
    struct http *http = http_connect(untouched_port());
    if (before[0] != '\0') {
        struct http_response first;
        (void)http_send(http, before, strlen(before));
        http_receive(http, false, &first);
        assert_int_equal(first.status, 200);
        http_response_fini(&first);
    }
    (void)http_send(http, request->bytes, request->len);
    const size_t len = read_all(http, name, answer);
    check_answer(name, answer, len, status);
    http_close(http);
}

/* Both answers, of which the first is 200. */
static void expect_behind(const char *name, const struct text *request, int status)
{
    static struct text all;
    static char answers[ANSWER_MAX];
    struct http *http = http_connect(untouched_port());
    all.len = 0;
    put(&all, BYTES(GET "\r\n"));
    put(&all, request->bytes, request->len);
    (void)http_send(http, all.bytes, all.len);
    size_t len = read_all(http, name, answers);
    const char *second = len > 0 ? strstr(answers + 1, "HTTP/1.1 4") : NULL;
    if (strncmp(answers, "HTTP/1.1 200 ", 13) != 0 || second == NULL)
        fail_msg("%s: pipelined: \"%s\"", name, answers);
    check_answer(name, second, len - (size_t)(second - answers), status);
    http_close(http);
}

static void expect_one_answer(const char *name, const struct text *request, int status)
{
    expect_after(name, "", request, status);
    expect_after(name, GET "\r\n", request, status);
    expect_behind(name, request, status);
}

struct plain {
    const char *name;
    const char *bytes;
    size_t len;
    int status;
};

static const struct plain plains[] = {
    {"NUL first", BYTES("\0" GET "\r\n"), 400},
    {"only NULs", BYTES("\0\0\0\0\r\n\r\n"), 400},
    {"control character first", BYTES("\x16\x03\x01\x02\x00\r\n"), 400},
    {"byte beyond ASCII first", BYTES("\xff\xfe" GET "\r\n"), 400},
    {"NUL after the last value", BYTES(GET "X: 1\0\r\n\r\n"), 400},
    {"NULs after the last value", BYTES(GET "X: 1\0\0\0\0\r\n\r\n"), 400},
    {"NUL before a colon", BYTES(GET "X\0: 1\r\n\r\n"), 400},
    {"NUL in the target", BYTES("GET /v1/lo\0cks HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400},
    {"NUL in the version", BYTES("GET / HTTP/1.1\0\r\nHost: localhost\r\n\r\n"), 400},
    {"NUL in the empty line", BYTES(GET "\0\r\n"), 400},
    {"NUL behind the target", BYTES("POST /v1/locks/free\0x HTTP/1.1\r\nHost: localhost\r\n\r\n"),
     400},
    {"NUL before parameters", BYTES("GET /v1/locks/fr\0ee?a=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
     400},
    {"NUL in the method", BYTES("POST\0x /v1/locks/free HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400},
    {"NUL in the host", BYTES("POST /v1/locks/free HTTP/1.1\r\nHost: te\0st\r\n\r\n"), 400},
    {"NUL in a value", BYTES(POST "X: a\0b\r\nY: c\r\n\r\n"), 400},
    {"NUL at the end of a value", BYTES(POST "X: a\0\r\nY: c\r\n\r\n"), 400},
    {"NUL in the last value", BYTES(POST "Y: c\r\nX: a\0b\r\n\r\n"), 400},
    {"NUL in a length", BYTES(POST "Content-Length: 2\0003\r\n\r\n{}"), 400},
    {"NUL in a body", BYTES(POST "Content-Length: 3\r\nConnection: close\r\n\r\n{}\0"), 400},
    {"escape in a value", BYTES(GET "X: \x1b[2J\r\n\r\n"), 400},
    {"bare CR for every line end", BYTES("GET / HTTP/1.1\rHost: localhost\r\r"), 400},
    {"bare CR between headers", BYTES(GET "X: 1\rY: 2\r\n\r\n"), 400},
    {"bare CR in a value", BYTES(GET "X: 1\r2\r\n\r\n"), 400},
    {"two CRs", BYTES(GET "X: 1\r\r\n\r\n"), 400},
    {"bare CRs first", BYTES("\r\r\r\r" GET "\r\n"), 400},
    {"empty lines without end", BYTES("\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n"), 400},
    {"no target", BYTES("POST\r\n\r\n"), 400},
    {"no version", BYTES("POST /v1/locks/free\r\n\r\n"), 400},
    {"no method", BYTES(" /v1/locks/free HTTP/1.1\r\n\r\n"), 400},
    {"space in the target", BYTES("POST /v1/locks/fr ee HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400},
    {"space behind the version", BYTES("POST / HTTP/1.1 \r\nHost: localhost\r\n\r\n"), 400},
    {"target without a slash", BYTES("POST v1/locks/free HTTP/1.1\r\n" CLOSE), 400},
    {"target of all", BYTES("POST * HTTP/1.1\r\n" CLOSE), 400},
    {"target of a tunnel", BYTES("CONNECT test:80 HTTP/1.1\r\n" CLOSE), 400},
    {"two spaces", BYTES("GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400},
    {"tab apart", BYTES("GET\t/ HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400},
    {"HTTP/2.0", BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 400},
    {"HTTP/1.2", BYTES("GET / HTTP/1.2\r\nHost: localhost\r\n\r\n"), 400},
    {"HTTP/0.9", BYTES("GET / HTTP/0.9\r\n\r\n"), 400},
    {"http/1.1", BYTES("GET / http/1.1\r\nHost: localhost\r\n\r\n"), 400},
    {"long version", BYTES("GET / HTTP/1.11111111111111111111111111111111\r\n\r\n"), 400},
    {"long method", BYTES("GETGETGETGETGETGETGETGETGETGET / HTTP/1.1\r\n\r\n"), 400},
    {"no Host", BYTES("GET / HTTP/1.1\r\n\r\n"), 400},
    {"two Hosts", BYTES(GET "Host: other\r\n\r\n"), 400},
    {"line that goes on", BYTES(GET "X: 1\r\n 2\r\n\r\n"), 400},
    {"length that goes on", BYTES(POST "Content-Length:\r\n 2\r\n\r\n{}"), 400},
    {"coding that goes on", BYTES(POST "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"), 400},
    {"condition that goes on", BYTES(POST "If-Match: \"9\r\n\t9\"\r\n\r\n"), 400},
    {"line that goes on with blanks", BYTES(POST "X: 1\r\n  \r\nY: 2\r\n\r\n"), 400},
    {"line without a name", BYTES(GET ": 1\r\n\r\n"), 400},
    {"line without a name before a request", BYTES(GET ": x\r\n" GET "\r\n"), 400},
    {"line without a name before a body",
     BYTES(POST "Content-Length: 14\r\n: x\r\n\r\n{\"ttl_ms\":100}"), 400},
    {"line without a colon", BYTES(GET "X\r\n\r\n"), 400},
    {"space before a colon", BYTES(GET "X : 1\r\n\r\n"), 400},
    {"space before the colon of a length", BYTES(POST "Content-Length : 2\r\n\r\n{}"), 400},
    {"space before the colon of a coding",
     BYTES(POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"), 400},
    {"name that is no token", BYTES(GET "X(: 1\r\n\r\n"), 400},
    {"length that is no number", BYTES(POST "Content-Length: x\r\n\r\n"), 400},
    {"negative length", BYTES(POST "Content-Length: -1\r\n\r\n"), 400},
    {"length with a plus", BYTES(POST "Content-Length: +2\r\n\r\n{}"), 400},
    {"length in hex", BYTES(POST "Content-Length: 0x2\r\n\r\n{}"), 400},
    {"length twice", BYTES(POST "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"), 400},
    {"empty length", BYTES(POST "Content-Length:\r\n\r\n"), 400},
    {"list of lengths", BYTES(POST "Content-Length: 2,2\r\n\r\n{}"), 400},
    {"length past 64 bits", BYTES(POST "Content-Length: 99999999999999999999\r\n\r\n"), 413},
    {"length past all", BYTES(POST "Content-Length: 9999999999999999999999999999\r\n\r\n"), 413},
    {"length in two parts", BYTES(POST "Content-Length: 2 2\r\n\r\n{}"), 400},
    {"length and coding", BYTES(POST "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"),
     400},
    {"length before a coding",
     BYTES(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400},
    {"length behind a coding",
     BYTES(POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"), 400},
    {"coding in two parts", BYTES(POST "Transfer-Encoding: chun\tked\r\n\r\n0\r\n\r\n"), 400},
    {"coding that is unknown", BYTES(POST "Transfer-Encoding: gzip\r\n\r\n"), 400},
    {"coding before the known one", BYTES(POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
     400},
    {"coding of none", BYTES(POST "Transfer-Encoding: identity\r\n\r\n"), 400},
    {"coding twice", BYTES(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
     400},
    {"coding in HTTP/1.0",
     BYTES("POST /v1/locks/free HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400},
    {"long coding", BYTES(POST "Transfer-Encoding: chunkedchunkedchunkedchunked\r\n\r\n"), 400},
    {"chunk without a length", BYTES(CHUNKED "\r\n{}\r\n0\r\n\r\n"), 400},
    {"chunk of no number", BYTES(CHUNKED "zz\r\n{}\r\n0\r\n\r\n"), 400},
    {"negative chunk", BYTES(CHUNKED "-2\r\n{}\r\n0\r\n\r\n"), 400},
    {"chunk past 64 bits", BYTES(CHUNKED "ffffffffffffffffff\r\n{}\r\n0\r\n\r\n"), 413},
    {"chunk longer than said", BYTES(CHUNKED "1\r\n{}\r\n0\r\n\r\n"), 400},
    {"chunk line of a bare LF", BYTES(CHUNKED "2\n{}\r\n0\r\n\r\n"), 400},
    {"chunk line of a bare CR", BYTES(CHUNKED "2\r{}\r\n0\r\n\r\n"), 400},
    {"NUL in a chunk line", BYTES(CHUNKED "2;\0\r\n{}\r\n0\r\n\r\n"), 400},
    {"trailer that is none", BYTES(CHUNKED "2\r\n{}\r\n0\r\n: x\r\n\r\n"), 400},
};

static void bytes_that_are_no_request_get_one_problem(void **state)
{
    static struct text request;
    for (size_t i = 0; i < COUNT(plains); i++) {
        request.len = 0;
        put(&request, plains[i].bytes, plains[i].len);
        expect_one_answer(plains[i].name, &request, plains[i].status);
    }
}

struct pile {
    const char *name;
    const char *before, *piece;
    size_t times;
    const char *after;
    int status;
};

static const struct pile piles[] = {
    {"85 parameters", "GET /v1/locks?", "a&", 85, " HTTP/1.1\r\nHost: localhost\r\n\r\n", 431},
    {"5,000 parameters", "GET /v1/locks?", "a&", 5000, " HTTP/1.1\r\nHost: localhost\r\n\r\n", 431},
    {"2,000 empty ones", "GET /v1/locks?", "&", 2000, " HTTP/1.1\r\nHost: localhost\r\n\r\n", 431},
    {"85 headers", GET, "a: b\r\n", 85, "\r\n", 431},
    {"85 headers without values", GET, "a:\r\n", 85, "\r\n", 431},
    {"1,000 headers", GET, "a: b\r\n", 1000, "\r\n", 431},
    {"90 cookies", GET "Cookie: ", "a=b; ", 90, "\r\n\r\n", 431},
    {"a large cookie", GET "Cookie: a=", "b", 3000, "\r\n\r\n", 431},
    {"a long target", "GET /", "a", 9000, " HTTP/1.1\r\nHost: localhost\r\n\r\n", 431},
    {"a long header", GET "X: ", "a", 9000, "\r\n\r\n", 431},
    {"a long name", GET, "a", 9000, ": b\r\n\r\n", 431},
    {"a long method", "", "A", 9000, " / HTTP/1.1\r\n\r\n", 400},
    {"a long chunk line", CHUNKED "2;", "a", 9000, "\r\n{}\r\n0\r\n\r\n", 400},
    {"a long quoted extension", CHUNKED "2;a=\"", "\t", 9000, "\"\r\n{}\r\n0\r\n\r\n", 400},
    {"spaces behind a chunk's length", CHUNKED "2", " ", 9000, "\r\n{}\r\n0\r\n\r\n", 400},
    {"zeros before a chunk's length", CHUNKED, "0", 9000, "2\r\n{}\r\n0\r\n\r\n", 400},
    {"1,000 trailers", CHUNKED "2\r\n{}\r\n0\r\n", "a: b\r\n", 2000, "\r\n", 431},
    {"a long trailer", CHUNKED "2\r\n{}\r\n0\r\na: ", "b", 9000, "\r\n\r\n", 431},
};

static void requests_that_are_too_large_get_one_problem(void **state)
{
    static struct text request;
    for (size_t i = 0; i < COUNT(piles); i++) {
        const struct pile *pile = &piles[i];
        request.len = 0;
        put(&request, pile->before, strlen(pile->before));
        put_times(&request, pile->piece, pile->times);
        put(&request, pile->after, strlen(pile->after));
        expect_one_answer(pile->name, &request, pile->status);
    }
}

/* Heads of every size around the bound: the largest head that is taken still gets its answer. */
static void head_of_any_size_gets_one_answer(void **state)
{
    static const char *const bodies[] = {
        "Connection: close\r\nContent-Length: 7\r\n\r\n{\"a\":1}",
        "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{\"a\":1}\r\n0\r\n\r\n",
    };
    static const struct pile sweeps[] = {
        {"headers", POST, "a: b\r\n", 0, "", 0},
        {"long headers", POST, "abcdefgh: abcdefghijklmnopqrstuvwxyz\r\n", 0, "", 0},
        {"cookies", POST "Cookie: a=b", "; a=b", 0, "\r\n", 0},
        {"parameters", "POST /v1/locks/free?", "a&", 0, " HTTP/1.1\r\nHost: localhost\r\n", 0},
        {"target", "POST /v1/locks/", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", 0,
         " HTTP/1.1\r\nHost: localhost\r\n", 0},
        {"value", POST "X: ", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", 0, "\r\n", 0},
    };
    static struct text request;
    for (size_t i = 0; i < COUNT(sweeps) * COUNT(bodies); i++) {
        const struct pile *sweep = &sweeps[i / COUNT(bodies)];
        for (size_t times = 1; times < 130; times += times < 40 ? 13 : 1) {
            request.len = 0;
            put(&request, sweep->before, strlen(sweep->before));
            put_times(&request, sweep->piece, times);
            put(&request, sweep->after, strlen(sweep->after));
            put(&request, bodies[i % COUNT(bodies)], strlen(bodies[i % COUNT(bodies)]));
            expect_after(sweep->name, "", &request, 0);
        }
    }
}

/* A part without a reader is dropped, and the request is served. */
static void extensions_and_trailers_are_left_out(void **state)
{
    static const char request[] =
        "\r\n\r\n" CHUNKED "000005;name=value\r\n{\"ttl\r\n7 ; a=\"b;c\"\r\n_ms\": 9\r\n2\r\n9}\r\n"
        "0000;last\r\nX: 1\r\nY: 2\r\n\r\n";
    for (size_t piece = 1; piece < sizeof(request); piece += 3) {
        struct http *http = http_connect(untouched_port());
        for (int i = 0; i < 2; i++) {
            struct http_response response;
            for (size_t at = 0; at < sizeof(request) - 1; at += piece)
                (void)http_send(http, request + at,
                                at + piece < sizeof(request) ? piece : sizeof(request) - 1 - at);
            http_receive(http, false, &response);
            EXPECT_PROBLEM(&response, 400, "invalid", 0);
            assert_non_null(strstr(http_string(&response, "detail"), "ttl_ms is 99"));
            http_response_fini(&response);
        }
        http_close(http);
    }
}

/* An answer to HEAD has no body (RFC 9110, section 9.3.2), also one that is refused unread. */
static void refused_head_request_is_answered_without_a_body(void **state)
{
    static const char request[] = "HEAD /livez HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n";
    char answer[ANSWER_MAX];
    struct http *http = http_connect(untouched_port());
    (void)http_send(http, request, strlen(request));
    const size_t len = read_all(http, "HEAD", answer);
    assert_int_equal(strncmp(answer, "HTTP/1.1 400 ", 13), 0);
    assert_string_equal(answer + len - 4, "\r\n\r\n");
    http_close(http);
}

#define REFUSED(name) cmocka_unit_test_teardown(name, untouched_check)

static const struct CMUnitTest cases[] = {
    REFUSED(bytes_that_are_no_request_get_one_problem),
    REFUSED(requests_that_are_too_large_get_one_problem),
    REFUSED(head_of_any_size_gets_one_answer),
    REFUSED(extensions_and_trailers_are_left_out),
    REFUSED(refused_head_request_is_answered_without_a_body),
};

CASE_MAIN(cases, untouched_start, untouched_stop)
