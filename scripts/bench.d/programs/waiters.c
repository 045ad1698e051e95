/* pawl-bench-waiters: what does a lock cost that many wait for?
 *
 * Parks N connections on one name, one after the other, so that it is known who came first. Then
 * the lock goes from hand to hand: its holder releases, and whoever is granted it next releases in
 * turn. Measured is the time from the release that was sent to the grant that arrived, and how
 * often a waiter was overtaken: grants to others that came after it, while it waited. Checked is
 * that whoever gets it was the first in line of its server, that nobody is left out, and that there
 * is one holder at a time. One thread. Prints one line of JSON; exit status 1 if a check failed.
 *
 * A worker is a server of its own: pawld has to run with one (--workers 1). */
#include "scripts/bench.d/programs/histogram.h"
#include "scripts/bench.d/programs/outside.h"
#include "scripts/bench.d/programs/tally.h"
#include "tests/lib/answer.h"
#include "tests/lib/clock.h"

#include <argp.h>
#include <assert.h>
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
    SERVERS_MAX = 8,
    REDIS_MAX = 9,
    WAITERS_MAX = 60000,
    HANDOVERS_MAX = 1000 * 1000,
    DESCRIPTORS_MORE = 32, /* beside the waiters' connections */
    INPUT_MAX = 2048,      /* of one answer */
    REQUEST_MAX = 512,
    LOCK_ID_MAX = 64,
    EVENTS_MAX = 64,
    TTL_MS = 60 * 1000,
    HOLD_MAX_US = 500 * 1000,
    WAIT_MS = 300 * 1000,
    PATIENCE_US = 10 * 1000 * 1000, /* then what does not come is lost */
    GRACE_US = 100 * 1000,          /* at the end, for what should not come */
};

struct options {
    uint16_t ports[SERVERS_MAX];
    unsigned servers;
    pid_t pids[SERVERS_MAX];
    unsigned pids_count;
    uint16_t redis[REDIS_MAX];
    unsigned redis_count;
    unsigned waiters;
    unsigned handovers;
    unsigned hold_us;
    bool uneven;
};

enum phase {
    PHASE_IDLE,
    PHASE_WAITING,   /* its POST was sent */
    PHASE_HOLDING,   /* it was granted the lock */
    PHASE_RELEASING, /* its DELETE was sent */
};

struct client {
    int fd;
    unsigned server;
    enum phase phase;
    struct client *behind; /* WAITING: the next to come to the same server */
    uint64_t came;         /* WAITING: so many came before it */
    unsigned overtaken;    /* WAITING: grants to those that came after it */
    char lock_id[LOCK_ID_MAX + 1];
    char input[INPUT_MAX];
    size_t input_len;
};

/* Those who wait at one server, in the order in which they came. */
struct line {
    struct client *first;
    struct client *last;
    unsigned length;
    int control; /* a connection of its own, for questions */
};

struct bench {
    const struct options *options;
    char path[64]; /* of the lock */
    int epoll;
    struct client *clients;
    struct line lines[SERVERS_MAX];
    struct client *holder; /* NULL: it is on its way from one to the next */
    int64_t token;         /* the last that was granted */
    uint64_t sent_us;      /* when the last release was */
    struct histogram handover_us;
    struct histogram overtaken; /* by waiter */
    uint64_t came;              /* waiters, ever */
    unsigned handovers;
    unsigned lost;
    unsigned twice;
    bool in_order;
};

