#include "scripts/bench.d/programs/closed_loop.h"

#include "scripts/bench.d/programs/names.h"
#include "scripts/bench.d/programs/outside.h"
#include "scripts/bench.d/programs/secure.h"
#include "scripts/bench.d/programs/tally.h"
#include "tests/lib/answer.h"
#include "tests/lib/clock.h"

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    INPUT_MAX = 8192,           /* of one answer */
    EVENTS_MAX = 256,           /* of one turn of the loop */
    DRAIN_US = 5 * 1000 * 1000, /* at the end, for the locks still held to be released */
};

enum phase {
    PHASE_IDLE,
    PHASE_ACQUIRE, /* asked for the lock */
    PHASE_RELEASE,
};

struct connection {
    int fd;
    struct secure *secure; /* NULL: plain HTTP */
    enum phase phase;
    unsigned turn; /* how many locks it has asked for */
    uint64_t sent_us;
    struct loop_lock lock;
    char input[INPUT_MAX];
    size_t input_len;
};

struct loop {
    const struct loop_options *options;
    const struct loop_service *service;
    int epoll;
    unsigned names;
    struct connection *connections;
    struct tally tally;
};

/* ---- requests -------------------------------------------------------------------------------- */

static void send_all(struct connection *c, const char *bytes, size_t len, uint64_t now_us)
{
    c->sent_us = now_us;
    /* The answer to the request before has come, so the socket's buffer is empty: it takes all. */
    const bool sent = c->secure ? secure_send(c->secure, bytes, len)
                                : send(c->fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
    if (!sent)
        err(1, "cannot send to the service");
}

static void send_acquire(struct loop *loop, struct connection *c, uint64_t now_us)
{
    const struct loop_service *service = loop->service;
    char request[LOOP_REQUEST_MAX];
    c->lock.name =
        names_next(c->lock.connection, c->turn++, loop->options->connections, loop->names);
    c->phase = PHASE_ACQUIRE;
    send_all(c, request, service->write_acquire(service->context, &c->lock, request), now_us);
}

static void send_release(struct loop *loop, struct connection *c, uint64_t now_us)
{
    const struct loop_service *service = loop->service;
    char request[LOOP_REQUEST_MAX];
    c->phase = PHASE_RELEASE;
    send_all(c, request, service->write_release(service->context, &c->lock, request), now_us);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void keep_id(struct loop *loop, struct connection *c, const struct answer *answer)
{
    const char *id;
    size_t len;
    if (!answer_string(answer, loop->service->id_member, &id, &len) || len > LOOP_ID_MAX)
        errx(1, "a grant without its %s: %.*s", loop->service->id_member, (int)answer->body_len,
             answer->body);
    memcpy(c->lock.id, id, len);
    c->lock.id[len] = '\0';
}

/* Counts the answer, and sends what comes next. */
static void advance(struct loop *loop, struct connection *c, const struct answer *answer)
{
    struct tally *tally = &loop->tally;
    const uint64_t now_us = clock_us();
    const bool acquired = c->phase == PHASE_ACQUIRE;
    const bool good = answer->status == (acquired ? loop->service->granted : 200);
    tally_add(tally, acquired, good, answer->status, now_us - c->sent_us);
    if (loop->options->pairs > 0 && tally->pairs == loop->options->pairs && tally->ended_us == 0)
        tally->ended_us = now_us;

    if (acquired && good) {
        keep_id(loop, c, answer);
        send_release(loop, c, now_us);
    } else if (!acquired && answer->status == 503) {
        send_release(loop, c, now_us); /* unknown whether it was released: safe to repeat */
    } else if (tally->ended_us == 0) {
        send_acquire(loop, c, now_us);
    } else {
        c->phase = PHASE_IDLE;
    }
}

static ssize_t receive(struct connection *c, char *buffer, size_t size)
{
    return c->secure ? secure_receive(c->secure, buffer, size)
                     : recv(c->fd, buffer, size, MSG_DONTWAIT);
}

static void on_readable(struct loop *loop, struct connection *c)
{
    const ssize_t n = receive(c, c->input + c->input_len, INPUT_MAX - c->input_len);
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
        advance(loop, c, &answer);
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void open_connection(struct loop *loop, unsigned index)
{
    struct connection *c = &loop->connections[index];
    const uint16_t port = loop->options->port[index % loop->options->ports];
    c->lock.connection = index;
    c->fd = outside_connect(port);
    if (loop->options->tls)
        c->secure = secure_new(c->fd);
    if (loop->service->prepare)
        loop->service->prepare(loop->service->context, index, c->fd);
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, c->fd,
                  &(struct epoll_event){.events = EPOLLIN, .data.ptr = c}) != 0)
        err(1, "epoll_ctl");
}

static unsigned busy(const struct loop *loop)
{
    unsigned n = 0;
    for (unsigned i = 0; i < loop->options->connections; i++)
        n += loop->connections[i].phase != PHASE_IDLE;
    return n;
}

/* One turn: waits until something can be read, at most until @until_us. */
static void turn(struct loop *loop, uint64_t until_us)
{
    struct epoll_event events[EVENTS_MAX];
    const uint64_t now_us = clock_us();
    const uint64_t left_us = until_us > now_us ? until_us - now_us : 0;
    const int n = epoll_wait(loop->epoll, events, EVENTS_MAX, (int)(left_us / 1000) + 1);
    if (n < 0 && errno != EINTR)
        err(1, "epoll_wait");
    for (int i = 0; i < n; i++) {
        struct connection *c = events[i].data.ptr;
        do
            on_readable(loop, c);
        while (c->secure && secure_has_more(c->secure));
    }
}

static void measure(struct loop *loop)
{
    const struct loop_options *options = loop->options;
    struct tally *tally = &loop->tally;
    const uint64_t warm_us = clock_us() + (uint64_t)(options->warmup_s * 1e6);
    const uint64_t end_us = warm_us + (uint64_t)(options->seconds * 1e6);
    tally_begin(tally);
    for (unsigned i = 0; i < options->connections; i++)
        send_acquire(loop, &loop->connections[i], clock_us());

    while (clock_us() < warm_us)
        turn(loop, warm_us);
    if (options->warmup_s > 0)
        tally_begin(tally);

    while (tally->ended_us == 0 && clock_us() < end_us)
        turn(loop, end_us);
    if (tally->ended_us == 0)
        tally->ended_us = clock_us();

    const uint64_t drained_us = clock_us() + DRAIN_US;
    while (busy(loop) > 0 && clock_us() < drained_us)
        turn(loop, drained_us);
}

void loop_run(const struct loop_options *options, const struct loop_service *service)
{
    struct loop *loop = calloc(1, sizeof(*loop));
    struct connection *connections = calloc(options->connections, sizeof(*connections));
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!loop || !connections || epoll < 0)
        err(1, "cannot start");
    loop->options = options;
    loop->service = service;
    loop->epoll = epoll;
    loop->names = options->names > 0 ? options->names : options->connections;
    loop->connections = connections;
    for (unsigned i = 0; i < options->connections; i++)
        open_connection(loop, i);
    measure(loop);
    tally_print(&loop->tally, options->connections, loop->names);

    for (unsigned i = 0; i < options->connections; i++) {
        secure_free(connections[i].secure);
        close(connections[i].fd);
    }
    close(epoll);
    free(connections);
    free(loop);
}

