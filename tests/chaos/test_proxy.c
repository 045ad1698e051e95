/* The proxy carries bytes, and fails as it is told to. */
#include "tests/chaos/proxy.h"
#include "tests/lib/case.h"
#include "tests/lib/port.h"
#include "tests/lib/wait.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 10000, /* for what has to come */
    SILENCE_MS = 150,    /* in which nothing may come */
    LARGE = 4 * 1024 * 1024,
};

static struct proxy *proxy;
static unsigned link_number;
static int server;         /* listens */
static int client, served; /* the ends of a connection through the proxy */

static int listen_on(uint16_t port)
{
    const struct sockaddr_in address = port_address(port);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 16), 0);
    return fd;
}

/* ---- what the cases are told in -------------------------------------------------------------- */

static int try_connect(void)
{
    const struct sockaddr_in address = port_address(proxy_port(proxy, link_number));
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool comes(int fd, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, timeout_ms) == 1;
}

/* A connection from end to end. */
static void join(void)
{
    client = try_connect();
    assert_true(client >= 0);
    assert_true(comes(server, PATIENCE_MS));
    served = accept(server, NULL, NULL);
    assert_true(served >= 0);
}

static void leave(void)
{
    close(client);
    client = -1;
}

static void part(void)
{
    if (client >= 0)
        leave();
    close(served);
}

static int begin(void **state)
{
    const uint16_t port = port_free();
    server = listen_on(port);
    proxy = proxy_new();
    link_number = proxy_add(proxy, port);
    join();
    return 0;
}

static int end(void **state)
{
    part();
    proxy_free(proxy);
    close(server);
    return 0;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void expect_heard(int fd, const char *text)
{
    char heard[64] = "";
    for (size_t len = 0; len < strlen(text);) {
        assert_true(comes(fd, PATIENCE_MS));
        const ssize_t n = recv(fd, heard + len, strlen(text) - len, 0);
        assert_true(n > 0);
        len += (size_t)n;
    }
    assert_string_equal(heard, text);
}

static void expect_ended(int fd)
{
    char byte;
    assert_true(comes(fd, PATIENCE_MS));
    assert_true(recv(fd, &byte, 1, 0) <= 0);
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void what_is_sent_arrives_both_ways(void **state)
{
    say(client, "there");
    expect_heard(served, "there");
    say(served, "and back");
    expect_heard(client, "and back");
    leave();
    expect_ended(served);
}

static void much_is_carried_whole(void **state)
{
    static char sent[LARGE], heard[LARGE];
    for (size_t i = 0; i < LARGE; i++)
        sent[i] = (char)(i * 31 >> 7);
    for (size_t out = 0, in = 0; in < LARGE;) {
        const ssize_t n =
            out < LARGE ? send(client, sent + out, LARGE - out, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
        out += n > 0 ? (size_t)n : 0;
        if (comes(served, 1)) {
            const ssize_t got = recv(served, heard + in, LARGE - in, 0);
            assert_true(got > 0);
            in += (size_t)got;
        }
    }
    assert_memory_equal(sent, heard, LARGE);
}

static void what_is_held_back_arrives_after_its_sender_has_gone(void **state)
{
    proxy_hold(proxy, link_number, PROXY_THERE | PROXY_BACK);
    wait_ms(SILENCE_MS); /* until it has taken hold */
    say(client, "late");
    leave();
    assert_false(comes(served, SILENCE_MS));
    proxy_hold(proxy, link_number, 0);
    expect_heard(served, "late");
    expect_ended(served);
}

static void one_way_is_cut_and_the_other_is_not(void **state)
{
    proxy_hold(proxy, link_number, PROXY_BACK);
    wait_ms(SILENCE_MS);
    say(client, "there");
    expect_heard(served, "there");
    say(served, "and back");
    assert_false(comes(client, SILENCE_MS));
    proxy_hold(proxy, link_number, 0);
    expect_heard(client, "and back");
}

static void what_is_delayed_arrives_not_before(void **state)
{
    proxy_delay(proxy, link_number, 2 * SILENCE_MS);
    wait_ms(SILENCE_MS);
    say(client, "later");
    assert_false(comes(served, SILENCE_MS));
    expect_heard(served, "later");
}

static void a_reset_ends_both_sides_and_the_next_connection_works(void **state)
{
    say(client, "there");
    expect_heard(served, "there");
    proxy_reset(proxy, link_number);
    expect_ended(client);
    expect_ended(served);
    part();
    join();
    what_is_sent_arrives_both_ways(state);
}

static bool is_refused(void *arg)
{
    const int fd = try_connect();
    (void)arg;
    if (fd >= 0)
        close(fd);
    return fd < 0;
}

static bool is_accepted(void *arg)
{
    return !is_refused(arg);
}

static void a_link_that_refuses_accepts_again(void **state)
{
    proxy_refuse(proxy, link_number, true);
    expect_ended(client);
    assert_true(wait_until(is_refused, NULL, PATIENCE_MS));
    proxy_refuse(proxy, link_number, false);
    assert_true(wait_until(is_accepted, NULL, PATIENCE_MS));
}

static void a_link_to_nobody_ends_what_connects(void **state)
{
    proxy_point(proxy, link_number, port_free());
    const int newcomer = try_connect();
    assert_true(newcomer >= 0);
    expect_ended(newcomer);
    close(newcomer);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

static const struct CMUnitTest cases[] = {
    CASE(what_is_sent_arrives_both_ways),
    CASE(much_is_carried_whole),
    CASE(what_is_held_back_arrives_after_its_sender_has_gone),
    CASE(one_way_is_cut_and_the_other_is_not),
    CASE(what_is_delayed_arrives_not_before),
    CASE(a_reset_ends_both_sides_and_the_next_connection_works),
    CASE(a_link_that_refuses_accepts_again),
    CASE(a_link_to_nobody_ends_what_connects),
};

CASE_MAIN(cases, NULL, NULL)
