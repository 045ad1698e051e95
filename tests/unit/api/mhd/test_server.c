#include "api/http/trace.h"
#include "api/mhd/server.h"
#include "api/wire/framing.h"
#include "tests/lib/case.h"
#include "tests/unit/api/loop.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD(method, path) method " " path " HTTP/1.1\r\nHost: localhost\r\n"

/* The routes under test. */
static struct api_request *kept; /* the request that /keep left unanswered */
static size_t body_len;          /* length of what /body was given */

static void at_once(struct api_request *request, void *context)
{
    loop_answer(request, "\"at once\"");
}

static void keep(struct api_request *request, void *context)
{
    kept = request;
}

/* Answers the kept request from inside the handler of another, and before it. */
static void release_kept(struct api_request *request, void *context)
{
    loop_answer(kept, "\"kept\"");
    kept = NULL;
    loop_answer(request, "\"released\"");
}

static void take_body(struct api_request *request, void *context)
{
    (void)api_request_body(request, &body_len);
    loop_answer(request, "\"taken\"");
}

static void show_header(struct api_request *request, void *context)
{
    const char *token = api_request_header(request, API_HEADER_FENCING_TOKEN);
    loop_answer(request, token != NULL ? token : "\"none\"");
}

static const struct api_route items[] = {
    {API_GET, "/at-once", at_once, API_TAKES_NOTHING, API_RIGHT_NONE, "at-once", API_CHEAP},
    {API_GET, "/keep", keep, API_TAKES_NOTHING, API_RIGHT_NONE, "keep", API_CHEAP},
    {API_GET, "/release", release_kept, API_TAKES_NOTHING, API_RIGHT_NONE, "release-kept",
     API_CHEAP},
    {API_POST, "/body", take_body, API_TAKES_BODY, API_RIGHT_NONE, "take-body", API_CHEAP},
    {API_GET, "/header", show_header, API_TAKES_NOTHING, API_RIGHT_NONE, "show-header", API_CHEAP},
};
static const struct api_routes routes = {items, sizeof(items) / sizeof(items[0]), NULL};

static int setup(void **state)
{
    kept = NULL;
    body_len = 0;
    loop_begin(loop_serve(&routes, 1));
    return 0;
}

/* The client at @fd asks for what is kept, and its request is parked; or was a moment ago. */
static void park(int fd)
{
    loop_send(loop.http, fd, HEAD("GET", "/keep") "\r\n");
    loop_turn_for(loop.http, 20);
}

static void hover(void)
{
    loop_send(loop.http, loop.fd, HEAD("GET", "/keep") "\r\n");
    while (api_http_parked(loop.http) == 0)
        api_http_turn(loop.http);
}

/* Connections count as idle much later than a test waits for their end. */
static void serve_without_haste(void)
{
    (void)close(loop.fd);
    api_http_free(loop.http);
    loop_begin(loop_serve(&routes, 0));
}

/* Both are there before the server looks. */
static void connection_ends_with_the_client_whose_end_came_with_its_request(void **state)
{
    static const char again[] = HEAD("GET", "/at-once") "\r\n";
    serve_without_haste();
    assert_int_equal(loop_ask(again), 200);
    assert_int_equal(send(loop.fd, again, strlen(again), 0), strlen(again));
    assert_int_equal(shutdown(loop.fd, SHUT_WR), 0);
    assert_int_equal(loop_receive(loop.http, loop.fd, loop.response), 200);
    assert_true(loop_closed(loop.http, loop.fd));
}

/* Two requests and the end, all at once. */
static void requests_before_the_end_of_a_client_are_all_answered(void **state)
{
    static const char two[] = HEAD("GET", "/at-once") "\r\n" HEAD("GET", "/at-once") "\r\n";
    serve_without_haste();
    assert_int_equal(send(loop.fd, two, strlen(two), 0), strlen(two));
    assert_int_equal(shutdown(loop.fd, SHUT_WR), 0);
    assert_int_equal(loop_receive(loop.http, loop.fd, loop.response), 200);
    if (strstr(loop.response + 1, "HTTP/1.1 200") == NULL) /* the second came with the first, or: */
        assert_int_equal(loop_receive(loop.http, loop.fd, loop.response), 200);
    assert_true(loop_closed(loop.http, loop.fd));
}