/* ---- the command line ------------------------------------------------------------------------ */

void loop_options_init(struct loop_options *ret_options)
{
    *ret_options = (struct loop_options){.connections = 64, .seconds = 5, .warmup_s = 0.3};
}

static const struct argp_option option_list[] = {
    {"port", 'p', "PORT", 0, "Where the service listens on 127.0.0.1; once for each server", 0},
    {"connections", 'c', "K", 0, "Keep-alive connections (default 64)", 0},
    {"names", 'n', "M", 0, "Names in use (default: K, no contention)", 0},
    {"seconds", 's', "S", 0, "How long to measure (default 5)", 0},
    {"warmup", 'w', "S", 0, "How long to run before that (default 0.3; 0 with --pairs)", 0},
    {"tls", 'T', NULL, 0, "Speak TLS", 0},
    {"pairs", 'N', "N", 0, "Stop after N pairs, or the seconds if they are over before", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct loop_options *options = state->input;
    switch (key) {
    case 'p':
        if (options->ports == LOOP_PORTS_MAX)
            argp_error(state, "more than %d ports", LOOP_PORTS_MAX);
        options->port[options->ports++] = (uint16_t)tally_option(arg, 1, UINT16_MAX, state);
        return 0;
    case 'c':
        options->connections = (unsigned)tally_option(arg, 1, LOOP_CONNECTIONS_MAX, state);
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
    case 'T':
        options->tls = true;
        return 0;
    case ARGP_KEY_END:
        if (options->ports == 0)
            argp_error(state, "give at least one --port");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp loop_argp = {.options = option_list, .parser = parse_option};
