/* pawl-bench-load: how many acquire+release pairs a second does a Pawl service do?
 *
 * A closed loop on K keep-alive connections: each asks for a lock, waits for the answer, releases,
 * waits, and begins again. One thread, one epoll, nothing allocated in the loop. Prints one line of
 * JSON. */
#include "tests/bench/answer.h"
#include "tests/bench/clock.h"
#include "tests/bench/tally.h"

#include <argp.h>
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 4096,
    NAMES_MAX = 100 * 1000 * 1000, /* NAME_DIGITS write them all */
    NAME_DIGITS = 8,
    INPUT_MAX = 8192, /* of one answer */
    REQUEST_MAX = 1024,
    LOCK_ID_MAX = 128,
    EVENTS_MAX = 256,           /* of one turn of the loop */
    DRAIN_US = 5 * 1000 * 1000, /* at the end, for the locks still held to be released */
};

struct options {
    uint16_t port;
    unsigned connections;
    unsigned names;
    unsigned ttl_ms;
    unsigned wait_ms;
    double seconds;
    double warmup_s;
    uint64_t pairs; /* stop after so many; 0: only by time */
};

/* ---- requests -------------------------------------------------------------------------------- */

enum phase {
    PHASE_IDLE,
    PHASE_ACQUIRE, /* a POST was sent */
    PHASE_RELEASE, /* a DELETE was sent */
};

struct connection {
    int fd;
    enum phase phase;
    uint64_t sent_us;
    unsigned turn;  /* how many names it has used */
    unsigned first; /* the first of them */

    /* Both requests are written once; what changes later are the digits of the name in both, and
     * the lock id at the end of the second. */
    char acquire[REQUEST_MAX];
    size_t acquire_len;
    char *acquire_name;
    char release[REQUEST_MAX];
    size_t release_len;
    char *release_name;
    char *release_id;

    char input[INPUT_MAX];
    size_t input_len;
};

static void write_requests(struct connection *c, const struct options *options)
{
    /* Names of this run alone: what a run before could not release is not met again. */
    char path[64];
    snprintf(path, sizeof(path), "/v1/locks/bench/%d/", (int)getpid());
    char body[128];
    const int body_len = snprintf(body, sizeof(body), "{\"ttl_ms\":%u,\"wait_ms\":%u}",
                                  options->ttl_ms, options->wait_ms);
    c->acquire_len = (size_t)snprintf(c->acquire, sizeof(c->acquire),
                                      "POST %s%0*u HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                      "Content-Type: application/json\r\n"
                                      "Content-Length: %d\r\n\r\n%s",
                                      path, NAME_DIGITS, 0U, body_len, body);
    const int release_len =
        snprintf(c->release, sizeof(c->release),
                 "DELETE %s%0*u HTTP/1.1\r\nHost: 127.0.0.1\r\nLock-Id: ", path, NAME_DIGITS, 0U);
    c->acquire_name = strstr(c->acquire, path) + strlen(path);
    c->release_name = strstr(c->release, path) + strlen(path);
    c->release_id = c->release + release_len;
}

static void write_name(char *digits, unsigned name)
{
    for (int i = NAME_DIGITS - 1; i >= 0; i--, name /= 10)
        digits[i] = (char)('0' + name % 10);
}

/* K connections walk over M names in steps of K: with M = K each keeps a name of its own, with
 * fewer they share, with more each pair has a name it has not had for long. */
static void next_name(struct connection *c, const struct options *options)
{
    const uint64_t name = c->first + (uint64_t)c->turn++ * options->connections;
    write_name(c->acquire_name, (unsigned)(name % options->names));
    write_name(c->release_name, (unsigned)(name % options->names));
}

