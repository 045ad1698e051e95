/* Many clients at a time, and heads of the size that is promised. */
#include "api/mhd/shard.h"
#include "api/wire/framing.h"
#include "api/wire/socket_calls.h"
#include "tests/lib/case.h"
#include "tests/unit/api/loop.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"

enum {
    CROWD = 2 * API_SHARD_SIZE + 10, /* fills two shards, and needs a third */
    DESCRIPTORS = 2 * CROWD + 200,   /* both ends of each connection are this process's */
    PARKED_MS = 50,                  /* so that what is kept does not hover any more */
    SHUT_MS = 100,
};

static struct api_http *http;
static struct api_request *kept[CROWD];
static unsigned kept_count;

static void at_once(struct api_request *request, void *context)
{
    loop_answer(request, "{}");
}

static void keep(struct api_request *request, void *context)
{
    kept[kept_count++] = request;
}

static const struct api_route items[] = {
    {API_GET, "/at-once", at_once, API_TAKES_NOTHING, API_RIGHT_NONE, "at-once", API_CHEAP},
    {API_GET, "/keep", keep, API_TAKES_NOTHING, API_RIGHT_NONE, "keep", API_CHEAP},
};
static const struct api_routes routes = {items, sizeof(items) / sizeof(items[0]), NULL};

static void serve(unsigned connections)
{
    const struct api_door door = loop_door();
    const struct api_http_config config = {.doors = &door,
                                           .doors_count = 1,
                                           .routes = &routes,
                                           .routes_count = 1,
                                           .connections = connections};
    assert_int_equal(api_http_new(&config, &http), 0);
}

static int setup(void **state)
{
    kept_count = 0;
    struct rlimit files = {0};
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    return 0;
}

static int teardown(void **state)
{
    api_http_free(http);
    http = NULL;
    return 0;
}

static void expect_200(int fd)
{
    char response[LOOP_RESPONSE_MAX];
    assert_int_equal(loop_receive(http, fd, response), 200);
}

static bool can_open(unsigned descriptors)
{
    struct rlimit files = {0};
    return getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur >= descriptors;
}

static void parked_requests_of_all_rooms_are_answered(void **state)
{
    if (!can_open(DESCRIPTORS))
        skip();
    serve(CROWD);
    int fds[CROWD];
    for (int i = 0; i < CROWD; i++) {
        fds[i] = loop_connect(http);
        loop_send(http, fds[i], GET("/keep"));
    }
    loop_turn_for(http, PARKED_MS);
    assert_int_equal(kept_count, CROWD);
    assert_int_equal(api_http_parked(http), CROWD);
    for (int i = 0; i < CROWD; i++) {
        loop_answer(kept[i], "{}");
        expect_200(fds[i]);
    }
    assert_int_equal(api_http_parked(http), 0);
    for (int i = 0; i < CROWD; i++) {
        loop_send(http, fds[i], GET("/at-once"));
        expect_200(fds[i]);
        close(fds[i]);
    }
}

static void parked_requests_of_all_rooms_are_answered_when_it_ends(void **state)
{
    if (!can_open(DESCRIPTORS))
        skip();
    serve(CROWD);
    int fds[CROWD];
    for (int i = 0; i < CROWD; i++) {
        fds[i] = loop_connect(http);
        loop_send(http, fds[i], GET("/keep"));
    }
    loop_turn_for(http, PARKED_MS);
    api_http_free(http);
    http = NULL;
    for (int i = 0; i < CROWD; i++) {
        char status[sizeof("HTTP/1.1 503")] = "";
        assert_int_equal(recv(fds[i], status, sizeof(status) - 1, MSG_DONTWAIT),
                         sizeof(status) - 1);
        assert_string_equal(status, "HTTP/1.1 503");
        close(fds[i]);
    }
}

/* A hovering request waits for its own answer, and keeps no other caller's. */
static void answer_leaves_in_its_turn_although_another_request_hovers(void **state)
{
    serve(2);
    const int suspended = loop_connect(http);
    loop_send(http, suspended, GET("/keep"));
    loop_turn_for(http, PARKED_MS);
    const int hovering = loop_connect(http);
    loop_send(http, hovering, GET("/keep"));
    while (kept_count < 2)
        api_http_turn(http);

    char byte;
    loop_answer(kept[0], "{}");
    api_http_turn(http);
    assert_int_equal(recv(suspended, &byte, 1, MSG_DONTWAIT), 1);
    loop_answer(kept[1], "{}");
    expect_200(hovering);
    close(suspended);
    close(hovering);
}