static void request_is_answered_in_its_handler(void **state)
{
    assert_answered(HEAD("GET", "/at-once") "\r\n", 200, "\"at once\"");
    assert_said("Cache-Control: no-store\r\n");
    assert_int_equal(api_http_parked(loop.http), 0);
}

static void request_is_parked_until_it_is_answered(void **state)
{
    park(loop.fd);
    assert_int_equal(api_http_parked(loop.http), 1);
    loop_answer(kept, "\"late\"");
    assert_int_equal(api_http_parked(loop.http), 0);
    assert_int_equal(loop_receive(loop.http, loop.fd, loop.response), 200);
    assert_said("\"late\"");
    assert_int_equal(loop_ask(HEAD("GET", "/at-once") "\r\n"), 200);
}

/* Before it is suspended, a parked request is looked at in a few turns more. */
static void request_parked_a_moment_ago_is_answered_at_the_next_look(void **state)
{
    hover();
    loop_answer(kept, "\"soon\"");
    assert_int_equal(loop_receive(loop.http, loop.fd, loop.response), 200);
    assert_said("\"soon\"");
    assert_int_equal(loop_ask(HEAD("GET", "/at-once") "\r\n"), 200);
}

/* A turn for answers alone leaves what came to the turn that looks. */
static void turn_that_sends_an_answer_leaves_requests_for_the_next_look(void **state)
{
    static const char other_request[] = HEAD("GET", "/at-once") "\r\n";
    char other_response[LOOP_RESPONSE_MAX];
    struct pollfd readable = {.fd = api_http_fd(loop.http), .events = POLLIN};
    const int other = loop_connect(loop.http);
    loop_send(loop.http, other, other_request); /* so that it is let in */
    assert_int_equal(loop_receive(loop.http, other, other_response), 200);
    hover();
    assert_int_equal(send(other, other_request, strlen(other_request), 0), strlen(other_request));
    loop_answer(kept, "\"soon\"");
    api_http_send(loop.http);
    assert_true(recv(loop.fd, loop.response, sizeof(loop.response) - 1, MSG_DONTWAIT) > 0);
    assert_int_equal(recv(other, other_response, 1, MSG_DONTWAIT), -1);
    assert_int_equal(poll(&readable, 1, 0), 1);
    assert_int_equal(loop_receive(loop.http, other, other_response), 200);
    (void)close(other);
}

