#include "scripts/bench.d/programs/lazy.h"

#include "scripts/bench.d/programs/outside.h"

#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    DEAF_AT_ONCE = 128, /* requests of a deaf client when it begins */
    ANSWER_MAX = 4096,
};

static const char slow_head[] = "GET /v1/locks/lazy/slow HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
                                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
static const char long_request[] = "GET /v1/fleet HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
static const char short_request[] = "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

struct client {
    int fd;
    unsigned sent; /* bytes of the head, by a slow one */
};

static struct {
    uint16_t port;
    struct lazy_counts counts;
    struct client *slow, *deaf, *idle;
    unsigned reopened;
} lazy;

/* False: the connection has ended. */
static bool say_bytes(int fd, const char *bytes, size_t len)
{
    return send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len || errno == EAGAIN;
}

/* Without reading: nothing is taken from what a deaf client leaves. */
static bool stands(int fd)
{
    char byte;
    ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
}

static void open_idle(struct client *client)
{
    char answer[ANSWER_MAX];
    client->fd = outside_connect(lazy.port);
    if (!say_bytes(client->fd, short_request, sizeof(short_request) - 1) ||
        recv(client->fd, answer, sizeof(answer), 0) <= 0)
        errx(1, "the service does not answer an idle client");
}

static void open_again(struct client *client)
{
    (void)close(client->fd);
    client->fd = outside_connect(lazy.port);
    client->sent = 0;
    lazy.reopened++;
}

/* What it was refused with stands in the socket, so a slow one looks further than stands(). */
static bool has_answer(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

static void go_slow(struct client *client)
{
    if (has_answer(client->fd) || client->sent == sizeof(slow_head) - 1 ||
        !say_bytes(client->fd, slow_head + client->sent, 1))
        open_again(client);
    else
        client->sent++;
}

/* A client that never reads needs no room of its own for answers. */
static void shrink(int fd)
{
    const int least = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)) != 0)
        err(1, "setsockopt");
}

/* More at once than the service keeps answers for, and later one each second: what it does not read
 * stands in the kernel. False: the connection has ended, or half a request stands there. */
static bool ask_for_much(int fd, unsigned requests)
{
    static char bytes[DEAF_AT_ONCE * (sizeof(long_request) - 1)];
    const size_t len = sizeof(long_request) - 1;
    for (unsigned i = 0; i < requests; i++)
        memcpy(bytes + i * len, long_request, len);
    return say_bytes(fd, bytes, requests * len);
}

static void open_deaf(struct client *client)
{
    client->fd = outside_connect(lazy.port);
    shrink(client->fd);
    if (!ask_for_much(client->fd, DEAF_AT_ONCE))
        errx(1, "the service does not take the requests of a deaf client");
}

static void go_deaf(struct client *client)
{
    if (ask_for_much(client->fd, 1))
        return;
    (void)close(client->fd);
    open_deaf(client);
    lazy.reopened++;
}

static struct client *make_clients(unsigned count)
{
    struct client *clients = calloc(count > 0 ? count : 1, sizeof(*clients));
    if (clients == NULL)
        errx(1, "there is no memory");
    return clients;
}

void lazy_begin(uint16_t port, const struct lazy_counts *counts)
{
    lazy.port = port;
    lazy.counts = *counts;
    lazy.slow = make_clients(counts->slow);
    lazy.deaf = make_clients(counts->deaf);
    lazy.idle = make_clients(counts->idle);
    for (unsigned i = 0; i < counts->slow; i++)
        lazy.slow[i].fd = outside_connect(port);
    for (unsigned i = 0; i < counts->deaf; i++)
        open_deaf(&lazy.deaf[i]);
    for (unsigned i = 0; i < counts->idle; i++)
        open_idle(&lazy.idle[i]);
}

static void go_idle(struct client *client)
{
    if (stands(client->fd))
        return;
    (void)close(client->fd);
    open_idle(client);
    lazy.reopened++;
}

/* Of @count clients those whose moment of the second @tick is. */
static void go_each(void (*go)(struct client *), struct client *clients, unsigned count,
                    unsigned tick)
{
    for (unsigned i = count * tick / LAZY_TICKS; i < count * (tick + 1) / LAZY_TICKS; i++)
        go(&clients[i]);
}

void lazy_tick(unsigned tick)
{
    go_each(go_slow, lazy.slow, lazy.counts.slow, tick);
    go_each(go_deaf, lazy.deaf, lazy.counts.deaf, tick);
    go_each(go_idle, lazy.idle, lazy.counts.idle, tick);
}

unsigned lazy_reopened(void)
{
    return lazy.reopened;
}

static unsigned count_standing(const struct client *clients, unsigned count)
{
    unsigned standing = 0;
    for (unsigned i = 0; i < count; i++)
        standing += stands(clients[i].fd);
    return standing;
}

unsigned lazy_held(void)
{
    return count_standing(lazy.slow, lazy.counts.slow) +
           count_standing(lazy.deaf, lazy.counts.deaf) +
           count_standing(lazy.idle, lazy.counts.idle);
}
