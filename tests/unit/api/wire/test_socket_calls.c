/* The calls of libraries about sockets, as the linker leads them. */
#include "api/wire/socket_calls.h"
#include "tests/lib/case.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    OWN,  /* an end of a pair, the owner's, */
    PEER, /* and the other end: the system's */
    CROWD = API_SOCKET_EVENTS + 5,
};

struct owner {
    int fd;
    bool encrypted, local, ended;
    char written[64];
    size_t written_len;
};

static void *find(void *context, int fd)
{
    struct owner *owner = context;
    return owner->fd == fd ? owner : NULL;
}

static ssize_t read_hello(void *socket, char *buffer, size_t size)
{
    return snprintf(buffer, size, "hello");
}

static bool is_encrypted(const void *socket)
{
    return ((const struct owner *)socket)->encrypted;
}

static ssize_t note_written(void *socket, const void *bytes, size_t size)
{
    struct owner *owner = socket;
    assert_in_range(size, 0, sizeof(owner->written));
    memcpy(owner->written, bytes, size);
    owner->written_len = size;
    return (ssize_t)size;
}

static void note_end(void *socket)
{
    ((struct owner *)socket)->ended = true;
}

static bool is_local(const void *socket)
{
    return ((const struct owner *)socket)->local;
}

static const struct api_socket_calls calls = {find,         read_hello, is_encrypted,
                                              note_written, note_end,   is_local};

static int fds[2];
static struct owner owner;

static int setup(void **state)
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    owner = (struct owner){.fd = fds[OWN]};
    return 0;
}

static int teardown(void **state)
{
    close(fds[OWN]);
    close(fds[PEER]);
    return 0;
}

/* The output at the peer. */
static const char *peer_text(void)
{
    static char text[64];
    const ssize_t got = recv(fds[PEER], text, sizeof(text) - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    return text;
}

static ssize_t send_pieces(int fd, char *head, char *body)
{
    struct iovec pieces[] = {{head, strlen(head)}, {body, strlen(body)}};
    const struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    return sendmsg(fd, &message, 0);
}

static void outside_of_a_round_they_are_the_systems(void **state)
{
    char byte = 0;
    owner.encrypted = true;
    assert_int_equal(send(fds[OWN], "a", 1, 0), 1);
    assert_int_equal(send_pieces(fds[OWN], (char[]){"b"}, (char[]){"c"}), 2);
    assert_string_equal(peer_text(), "abc");
    assert_int_equal(send(fds[PEER], "d", 1, 0), 1);
    assert_int_equal(recv(fds[OWN], &byte, 1, 0), 1);
    assert_int_equal(byte, 'd');
    assert_int_equal(shutdown(fds[OWN], SHUT_WR), 0);
    assert_int_equal(recv(fds[PEER], &byte, 1, 0), 0);
    assert_int_equal(owner.written_len, 0);
    assert_false(owner.ended);
}

static void in_a_round_the_owner_reads_his_sockets_and_no_others(void **state)
{
    char text[16] = "";
    assert_int_equal(send(fds[OWN], "x", 1, 0), 1);
    api_socket_calls_begin(&calls, &owner, true);
    assert_int_equal(recv(fds[OWN], text, sizeof(text), 0), strlen("hello"));
    assert_string_equal(text, "hello");
    assert_int_equal(recv(fds[PEER], text, 1, 0), 1);
    assert_int_equal(text[0], 'x');
    (void)api_socket_calls_end();
}

static void encrypted_connection_is_written_and_ended_by_its_owner(void **state)
{
    owner.encrypted = true;
    api_socket_calls_begin(&calls, &owner, true);
    assert_int_equal(send(fds[OWN], "one", 3, 0), 3);
    assert_memory_equal(owner.written, "one", 3);
    assert_int_equal(send_pieces(fds[OWN], (char[]){"head "}, (char[]){"body"}), 9);
    assert_memory_equal(owner.written, "head body", 9);
    assert_int_equal(shutdown(fds[OWN], SHUT_RD), 0);
    assert_false(owner.ended);
    assert_int_equal(shutdown(fds[OWN], SHUT_WR), 0);
    assert_true(owner.ended);
    (void)api_socket_calls_end();
    assert_string_equal(peer_text(), ""); /* nothing went out in the clear */
}

static void plain_connection_is_written_by_the_system(void **state)
{
    api_socket_calls_begin(&calls, &owner, true);
    assert_int_equal(send(fds[OWN], "one ", 4, 0), 4);
    assert_int_equal(send_pieces(fds[OWN], (char[]){"two "}, (char[]){"three"}), 9);
    (void)api_socket_calls_end();
    assert_string_equal(peer_text(), "one two three");
}

static void local_connection_is_spared_the_options_of_tcp(void **state)
{
    const int on = 1;
    api_socket_calls_begin(&calls, &owner, true);
    assert_int_equal(setsockopt(fds[OWN], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), -1);
    owner.local = true;
    assert_int_equal(setsockopt(fds[OWN], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
    assert_int_equal(setsockopt(fds[OWN], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
    (void)api_socket_calls_end();
    int set = 0;
    socklen_t len = sizeof(set);
    assert_int_equal(getsockopt(fds[OWN], SOL_SOCKET, SO_PASSCRED, &set, &len), 0);
    assert_int_equal(set, 1);
}

static void round_is_told_of_a_bounded_number_and_only_if_it_looks(void **state)
{
    struct epoll_event events[2 * CROWD], event = {.events = EPOLLOUT};
    int copies[CROWD];
    const int epoll = epoll_create1(0);
    for (int i = 0; i < CROWD; i++) {
        copies[i] = dup(fds[OWN]);
        assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, copies[i], &event), 0);
    }
    assert_int_equal(epoll_wait(epoll, events, 2 * CROWD, 0), CROWD);
    api_socket_calls_begin(&calls, &owner, false);
    assert_int_equal(epoll_wait(epoll, events, 2 * CROWD, 0), 0);
    assert_false(api_socket_calls_end());
    api_socket_calls_begin(&calls, &owner, true);
    assert_int_equal(epoll_wait(epoll, events, 2 * CROWD, 0), API_SOCKET_EVENTS);
    assert_int_equal(epoll_wait(epoll, events, 2 * CROWD, 0), 0);
    assert_true(api_socket_calls_end());
    for (int i = 0; i < CROWD; i++)
        close(copies[i]);
    close(epoll);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest cases[] = {
    CASE(outside_of_a_round_they_are_the_systems),
    CASE(in_a_round_the_owner_reads_his_sockets_and_no_others),
    CASE(encrypted_connection_is_written_and_ended_by_its_owner),
    CASE(plain_connection_is_written_by_the_system),
    CASE(local_connection_is_spared_the_options_of_tcp),
    CASE(round_is_told_of_a_bounded_number_and_only_if_it_looks),
};

CASE_MAIN(cases, NULL, NULL)