static void client_that_leaves_a_moment_after_it_was_parked_does_no_harm(void **state)
{
    struct linger reset = {.l_onoff = 1};
    hover();
    assert_int_equal(setsockopt(loop.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    (void)close(loop.fd);
    for (int i = 0; i < 8; i++)
        api_http_turn(loop.http);
    loop_answer(kept, "\"to nobody\"");
    assert_int_equal(api_http_parked(loop.http), 0);
    loop.fd = loop_connect(loop.http);
    assert_int_equal(loop_ask(HEAD("GET", "/at-once") "\r\n"), 200);
}

static void request_is_answered_from_the_handler_of_another(void **state)
{
    park(loop.fd);
    int other = loop_connect(loop.http);
    loop_send(loop.http, other, HEAD("GET", "/release") "\r\n");
    assert_int_equal(loop_receive(loop.http, other, loop.response), 200);
    assert_said("\"released\"");
    assert_int_equal(loop_receive(loop.http, loop.fd, loop.response), 200);
    assert_said("\"kept\"");
    (void)close(other);
}

static void parked_request_is_not_idle(void **state)
{
    loop_send(loop.http, loop.fd, HEAD("GET", "/keep") "\r\n");
    loop_turn_for(loop.http, 2200); /* the server of these tests allows one second of idleness */
    loop_answer(kept, "\"late\"");
    assert_int_equal(loop_receive(loop.http, loop.fd, loop.response), 200);
}

static void idle_connection_is_closed(void **state)
{
    assert_int_equal(loop_ask(HEAD("GET", "/at-once") "\r\n"), 200);
    assert_true(loop_closed(loop.http, loop.fd));
}

static void client_that_leaves_while_parked_does_no_harm(void **state)
{
    park(loop.fd);
    (void)close(loop.fd);
    loop_turn_for(loop.http, 20);
    loop_answer(kept, "\"to nobody\"");
    loop_turn_for(loop.http, 20);
    loop.fd = loop_connect(loop.http);
    assert_int_equal(loop_ask(HEAD("GET", "/at-once") "\r\n"), 200);
}

static void pipelined_request_waits_for_the_one_before(void **state)
{
    loop_send(loop.http, loop.fd, HEAD("GET", "/keep") "\r\n" HEAD("GET", "/at-once") "\r\n");
    loop_turn_for(loop.http, 20);
    assert_int_equal(api_http_parked(loop.http), 1);
    loop_answer(kept, "\"first\"");
    assert_int_equal(loop_receive(loop.http, loop.fd, loop.response), 200);
    assert_said("\"first\"");
    if (!loop_says("\"at once\""))
        assert_int_equal(loop_receive(loop.http, loop.fd, loop.response), 200);
    assert_said("\"at once\"");
}

static void free_answers_what_is_parked(void **state)
{
    park(loop.fd);
    api_http_free(loop.http);
    ssize_t got = read(loop.fd, loop.response, sizeof(loop.response) - 1);
    assert_true(got > 0);
    loop.response[got] = '\0';
    assert_said("HTTP/1.1 503 ");
    assert_said("urn:pawl:stopping");
    assert_said("Connection: close\r\n");
    loop.http = NULL;
}

static void quiesced_server_refuses_new_requests_and_ends_old_ones(void **state)
{
    int other = loop_connect(loop.http);
    park(other);
    api_http_quiesce(loop.http);
    assert_int_equal(loop_ask(HEAD("GET", "/at-once") "\r\n"), 503);
    assert_true(loop_closed(loop.http, loop.fd));
    loop_answer(kept, "\"still\"");
    assert_int_equal(loop_receive(loop.http, other, loop.response), 200);
    (void)close(other);
}

static void server_that_leaves_ends_each_connection_with_its_next_answer(void **state)
{
    int other = loop_connect(loop.http);
    park(other);
    api_http_leave(loop.http);
    assert_answered(HEAD("GET", "/at-once") "\r\n", 200, "Connection: close\r\n");
    assert_true(loop_closed(loop.http, loop.fd));
    loop_answer(kept, "\"still\"");
    assert_int_equal(loop_receive(loop.http, other, loop.response), 200);
    assert_said("Connection: close\r\n");
    assert_true(loop_closed(loop.http, other));
    (void)close(other);
    other = loop_connect(loop.http); /* new ones are served in the same way */
    loop_send(loop.http, other, HEAD("GET", "/at-once") "\r\n");
    assert_int_equal(loop_receive(loop.http, other, loop.response), 200);
    assert_said("Connection: close\r\n");
    (void)close(other);
}

/* The kernel goes on to watch a socket that was closed here and is open elsewhere. */
static void socket_that_stays_is_let_be_with_who_knocks(void **state)
{
    struct api_door door = loop_door();
    const int others = dup(door.fd);
    door.stays = true;
    const struct api_http_config config = {
        .doors = &door, .doors_count = 1, .routes = &routes, .routes_count = 1};
    api_http_free(loop.http);
    assert_int_equal(api_http_new(&config, &loop.http), 0);
    (void)close(loop.fd);
    loop.fd = loop_connect(loop.http);
    assert_int_equal(loop_ask(HEAD("GET", "/at-once") "\r\n"), 200);

    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(api_http_port(loop.http)),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_true(api_http_is_open(loop.http));
    api_http_leave(loop.http);
    assert_false(api_http_is_open(loop.http));
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, (const struct sockaddr *)&address, sizeof(address)), 0);
    struct pollfd watched = {.fd = api_http_watch_fd(loop.http), .events = POLLIN};
    assert_int_equal(poll(&watched, 1, 0), 0);
    const int accepted = accept(others, NULL, NULL);
    assert_true(accepted >= 0);
    (void)close(accepted);
    (void)close(client);
    (void)close(others);
}

static void only_requests_that_may_wait_long_are_told_of(void **state)
{
    park(loop.fd);
    assert_null(api_http_waiting(loop.http));
    api_request_may_wait(kept, 1);
    assert_ptr_equal(api_http_waiting(loop.http), kept);
    loop_answer(kept, "\"kept\"");
    assert_null(api_http_waiting(loop.http));
}