static void send_all(struct connection *c, const char *bytes, size_t len)
{
    /* The answer to the request before has come, so the socket's buffer is empty: it takes all. */
    if (send(c->fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
        err(1, "cannot send to the service");
}

static void send_acquire(struct connection *c, const struct options *options, uint64_t now_us)
{
    next_name(c, options);
    c->phase = PHASE_ACQUIRE;
    c->sent_us = now_us;
    send_all(c, c->acquire, c->acquire_len);
}

static void send_release(struct connection *c, uint64_t now_us)
{
    c->phase = PHASE_RELEASE;
    c->sent_us = now_us;
    send_all(c, c->release, c->release_len);
}

static void write_lock_id(struct connection *c, const char *id, size_t id_len)
{
    static const char end[] = "\r\n\r\n";
    if (id_len > LOCK_ID_MAX)
        errx(1, "a lock id of %zu bytes", id_len);
    memcpy(c->release_id, id, id_len);
    memcpy(c->release_id + id_len, end, strlen(end));
    c->release_len = (size_t)(c->release_id - c->release) + id_len + strlen(end);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Counts the answer, and sends what comes next. */
static void advance(struct connection *c, const struct answer *answer,
                    const struct options *options, struct tally *tally)
{
    const uint64_t now_us = clock_us();
    const bool acquired = c->phase == PHASE_ACQUIRE;
    const bool good = answer->status == (acquired ? 201 : 200);
    tally_add(tally, acquired, good, answer->status, now_us - c->sent_us);
    if (options->pairs > 0 && tally->pairs == options->pairs && tally->ended_us == 0)
        tally->ended_us = now_us;

    const char *id;
    size_t id_len;
    if (acquired && good) {
        if (!answer_lock_id(answer, &id, &id_len))
            errx(1, "a grant without a lock_id: %.*s", (int)answer->body_len, answer->body);
        write_lock_id(c, id, id_len);
        send_release(c, now_us);
    } else if (!acquired && answer->status == 503) {
        send_release(c, now_us); /* unknown whether it was released: safe to repeat */
    } else if (tally->ended_us == 0) {
        send_acquire(c, options, now_us);
    } else {
        c->phase = PHASE_IDLE;
    }
}

static void on_readable(struct connection *c, const struct options *options, struct tally *tally)
{
    const ssize_t n = recv(c->fd, c->input + c->input_len, INPUT_MAX - c->input_len, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n < 0)
        err(1, "cannot read from the service");
    if (n == 0)
        errx(1, "the service closed a connection, or sent more than %d bytes", INPUT_MAX);
    c->input_len += (size_t)n;

    struct answer answer;
    switch (answer_read(c->input, c->input_len, &answer)) {
    case ANSWER_PARTIAL:
        return;
    case ANSWER_BROKEN:
        errx(1, "not an answer: %.*s", (int)c->input_len, c->input);
    case ANSWER_WHOLE:
        if (answer.len != c->input_len)
            errx(1, "more than one answer to one request");
        c->input_len = 0;
        advance(c, &answer, options, tally);
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void open_connection(struct connection *c, unsigned index, const struct options *options,
                            int epoll)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(options->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        err(1, "cannot connect to 127.0.0.1:%u", (unsigned)options->port);
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd,
                  &(struct epoll_event){.events = EPOLLIN, .data.ptr = c}) != 0)
        err(1, "epoll_ctl");
    c->first = index;
    write_requests(c, options);
}

static unsigned busy(const struct connection *connections, unsigned count)
{
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++)
        n += connections[i].phase != PHASE_IDLE;
    return n;
}

/* One turn: waits until something can be read, at most until @until_us. */
static void turn(int epoll, uint64_t until_us, const struct options *options, struct tally *tally)
{
    struct epoll_event events[EVENTS_MAX];
    const uint64_t now_us = clock_us();
    const uint64_t left_us = until_us > now_us ? until_us - now_us : 0;
    const int n = epoll_wait(epoll, events, EVENTS_MAX, (int)(left_us / 1000) + 1);
    if (n < 0 && errno != EINTR)
        err(1, "epoll_wait");
    for (int i = 0; i < n; i++)
        on_readable(events[i].data.ptr, options, tally);
}

static void run(const struct options *options, struct connection *connections, int epoll,
                struct tally *tally)
{
    const uint64_t start_us = clock_us();
    const uint64_t warm_us = start_us + (uint64_t)(options->warmup_s * 1e6);
    const uint64_t end_us = warm_us + (uint64_t)(options->seconds * 1e6);
    for (unsigned i = 0; i < options->connections; i++)
        send_acquire(&connections[i], options, clock_us());

    while (clock_us() < warm_us)
        turn(epoll, warm_us, options, tally);
    tally_begin(tally);

    while (tally->ended_us == 0 && clock_us() < end_us)
        turn(epoll, end_us, options, tally);
    if (tally->ended_us == 0)
        tally->ended_us = clock_us();

    const uint64_t drained_us = clock_us() + DRAIN_US;
    while (busy(connections, options->connections) > 0 && clock_us() < drained_us)
        turn(epoll, drained_us, options, tally);
}

/* ---- the command line ------------------------------------------------------------------------ */

static const struct argp_option option_list[] = {
    {"port", 'p', "PORT", 0, "Where pawld listens on 127.0.0.1 (default 7380)", 0},
    {"connections", 'c', "K", 0, "Keep-alive connections (default 64)", 0},
    {"names", 'n', "M", 0, "Names in use (default: K, no contention)", 0},
    {"seconds", 's', "S", 0, "How long to measure (default 5)", 0},
    {"warmup", 'w', "S", 0, "How long to run before that (default 0.3; 0 with --pairs)", 0},
    {"pairs", 'N', "N", 0, "Stop after N pairs, or the seconds if they are over before", 0},
    {"ttl-ms", 't', "MS", 0, "The TTL asked for (default 30000)", 0},
    {"wait-ms", 'W', "MS", 0, "The wait asked for (default 0)", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'p':
        options->port = (uint16_t)tally_option(arg, 1, UINT16_MAX, state);
        return 0;
    case 'c':
        options->connections = (unsigned)tally_option(arg, 1, CONNECTIONS_MAX, state);
        return 0;
    case 'n':
        options->names = (unsigned)tally_option(arg, 1, NAMES_MAX, state);
        return 0;
    case 's':
        options->seconds = tally_option(arg, 0, 86400, state);
        return 0;
    case 'w':
        options->warmup_s = tally_option(arg, 0, 3600, state);
        return 0;
    case 'N':
        options->pairs = (uint64_t)tally_option(arg, 1, 1e12, state);
        options->warmup_s = 0;
        return 0;
    case 't':
        options->ttl_ms = (unsigned)tally_option(arg, 1, 1e9, state);
        return 0;
    case 'W':
        options->wait_ms = (unsigned)tally_option(arg, 0, 1e9, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_list,
        .parser = parse_option,
        .doc = "Measures acquire+release pairs per second of a Pawl service.",
    };
    struct options options = {
        .port = 7380, .connections = 64, .ttl_ms = 30000, .seconds = 5, .warmup_s = 0.3};
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (options.names == 0)
        options.names = options.connections;

    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct connection *connections = calloc(options.connections, sizeof(*connections));
    struct tally *tally = calloc(1, sizeof(*tally));
    if (epoll < 0 || !connections || !tally)
        err(1, "cannot start");
    for (unsigned i = 0; i < options.connections; i++)
        open_connection(&connections[i], i, &options, epoll);
    run(&options, connections, epoll, tally);
    tally_print(tally, options.connections, options.names);

    for (unsigned i = 0; i < options.connections; i++)
        close(connections[i].fd);
    close(epoll);
    free(tally);
    free(connections);
    return 0;
}