static void client_beyond_the_bound_is_served_when_another_leaves(void **state)
{
    serve(1);
    const int first = loop_connect(http);
    loop_send(http, first, GET("/at-once"));
    expect_200(first);

    char byte;
    const int second = loop_connect(http);
    loop_send(http, second, GET("/at-once"));
    loop_turn_for(http, SHUT_MS);
    assert_int_equal(recv(second, &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);

    close(first);
    expect_200(second);
    assert_int_equal(api_http_accepted(http), 2);
    assert_int_equal(api_http_evicted(http), 0);
    assert_int_equal(api_http_capacity(http), 1);
    close(second);
}

/* A client that sent @bytes is ended for another one, and counted. */
static void expect_evicted(const char *bytes, bool answered)
{
    serve(1);
    const int first = loop_connect(http);
    loop_send(http, first, bytes);
    if (answered)
        expect_200(first);
    const int second = loop_connect(http);
    loop_send(http, second, GET("/at-once"));
    expect_200(second);
    assert_int_equal(api_http_accepted(http), 2);
    assert_int_equal(api_http_evicted(http), 1);
    close(first);
    close(second);
}

static void client_without_a_whole_head_makes_space_and_is_counted(void **state)
{
    expect_evicted("GET /at-once HTTP/1.1\r\nHost:", false);
}

/* As many as may connect could otherwise keep everybody out with a request a minute. */
static void client_that_asks_for_nothing_makes_space_and_is_counted(void **state)
{
    expect_evicted(GET("/at-once"), true);
}

static void client_that_sent_empty_lines_alone_makes_space(void **state)
{
    expect_evicted("\r\n", false);
}

/* A request with @fields headers, Host included, that is as long as it may be. */
static void write_largest_head(char head[static API_HTTP_HEAD_MAX + 1], unsigned fields)
{
    const size_t size = API_HTTP_HEAD_MAX - fields * API_HTTP_FIELD_COST;
    size_t len = (size_t)snprintf(head, size, "GET /at-once HTTP/1.1\r\nHost: localhost\r\n");
    for (unsigned field = 1; field < fields; field++)
        len += (size_t)snprintf(head + len, size - len, "F: v\r\n");
    /* The last value takes what is left. */
    static const char end[] = "\r\n\r\n";
    memset(head + len - 2, 'v', size - len);
    memcpy(head + size - strlen(end), end, sizeof(end));
}

static void head_at_its_bound_is_taken(void **state)
{
    serve(1);
    static const unsigned fields[] = {2, 8, 16, 32, 64, 78};
    const int fd = loop_connect(http);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        char head[API_HTTP_HEAD_MAX + 1];
        write_largest_head(head, fields[i]);
        loop_send(http, fd, head);
        expect_200(fd);
    }
    close(fd);
}

/* Without the linker's part all is served, but no byte is checked, and TLS is spoken to no client.
 */
static void library_finds_the_functions_of_wire_under_the_names_of_the_c_library(void **state)
{
    assert_int_equal((uintptr_t)dlsym(RTLD_DEFAULT, "recv"), (uintptr_t)api_wire_recv);
    assert_int_equal((uintptr_t)dlsym(RTLD_DEFAULT, "send"), (uintptr_t)api_wire_send);
    assert_int_equal((uintptr_t)dlsym(RTLD_DEFAULT, "sendmsg"), (uintptr_t)api_wire_sendmsg);
    assert_int_equal((uintptr_t)dlsym(RTLD_DEFAULT, "shutdown"), (uintptr_t)api_wire_shutdown);
    assert_int_equal((uintptr_t)dlsym(RTLD_DEFAULT, "setsockopt"), (uintptr_t)api_wire_setsockopt);
    assert_int_equal((uintptr_t)dlsym(RTLD_DEFAULT, "epoll_wait"), (uintptr_t)api_wire_epoll_wait);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest cases[] = {
    CASE(library_finds_the_functions_of_wire_under_the_names_of_the_c_library),
    CASE(parked_requests_of_all_rooms_are_answered),
    CASE(parked_requests_of_all_rooms_are_answered_when_it_ends),
    CASE(answer_leaves_in_its_turn_although_another_request_hovers),
    CASE(client_beyond_the_bound_is_served_when_another_leaves),
    CASE(client_without_a_whole_head_makes_space_and_is_counted),
    CASE(client_that_asks_for_nothing_makes_space_and_is_counted),
    CASE(client_that_sent_empty_lines_alone_makes_space),
    CASE(head_at_its_bound_is_taken),
};

CASE_MAIN(cases, NULL, NULL)