/* The kernel has accepted them, and would reset them with the listening socket. */
static void clients_that_nobody_let_in_yet_are_answered_at_the_end(void **state)
{
    enum {
        CROWD = 200, /* more than are let in at a time */
    };
    int crowd[CROWD];
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = loop_connect(loop.http);
        assert_true(send(crowd[i], HEAD("GET", "/at-once") "\r\n",
                         strlen(HEAD("GET", "/at-once") "\r\n"), 0) > 0);
    }
    api_http_quiesce(loop.http);
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(loop_receive(loop.http, crowd[i], loop.response), 503);
        assert_said("urn:pawl:stopping");
        (void)close(crowd[i]);
    }
}

static void length_beside_coding_ends_the_connection(void **state)
{
    assert_int_equal(
        loop_ask(HEAD("POST", "/body") "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"
                                       "\r\n0\r\n\r\n" HEAD("GET", "/at-once") "\r\n"),
        400);
    assert_false(loop_says("at once"));
    assert_true(loop_closed(loop.http, loop.fd));
}

static void missing_host_is_refused(void **state)
{
    assert_answered("GET /at-once HTTP/1.1\r\n\r\n", 400, "Host");
}

/* A POST of @len blanks. */
static int post_blanks(size_t len, bool chunked)
{
    static char text[2 * API_BODY_MAX + 256];
    int head = snprintf(text, sizeof(text),
                        chunked ? HEAD("POST", "/body") "Transfer-Encoding: chunked\r\n\r\n%zx\r\n"
                                : HEAD("POST", "/body") "Content-Length: %zu\r\n\r\n",
                        len);
    memset(text + head, ' ', len);
    (void)snprintf(text + head + len, 16, "%s", chunked ? "\r\n0\r\n\r\n" : "");
    return loop_ask(text);
}

static void body_of_64_kib_is_taken_whole(void **state)
{
    assert_int_equal(post_blanks(API_BODY_MAX, false), 200);
    assert_int_equal(body_len, API_BODY_MAX);
    assert_int_equal(post_blanks(API_BODY_MAX, true), 200);
    assert_int_equal(body_len, API_BODY_MAX);
}

static void larger_body_is_413_and_the_connection_goes_on(void **state)
{
    assert_int_equal(post_blanks(API_BODY_MAX + 1, false), 413);
    assert_int_equal(post_blanks(API_BODY_MAX + 1, true), 413);
    assert_int_equal(loop_ask(HEAD("GET", "/at-once") "\r\n"), 200);
    assert_int_equal(body_len, 0);
}

static void huge_body_is_refused_unread(void **state)
{
    assert_int_equal(loop_ask(HEAD("POST", "/body") "Content-Length: 99999999\r\n\r\n"), 413);
    assert_true(loop_closed(loop.http, loop.fd));
}

static void unwanted_body_is_refused_where_the_client_asks_first(void **state)
{
    assert_int_equal(
        loop_ask(HEAD("POST", "/body") "Expect: 100-continue\r\nContent-Length: 65537\r\n\r\n"),
        413);
}

static void other_media_types_are_415(void **state)
{
    assert_int_equal(
        loop_ask(HEAD("POST", "/body") "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}"),
        415);
    assert_said("Content-Type: application/json.");
    assert_int_equal(
        loop_ask(HEAD("POST", "/body") "Content-Type: Application/JSON ;charset=utf-8\r\n"
                                       "Content-Length: 2\r\n\r\n{}"),
        200);
}

static void header_sent_twice_is_refused_by_name(void **state)
{
    assert_int_equal(
        loop_ask(HEAD("GET", "/header") "Fencing-Token: 1\r\nfencing-token: 1\r\n\r\n"), 400);
    assert_said("Fencing-Token");
    assert_answered(HEAD("GET", "/header") "Fencing-Token: 34  \r\n\r\n", 200, "\r\n\r\n34");
}

static void query_is_refused_by_name(void **state)
{
    assert_answered(HEAD("GET", "/at-once?a=1&b") "\r\n", 400, "\\\"a\\\"");
}