static bool all_is_well(const struct bench *bench)
{
    return bench->in_order && bench->lost == 0 && bench->twice == 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void send_request(int fd, const char *method, const char *path, const char *headers,
                         const char *body)
{
    char request[REQUEST_MAX];
    const int len = snprintf(request, sizeof(request),
                             "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%sContent-Length: %zu\r\n\r\n%s",
                             method, path, headers, strlen(body), body);
    if (send(fd, request, (size_t)len, MSG_NOSIGNAL) != len)
        err(1, "cannot send to the service");
}

static void send_acquire(struct bench *bench, struct client *client, unsigned wait_ms)
{
    char body[64];
    snprintf(body, sizeof(body), "{\"ttl_ms\":%d,\"wait_ms\":%u}", TTL_MS, wait_ms);
    client->phase = PHASE_WAITING;
    send_request(client->fd, "POST", bench->path, "Content-Type: application/json\r\n", body);
}

static void send_release(struct bench *bench, struct client *client)
{
    char headers[LOCK_ID_MAX + 16];
    snprintf(headers, sizeof(headers), "Lock-Id: %s\r\n", client->lock_id);
    client->phase = PHASE_RELEASING;
    send_request(client->fd, "DELETE", bench->path, headers, "");
}

/* Reads what there is. True: an answer is whole; its bytes stay in the input until the next. */
static bool receive(int fd, char input[static INPUT_MAX], size_t *len, int flags,
                    struct answer *ret_answer)
{
    const ssize_t n = recv(fd, input + *len, INPUT_MAX - *len, flags);
    if (n < 0 && errno == EAGAIN)
        return false;
    if (n <= 0)
        err(1, "the service closed a connection, or sent more than %d bytes", INPUT_MAX);
    *len += (size_t)n;
    const enum answer_state state = answer_read(input, *len, ret_answer);
    if (state == ANSWER_BROKEN || (state == ANSWER_WHOLE && ret_answer->len != *len))
        errx(1, "not one answer: %.*s", (int)*len, input);
    if (state == ANSWER_WHOLE)
        *len = 0;
    return state == ANSWER_WHOLE;
}

/* The integer behind "@name": in the body; -1 if there is none. */
static int64_t member(const struct answer *answer, const char *name)
{
    const char *found = memmem(answer->body, answer->body_len, name, strlen(name));
    return found ? strtoll(found + strlen(name), NULL, 10) : -1;
}

/* How many wait at the server by its own count. */
static int64_t ask_length(const struct bench *bench, unsigned server)
{
    char input[INPUT_MAX];
    size_t len = 0;
    struct answer answer;
    send_request(bench->lines[server].control, "GET", bench->path, "", "");
    while (!receive(bench->lines[server].control, input, &len, 0, &answer))
        ;
    return member(&answer, "\"waiters\":");
}

/* Waits until the server counts as many as stand in the line here; false if it never does. */
static bool settle(const struct bench *bench, unsigned server)
{
    const uint64_t until_us = clock_us() + PATIENCE_US;
    while (clock_us() < until_us)
        if (ask_length(bench, server) == bench->lines[server].length)
            return true;
    return false;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Goes to the end of its server's line, and returns when the server has it there. */
static void join(struct bench *bench, struct client *client)
{
    struct line *line = &bench->lines[client->server];
    client->behind = NULL;
    if (line->first)
        line->last->behind = client;
    else
        line->first = client;
    line->last = client;
    line->length++;
    client->came = bench->came++;
    client->overtaken = 0;
    send_acquire(bench, client, WAIT_MS);
    if (!settle(bench, client->server))
        errx(1, "the service does not count its waiters as they come");
}

static void leave_as_first(struct bench *bench, const struct client *client)
{
    struct line *line = &bench->lines[client->server];
    line->first = client->behind;
    line->length--;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void take(struct bench *bench, struct client *client, const struct answer *answer)
{
    const char *id;
    size_t id_len;
    if (!answer_lock_id(answer, &id, &id_len) || id_len > LOCK_ID_MAX)
        errx(1, "a grant without a lock_id: %.*s", (int)answer->body_len, answer->body);
    memcpy(client->lock_id, id, id_len);
    client->lock_id[id_len] = '\0';
    client->phase = PHASE_HOLDING;
    bench->holder = client;
    bench->token = member(answer, "\"token\":");
}

/* Those of one server are served in the order in which they came. */
static void count_overtaken(struct bench *bench, const struct client *granted)
{
    for (unsigned s = 0; s < bench->options->servers; s++)
        for (struct client *at = bench->lines[s].first; at && at->came < granted->came;
             at = at->behind)
            at->overtaken++;
    if (granted->came >= bench->options->waiters)
        histogram_add(&bench->overtaken, granted->overtaken);
}

/* At the end some still wait. */
static void add_overtaken(struct bench *bench)
{
    for (unsigned s = 0; s < bench->options->servers; s++)
        for (const struct client *at = bench->lines[s].first; at; at = at->behind)
            histogram_add(&bench->overtaken, at->overtaken);
}

static void on_grant(struct bench *bench, struct client *client, const struct answer *answer)
{
    const uint64_t now_us = clock_us();
    if (bench->holder || member(answer, "\"token\":") <= bench->token) {
        bench->twice++;
        return;
    }
    if (bench->lines[client->server].first != client) {
        bench->in_order = false;
        return;
    }
    histogram_add(&bench->handover_us, now_us - bench->sent_us);
    bench->handovers++;
    leave_as_first(bench, client);
    count_overtaken(bench, client);
    take(bench, client, answer);
}

static void on_answer(struct bench *bench, struct client *client, const struct answer *answer)
{
    const bool releasing = client->phase == PHASE_RELEASING;
    client->phase = PHASE_IDLE;
    if (releasing && answer->status != 200)
        errx(1, "a release failed: %.*s", (int)answer->body_len, answer->body);
    if (!releasing && answer->status == 201)
        on_grant(bench, client, answer);
    else if (!releasing)
        bench->lost++; /* it waited, and was sent away */
}

static void turn(struct bench *bench)
{
    struct epoll_event events[EVENTS_MAX];
    const int n = epoll_wait(bench->epoll, events, EVENTS_MAX, GRACE_US / 1000);
    if (n < 0 && errno != EINTR)
        err(1, "epoll_wait");
    for (int i = 0; i < n; i++) {
        struct client *client = events[i].data.ptr;
        struct answer answer;
        if (receive(client->fd, client->input, &client->input_len, MSG_DONTWAIT, &answer))
            on_answer(bench, client, &answer);
    }
}

/* ---- the run --------------------------------------------------------------------------------- */

/* The holder releases; returns when somebody else holds the lock, and the release was answered. */
static void hand_over(struct bench *bench)
{
    struct client *before = bench->holder;
    bench->holder = NULL;
    bench->sent_us = clock_us();
    const uint64_t until_us = bench->sent_us + PATIENCE_US;
    send_release(bench, before);
    while (all_is_well(bench) && (!bench->holder || before->phase == PHASE_RELEASING)) {
        turn(bench);
        if (clock_us() > until_us)
            bench->lost++; /* whoever it was that should have been granted it */
    }
    if (all_is_well(bench) && bench->options->handovers > bench->options->waiters)
        join(bench, before);
    if (bench->options->hold_us > 0)
        usleep(bench->options->hold_us);
}

static uint64_t script_calls(const struct options *options)
{
    uint64_t calls = 0;
    for (unsigned i = 0; i < options->redis_count; i++)
        calls += outside_script_calls(options->redis[i]);
    return calls;
}

static uint64_t memory(const struct options *options)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < options->pids_count; i++)
        bytes += outside_memory(options->pids[i]);
    return bytes;
}

/* Each connection has had an answer before it waits: an older one takes more memory than a new one,
 * and those that wait are mostly old. */
static void open_client(struct bench *bench, struct client *client, unsigned server)
{
    struct answer answer;
    client->server = server;
    client->fd = outside_connect(bench->options->ports[server]);
    send_request(client->fd, "GET", "/livez", "", "");
    while (!receive(client->fd, client->input, &client->input_len, 0, &answer))
        ;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    if (epoll_ctl(bench->epoll, EPOLL_CTL_ADD, client->fd, &event) != 0)
        err(1, "epoll_ctl");
}

/* Uneven: half of all wait at the first server. */
static unsigned server_of(const struct options *options, unsigned i)
{
    if (!options->uneven || options->servers == 1)
        return i % options->servers;
    return i % 2 ? 0 : 1 + i / 2 % (options->servers - 1);
}

/* The first client takes the lock, the others wait for it. */
static void park(struct bench *bench)
{
    const struct options *options = bench->options;
    struct client *first = &bench->clients[0];
    struct answer answer;
    assert(options->servers > 0); /* or the options would have been refused */
    open_client(bench, first, 0);
    send_acquire(bench, first, 0);
    while (!receive(first->fd, first->input, &first->input_len, 0, &answer))
        ;
    if (answer.status != 201)
        errx(1, "cannot take the lock: %.*s", (int)answer.body_len, answer.body);
    take(bench, first, &answer);
    for (unsigned i = 1; i <= options->waiters; i++) {
        open_client(bench, &bench->clients[i], server_of(options, i));
        join(bench, &bench->clients[i]);
    }
}

/* Everybody goes: first those who wait, so that nobody is granted the lock, then who has it. */
static void leave(struct bench *bench)
{
    for (unsigned i = 0; i <= bench->options->waiters; i++)
        if (&bench->clients[i] != bench->holder)
            close(bench->clients[i].fd);
    for (unsigned i = 0; i < bench->options->servers; i++) {
        bench->lines[i].length = 0;
        if (!settle(bench, i))
            errx(1, "clients that have gone still wait");
    }
    send_release(bench, bench->holder);
    while (bench->holder->phase == PHASE_RELEASING)
        turn(bench);
}

static void print(const struct bench *bench, uint64_t bytes, uint64_t calls)
{
    const struct options *options = bench->options;
    printf("{\"waiters\":%u,\"servers\":%u,\"handovers\":%u,\"handover_us\":", options->waiters,
           options->servers, bench->handovers);
    histogram_print(&bench->handover_us, stdout);
    printf(",\"overtaken\":");
    histogram_print(&bench->overtaken, stdout);
    if (options->pids_count > 0)
        printf(",\"bytes_per_waiter\":%" PRIu64, bytes / options->waiters);
    if (options->redis_count > 0)
        printf(",\"script_calls_per_handover\":%.2f",
               (double)calls / options->redis_count / options->handovers);
    printf(",\"in_order\":%s,\"lost\":%u,\"twice\":%u}\n", bench->in_order ? "true" : "false",
           bench->lost, bench->twice);
}

static void run(struct bench *bench)
{
    const struct options *options = bench->options;
    for (unsigned i = 0; i < options->servers; i++)
        bench->lines[i].control = outside_connect(options->ports[i]);
    const uint64_t bytes_before = memory(options);
    park(bench);
    const uint64_t bytes = memory(options) - bytes_before;

    const uint64_t calls_before = script_calls(options);
    while (all_is_well(bench) && bench->handovers < options->handovers)
        hand_over(bench);
    const uint64_t calls = script_calls(options) - calls_before;

    turn(bench); /* nobody has reason to say any more */
    for (unsigned i = 0; i < options->servers && all_is_well(bench); i++)
        if (!settle(bench, i))
            bench->lost++;
    add_overtaken(bench);
    print(bench, bytes, calls);
    if (all_is_well(bench))
        leave(bench);
}

/* ---- the command line ------------------------------------------------------------------------ */

static const struct argp_option option_list[] = {
    {"port", 'p', "PORT", 0, "Where pawld listens on 127.0.0.1; again: more servers of a fleet", 0},
    {"waiters", 'w', "N", 0, "Connections that wait (default 100)", 0},
    {"handovers", 'n', "H", 0,
     "How often to release (default: N). If more than N, whoever was served waits again", 0},
    {"hold-us", 't', "US", 0, "How long each holds the lock at the least (default 0)", 0},
    {"uneven", 'u', NULL, 0, "Half of the connections wait at the first server", 0},
    {"pid", 'P', "PID", 0, "A pawld whose memory is to be measured", 0},
    {"redis", 'r', "PORT", 0, "A master on 127.0.0.1 whose script calls are to be counted", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'p':
        if (options->servers == SERVERS_MAX)
            argp_error(state, "at most %d servers", SERVERS_MAX);
        options->ports[options->servers++] = (uint16_t)tally_option(arg, 1, UINT16_MAX, state);
        return 0;
    case 'w':
        options->waiters = (unsigned)tally_option(arg, 1, WAITERS_MAX, state);
        return 0;
    case 'n':
        options->handovers = (unsigned)tally_option(arg, 1, HANDOVERS_MAX, state);
        return 0;
    case 't':
        options->hold_us = (unsigned)tally_option(arg, 0, HOLD_MAX_US, state);
        return 0;
    case 'u':
        options->uneven = true;
        return 0;
    case 'P':
        if (options->pids_count == SERVERS_MAX)
            argp_error(state, "at most %d processes", SERVERS_MAX);
        options->pids[options->pids_count++] = (pid_t)tally_option(arg, 1, INT32_MAX, state);
        return 0;
    case 'r':
        if (options->redis_count == REDIS_MAX)
            argp_error(state, "at most %d masters", REDIS_MAX);
        options->redis[options->redis_count++] = (uint16_t)tally_option(arg, 1, UINT16_MAX, state);
        return 0;
    case ARGP_KEY_END:
        if (options->servers == 0)
            argp_error(state, "say where pawld listens (--port)");
        if (options->handovers == 0)
            options->handovers = options->waiters;
        if (options->redis_count > 0 && options->handovers > options->waiters)
            argp_error(state, "who waits again calls scripts too: count them with H <= N");
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
        .doc = "Measures how a lock that many wait for goes from hand to hand.",
    };
    struct options options = {.waiters = 100};
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    outside_raise_descriptors(options.waiters + DESCRIPTORS_MORE);

    struct bench *bench = calloc(1, sizeof(*bench));
    struct client *clients = calloc(options.waiters + 1, sizeof(*clients));
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!bench || !clients || epoll < 0)
        err(1, "cannot start");
    bench->options = &options;
    bench->clients = clients;
    bench->epoll = epoll;
    bench->in_order = true;
    snprintf(bench->path, sizeof(bench->path), "/v1/locks/bench/line/%d", (int)getpid());
    run(bench);
    const int status = all_is_well(bench) ? 0 : 1;
    free(clients);
    free(bench);
    return status;
}
