/* Costly requests stand in a line, and ordinary ones beside it. */
#include "api/http/costly.h"
#include "api/http/limits.h"
#include "api/http/request_state.h"
#include "tests/lib/case.h"
#include "tests/unit/api/loop.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    CHUNKS = 1200, /* of 16 bytes */
    CLIENTS = API_COSTLY_SERVED + 3,
    RESTED_MS = 2 * API_COSTLY_REST_MAX_US / 1000,
    LARGE = API_BODY_MAX,
};

#define HEAD(method, path) method " " path " HTTP/1.1\r\nHost: localhost\r\n"

/* The routes under test. */
static struct api_request *begun[CLIENTS]; /* in the order in which their handlers began */
static unsigned begun_count;
static size_t body_len; /* length of what /body was given last */

static void begin_costly(struct api_request *request, void *context)
{
    assert_in_range(begun_count, 0, CLIENTS - 1);
    begun[begun_count++] = request;
}

static void at_once(struct api_request *request, void *context)
{
    loop_answer(request, "\"at once\"");
}

static void take_body(struct api_request *request, void *context)
{
    (void)api_request_body(request, &body_len);
    loop_answer(request, "\"taken\"");
}

static const struct api_route items[] = {
    {API_GET, "/costly", begin_costly, API_TAKES_NOTHING, API_RIGHT_NONE, "costly", API_COSTLY},
    {API_GET, "/at-once", at_once, API_TAKES_NOTHING, API_RIGHT_NONE, "at-once", API_CHEAP},
    {API_POST, "/body", take_body, API_TAKES_BODY, API_RIGHT_NONE, "body", API_CHEAP},
};
static const struct api_routes routes = {items, sizeof(items) / sizeof(items[0]), NULL};

static struct api_http *http;
static int fds[CLIENTS];
static char response[LOOP_RESPONSE_MAX];

static int setup(void **state)
{
    begun_count = 0;
    body_len = 0;
    http = loop_serve(&routes, 5);
    for (unsigned i = 0; i < CLIENTS; i++)
        fds[i] = loop_connect(http);
    return 0;
}

static int teardown(void **state)
{
    api_http_free(http);
    for (unsigned i = 0; i < CLIENTS; i++)
        close(fds[i]);
    return 0;
}

static void ask_all(void)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        loop_send(http, fds[i], HEAD("GET", "/costly") "\r\n");
        loop_turn_for(http, 1); /* so that they come in this order */
    }
}

static void ask_at_once(void)
{
    const int fd = loop_connect(http);
    loop_send(http, fd, HEAD("GET", "/at-once") "\r\n");
    assert_int_equal(loop_receive(http, fd, response), 200);
    close(fd);
}

/* A body that is larger than what costs nothing special. Its client sends as much as it can. */
static void send_large(int fd)
{
    static char text[LARGE + 1];
    char head[128];
    (void)snprintf(head, sizeof(head), HEAD("POST", "/body") "Content-Length: %d\r\n\r\n", LARGE);
    memset(text, ' ', LARGE);
    loop_send(http, fd, head);
    loop_send(http, fd, text);
}

static void few_are_served_at_a_time_in_the_order_in_which_they_came(void **state)
{
    ask_all();
    for (unsigned ended = 0; ended < CLIENTS; ended++) {
        loop_turn_for(http, RESTED_MS);
        const unsigned expected = ended + API_COSTLY_SERVED;
        assert_int_equal(begun_count, expected < CLIENTS ? expected : CLIENTS);
        loop_answer(begun[ended], "\"served\"");
        assert_int_equal(loop_receive(http, fds[ended], response), 200);
    }
}

static void ordinary_requests_do_not_stand_in_the_line(void **state)
{
    ask_all();
    ask_at_once();
    assert_int_equal(begun_count, API_COSTLY_SERVED);
}

static void one_that_may_wait_keeps_nobody_from_being_served(void **state)
{
    ask_all();
    api_request_may_wait(begun[0], 1);
    loop_turn_for(http, RESTED_MS);
    assert_int_equal(begun_count, API_COSTLY_SERVED + 1);
}