static void body_of_a_call_without_one_is_refused_unless_it_is_an_empty_object(void **state)
{
    assert_int_equal(loop_ask(HEAD("GET", "/at-once") "Content-Length: 7\r\n\r\n{\"a\":1}"), 400);
    assert_int_equal(loop_ask(HEAD("GET", "/at-once") "Content-Length: 2\r\n\r\n{}"), 200);
}

static void unknown_path_is_404_and_other_method_405_with_allow(void **state)
{
    assert_int_equal(loop_ask(HEAD("GET", "/nowhere") "\r\n"), 404);
    assert_answered(HEAD("DELETE", "/at-once") "\r\n", 405, "Allow: GET, HEAD\r\n");
}

/* The answer's head has what the request's left, and gives the id back. */
static void longest_request_id_fits_behind_the_longest_head(void **state)
{
    char id[API_REQUEST_ID_MAX + 1], request[API_HTTP_HEAD_MAX * 2];
    memset(id, 'i', API_REQUEST_ID_MAX);
    id[API_REQUEST_ID_MAX] = '\0';
    int status = 200;
    for (size_t fill = API_HTTP_HEAD_MAX - 1024; status == 200; fill++) {
        (void)snprintf(request, sizeof(request),
                       HEAD("DELETE", "/at-once") "X-Request-Id: %s\r\nX-Fill: %0*d\r\n\r\n", id,
                       (int)fill, 0);
        status = loop_ask(request) == 405 && loop_says(id) ? 200 : 0;
        assert_in_range(fill, 0, API_HTTP_HEAD_MAX);
    }
    assert_said("HTTP/1.1 431 "); /* up to the first that is refused, all had their answer */
}

static void long_head_is_431(void **state)
{
    char text[API_HTTP_HEAD_MAX + 128];
    int head = snprintf(text, sizeof(text), HEAD("GET", "/at-once") "X: ");
    memset(text + head, 'x', API_HTTP_HEAD_MAX);
    (void)snprintf(text + head + API_HTTP_HEAD_MAX, 8, "\r\n\r\n");
    assert_answered(text, 431, "urn:pawl:headers-too-large");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, loop_end)

static const struct CMUnitTest cases[] = {
    CASE(connection_ends_with_the_client_whose_end_came_with_its_request),
    CASE(requests_before_the_end_of_a_client_are_all_answered),
    CASE(request_is_answered_in_its_handler),
    CASE(request_is_parked_until_it_is_answered),
    CASE(request_parked_a_moment_ago_is_answered_at_the_next_look),
    CASE(turn_that_sends_an_answer_leaves_requests_for_the_next_look),
    CASE(client_that_leaves_a_moment_after_it_was_parked_does_no_harm),
    CASE(request_is_answered_from_the_handler_of_another),
    CASE(parked_request_is_not_idle),
    CASE(idle_connection_is_closed),
    CASE(client_that_leaves_while_parked_does_no_harm),
    CASE(pipelined_request_waits_for_the_one_before),
    CASE(free_answers_what_is_parked),
    CASE(quiesced_server_refuses_new_requests_and_ends_old_ones),
    CASE(server_that_leaves_ends_each_connection_with_its_next_answer),
    CASE(socket_that_stays_is_let_be_with_who_knocks),
    CASE(only_requests_that_may_wait_long_are_told_of),
    CASE(clients_that_nobody_let_in_yet_are_answered_at_the_end),
    CASE(length_beside_coding_ends_the_connection),
    CASE(missing_host_is_refused),
    CASE(body_of_64_kib_is_taken_whole),
    CASE(larger_body_is_413_and_the_connection_goes_on),
    CASE(huge_body_is_refused_unread),
    CASE(unwanted_body_is_refused_where_the_client_asks_first),
    CASE(other_media_types_are_415),
    CASE(header_sent_twice_is_refused_by_name),
    CASE(query_is_refused_by_name),
    CASE(body_of_a_call_without_one_is_refused_unless_it_is_an_empty_object),
    CASE(unknown_path_is_404_and_other_method_405_with_allow),
    CASE(longest_request_id_fits_behind_the_longest_head),
    CASE(long_head_is_431),
};

CASE_MAIN(cases, NULL, NULL)
