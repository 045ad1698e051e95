/* pawl-bench-readers: N clients follow the events of a pawld for some seconds. Each follows all
 * names, or a name of its own that nobody locks. Or none of them ever reads. One thread. Prints one
 * line of JSON: what they got together. */
#include "scripts/bench.d/programs/outside.h"
#include "scripts/bench.d/programs/tally.h"
#include "tests/lib/clock.h"

#include <argp.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    READERS_MAX = 20000,
    DESCRIPTORS_MORE = 32, /* beside the readers' connections */
    EVENTS_MAX = 256,
    READ_MAX = 128 * 1024,
    REQUEST_MAX = 256,
    WAIT_MS = 100,
};

struct options {
    uint16_t port;
    unsigned readers;
    unsigned seconds;
    bool own; /* each follows a name of its own */
    bool deaf;
};

struct counts {
    uint64_t bytes, events, gaps;
    unsigned ended;
};

static const struct argp_option option_list[] = {
    {"port", 'p', "PORT", 0, "Where pawld listens", 0},
    {"readers", 'r', "N", 0, "How many clients (default 1000)", 0},
    {"seconds", 's', "S", 0, "For how long (default 5)", 0},
    {"own", 'o', NULL, 0, "Each follows a name of its own", 0},
    {"deaf", 'd', NULL, 0, "None ever reads", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'p':
        options->port = (uint16_t)tally_option(arg, 1, UINT16_MAX, state);
        return 0;
    case 'r':
        options->readers = (unsigned)tally_option(arg, 1, READERS_MAX, state);
        return 0;
    case 's':
        options->seconds = (unsigned)tally_option(arg, 1, 3600, state);
        return 0;
    case 'o':
        options->own = true;
        return 0;
    case 'd':
        options->deaf = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void follow(const struct options *options, int epoll, unsigned i)
{
    char request[REQUEST_MAX], prefix[64] = "";
    const int fd = outside_connect(options->port);
    if (options->own)
        (void)snprintf(prefix, sizeof(prefix), "bench/own/%u", i);
    const int len =
        snprintf(request, sizeof(request),
                 "GET /v1/events?prefix=%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", prefix);
    if (send(fd, request, (size_t)len, MSG_NOSIGNAL) != len)
        err(1, "send");
    struct epoll_event event = {.events = options->deaf ? 0 : EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        err(1, "epoll_ctl");
}

static uint64_t count_text(const char *text, size_t len, const char *what)
{
    uint64_t count = 0;
    const char *end = text + len;
    while ((text = memmem(text, (size_t)(end - text), what, strlen(what))) != NULL) {
        count++;
        text += strlen(what);
    }
    return count;
}

static void read_some(int epoll, int fd, struct counts *counts)
{
    static char text[READ_MAX];
    const ssize_t got = recv(fd, text, sizeof(text), MSG_DONTWAIT);
    if (got > 0) {
        counts->bytes += (uint64_t)got;
        counts->events += count_text(text, (size_t)got, "\nid: ");
        counts->gaps += count_text(text, (size_t)got, "event: gap\n");
    } else if (got == 0 || errno != EAGAIN) {
        counts->ended++;
        (void)epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
        (void)close(fd);
    }
}

static void read_all(const struct options *options, int epoll, struct counts *counts)
{
    struct epoll_event events[EVENTS_MAX];
    const uint64_t until_us = clock_us() + options->seconds * UINT64_C(1000000);
    while (clock_us() < until_us) {
        const int count = epoll_wait(epoll, events, EVENTS_MAX, WAIT_MS);
        for (int i = 0; i < count; i++)
            read_some(epoll, events[i].data.fd, counts);
    }
}

int main(int argc, char **argv)
{
    static const struct argp argp = {.options = option_list, .parser = parse_option};
    struct options options = {.readers = 1000, .seconds = 5};
    struct counts counts = {0};
    (void)argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (options.port == 0)
        errx(2, "--port is missing");
    outside_raise_descriptors(options.readers + DESCRIPTORS_MORE);
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0)
        err(1, "epoll_create1");
    for (unsigned i = 0; i < options.readers; i++)
        follow(&options, epoll, i);
    read_all(&options, epoll, &counts);
    printf("{\"readers\": %u, \"seconds\": %u, \"bytes\": %" PRIu64 ", \"events\": %" PRIu64
           ", \"gaps\": %" PRIu64 ", \"ended\": %u}\n",
           options.readers, options.seconds, counts.bytes, counts.events, counts.gaps,
           counts.ended);
    return 0;
}