/* Microseconds for which others go first after a group of @locks was parked. */
static uint64_t rest_after(unsigned locks)
{
    struct api_costly costly = {0};
    struct api_request request = {.line = &costly, .may_wait = true, .wait_locks = locks};
    api_costly_saw_other(&costly);
    assert_true(api_costly_begins(&request));
    api_costly_ended(&request);
    return costly.rests_until_us - (costly.others_until_us - API_COSTLY_OTHERS_US);
}

static void one_that_may_wait_counts_by_its_locks(void **state)
{
    assert_true(rest_after(300) >= UINT64_C(300) * API_COSTLY_LOCK_US);
    assert_true(rest_after(2) < UINT64_C(300) * API_COSTLY_LOCK_US);
}

static void one_that_left_while_it_stood_in_the_line_is_not_served(void **state)
{
    ask_all();
    close(fds[API_COSTLY_SERVED]);
    fds[API_COSTLY_SERVED] = loop_connect(http);
    loop_turn_for(http, RESTED_MS);
    loop_answer(begun[0], "\"served\"");
    loop_turn_for(http, RESTED_MS);
    assert_int_equal(begun_count, API_COSTLY_SERVED + 1);
    loop_answer(begun[API_COSTLY_SERVED], "\"served\"");
    assert_int_equal(loop_receive(http, fds[API_COSTLY_SERVED + 1], response), 200);
}

static void large_body_stands_in_the_line_with_them(void **state)
{
    ask_all();
    const int fd = loop_connect(http);
    send_large(fd);
    loop_turn_for(http, RESTED_MS);
    ask_at_once();
    assert_int_equal(body_len, 0);
    for (unsigned ended = 0; ended < CLIENTS; ended++) {
        loop_answer(begun[ended], "\"served\"");
        loop_turn_for(http, RESTED_MS);
    }
    assert_int_equal(loop_receive(http, fd, response), 200);
    assert_int_equal(body_len, LARGE);
    close(fd);
}

#define CHUNK "10\r\n0123456789abcdef\r\n"

/* Chunks that were read already come although the connection is suspended. */
static void body_in_small_chunks_stands_in_the_line_with_them(void **state)
{
    static char text[CHUNKS * sizeof(CHUNK)];
    ask_all();
    for (unsigned i = 0; i < CHUNKS; i++)
        (void)snprintf(text + i * strlen(CHUNK), sizeof(CHUNK "0\r\n\r\n"), CHUNK "0\r\n\r\n");
    const int fd = loop_connect(http);
    loop_send(http, fd, HEAD("POST", "/body") "Transfer-Encoding: chunked\r\n\r\n");
    loop_send(http, fd, text);
    loop_turn_for(http, RESTED_MS);
    assert_int_equal(body_len, 0);
    for (unsigned ended = 0; ended < CLIENTS; ended++) {
        loop_answer(begun[ended], "\"served\"");
        loop_turn_for(http, RESTED_MS);
    }
    assert_int_equal(loop_receive(http, fd, response), 200);
    assert_int_equal(body_len, CHUNKS * 16);
    close(fd);
}

static void server_ends_while_they_stand_in_the_line(void **state)
{
    ask_all();
    const int fd = loop_connect(http);
    send_large(fd);
    loop_turn_for(http, RESTED_MS);
    api_http_free(http);
    assert_int_equal(begun_count, API_COSTLY_SERVED);
    http = NULL;
    close(fd);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest cases[] = {
    CASE(few_are_served_at_a_time_in_the_order_in_which_they_came),
    CASE(ordinary_requests_do_not_stand_in_the_line),
    CASE(one_that_may_wait_keeps_nobody_from_being_served),
    CASE(one_that_may_wait_counts_by_its_locks),
    CASE(one_that_left_while_it_stood_in_the_line_is_not_served),
    CASE(large_body_stands_in_the_line_with_them),
    CASE(body_in_small_chunks_stands_in_the_line_with_them),
    CASE(server_ends_while_they_stand_in_the_line),
};

CASE_MAIN(cases, NULL, NULL)
