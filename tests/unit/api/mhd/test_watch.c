/* Clients that leave while their request is suspended, and clients that want to connect. */
#include "api/mhd/watch.h"
#include "api/wire/listen.h"
#include "tests/lib/case.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int watch_fd;
static int fds[2]; /* the service's end, and the client's */
static struct api_exchange *const exchange = (struct api_exchange *)&fds; /* only a pointer */
static unsigned stirs;

static void note_stir(struct api_exchange *stirred)
{
    assert_ptr_equal(stirred, exchange);
    stirs++;
}

static int setup(void **state)
{
    stirs = 0;
    assert_int_equal(api_watch_open(&watch_fd), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    api_watch_add(watch_fd, fds[0], exchange);
    return 0;
}

static int teardown(void **state)
{
    close(watch_fd);
    close(fds[0]);
    close(fds[1]);
    return 0;
}

static void client_that_sends_more_is_told_once_and_has_not_left(void **state)
{
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_false(api_watch_turn(watch_fd, note_stir));
    assert_false(api_watch_turn(watch_fd, note_stir)); /* the byte stays unread */
    assert_int_equal(stirs, 1);
    assert_false(api_watch_has_left(fds[0]));
}

static void client_that_closes_behind_what_it_sent_has_left(void **state)
{
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(shutdown(fds[1], SHUT_WR), 0);
    assert_false(api_watch_turn(watch_fd, note_stir));
    assert_int_equal(stirs, 1);
    assert_true(api_watch_has_left(fds[0]));
}

static void client_that_sends_too_far_ahead_counts_as_gone(void **state)
{
    static char ahead[API_HTTP_AHEAD_MAX];
    assert_int_equal(write(fds[1], ahead, sizeof(ahead)), sizeof(ahead));
    assert_false(api_watch_has_left(fds[0]));
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_true(api_watch_has_left(fds[0]));
}

static void client_that_is_watched_no_more_is_not_told(void **state)
{
    api_watch_remove(watch_fd, fds[0]);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_false(api_watch_turn(watch_fd, note_stir));
    assert_int_equal(stirs, 0);
}

static void client_that_connects_is_seen_while_the_door_is_open(void **state)
{
    int door = -1;
    assert_int_equal(api_listen("127.0.0.1:0", false, &door), 0);
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(api_listen_port(door)),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(api_watch_door(watch_fd, door, false), 0);
    assert_int_equal(connect(client, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_false(api_watch_turn(watch_fd, note_stir));
    assert_int_equal(api_watch_door(watch_fd, door, true), 0);
    assert_true(api_watch_turn(watch_fd, note_stir));
    api_watch_no_door(watch_fd, door);
    assert_false(api_watch_turn(watch_fd, note_stir));
    close(client);
    close(door);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest cases[] = {
    CASE(client_that_sends_more_is_told_once_and_has_not_left),
    CASE(client_that_closes_behind_what_it_sent_has_left),
    CASE(client_that_sends_too_far_ahead_counts_as_gone),
    CASE(client_that_is_watched_no_more_is_not_told),
    CASE(client_that_connects_is_seen_while_the_door_is_open),
};

CASE_MAIN(cases, NULL, NULL)
