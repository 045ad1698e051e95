/* pawl-bench-watches: what do watches of one name cost, and when are they told?
 *
 * N connections watch one name at one pawld. The program acquires and releases that lock in
 * turn, at a nearly steady rate. It does so at the same pawld or at another pawld. The
 * program measures the time from the answer of a grant until each watch, and the last watch, is
 * told. The program also measures the CPU time of processes. One thread. Prints one line of JSON.
 * Exit status 1: a watch was told something that was not so, or was not told of a grant before the
 * next change. */
#include "scripts/bench.d/programs/histogram.h"
#include "scripts/bench.d/programs/outside.h"
#include "scripts/bench.d/programs/tally.h"
#include "tests/lib/answer.h"
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
    WATCHES_MAX = 20000,
    CHANGES_MAX = 100 * 1000,
    PIDS_MAX = 16,
    DESCRIPTORS_MORE = 32, /* beside the watches' connections */
    INPUT_MAX = 2048,      /* of one answer */
    REQUEST_MAX = 512,
    STAT_MAX = 1024,
    STAT_BEFORE = 12, /* fields behind the name, before the user time */
    LOCK_ID_MAX = 64,
    EVENTS_MAX = 256,
    WAIT_MS = 300 * 1000,
    LATE_PARTS = 40,        /* of a hundred: a change comes so much of a period late, at random */
    SETTLE_US = 700 * 1000, /* until all watches are parked, before the first change */
};

#define PATH "/v1/locks/bench/watched"

struct options {
    uint16_t port;    /* where the watches are */
    uint16_t granter; /* where the lock is acquired; 0: the same */
    unsigned watches;
    unsigned changes;
    unsigned per_second;
    pid_t pids[PIDS_MAX];
    unsigned pids_count;
};

struct client {
    int fd;
    int64_t known; /* token; 0: free */
    char input[INPUT_MAX];
    size_t input_len;
};

struct bench {
    const struct options *options;
    int epoll;
    struct client holder;
    struct client *watches;
    char lock_id[LOCK_ID_MAX + 1]; /* "": free */
    int64_t token;                 /* the last that was granted */
    bool asked;                    /* the holder waits for an answer */
    uint64_t granted_us;
    unsigned told; /* watches, of the last grant */
    struct histogram each_us;
    struct histogram last_us;
    unsigned untold; /* watches, by grants */
    unsigned wrong;
};

static void send_request(int fd, const char *method, const char *target, const char *headers)
{
    char request[REQUEST_MAX];
    const int len = snprintf(request, sizeof(request),
                             "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%sContent-Length: 0\r\n\r\n",
                             method, target, headers);
    if (send(fd, request, (size_t)len, MSG_NOSIGNAL) != len)
        err(1, "cannot send to the service");
}

static void watch_again(struct client *client)
{
    char target[128];
    if (client->known > 0)
        snprintf(target, sizeof(target), PATH "?unless=%" PRId64 "&wait_ms=%d", client->known,
                 WAIT_MS);
    else
        snprintf(target, sizeof(target), PATH "?unless=free&wait_ms=%d", WAIT_MS);
    send_request(client->fd, "GET", target, "");
}

/* The integer behind "@name": in the body; 0 if there is none. */
static int64_t member(const struct answer *answer, const char *name)
{
    const char *found = memmem(answer->body, answer->body_len, name, strlen(name));
    return found ? strtoll(found + strlen(name), NULL, 10) : 0;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void holder_answered(struct bench *bench, const struct answer *answer)
{
    const char *id;
    size_t id_len;
    bench->asked = false;
    if (answer->status == 200) {
        bench->lock_id[0] = '\0';
        return;
    }
    if (answer->status != 201 || !answer_lock_id(answer, &id, &id_len) || id_len > LOCK_ID_MAX)
        errx(1, "no grant: %.*s", (int)answer->body_len, answer->body);
    memcpy(bench->lock_id, id, id_len);
    bench->lock_id[id_len] = '\0';
    bench->token = member(answer, "\"token\":");
    bench->granted_us = clock_us();
    bench->told = 0;
    for (unsigned i = 0; i < bench->options->watches; i++)
        if (bench->watches[i].known == bench->token)
            bench->told++, histogram_add(&bench->each_us, 0);
    if (bench->told == bench->options->watches && bench->told > 0)
        histogram_add(&bench->last_us, 0);
}

static void watch_answered(struct bench *bench, struct client *client, const struct answer *answer)
{
    const int64_t token = member(answer, "\"token\":");
    if (answer->status != 200 || token == client->known || token < 0)
        bench->wrong++;
    client->known = token;
    watch_again(client);
    if (token == 0 || token != bench->token)
        return; /* free; or the watch is told before the holder is */
    const uint64_t us = clock_us() - bench->granted_us;
    histogram_add(&bench->each_us, us);
    if (++bench->told == bench->options->watches)
        histogram_add(&bench->last_us, us);
}

static void receive(struct bench *bench, struct client *client)
{
    struct answer answer;
    const ssize_t n = recv(client->fd, client->input + client->input_len,
                           INPUT_MAX - client->input_len, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0)
        err(1, "the service closed a connection");
    client->input_len += (size_t)n;
    const enum answer_state state = answer_read(client->input, client->input_len, &answer);
    if (state == ANSWER_BROKEN)
        errx(1, "not one answer: %.*s", (int)client->input_len, client->input);
    if (state != ANSWER_WHOLE)
        return;
    client->input_len = 0;
    if (client == &bench->holder)
        holder_answered(bench, &answer);
    else
        watch_answered(bench, client, &answer);
}

/* Handles what comes until @until_us. */
static void turn_until(struct bench *bench, uint64_t until_us)
{
    for (uint64_t now_us = clock_us(); now_us < until_us; now_us = clock_us()) {
        struct epoll_event events[EVENTS_MAX];
        const int n =
            epoll_wait(bench->epoll, events, EVENTS_MAX, (int)((until_us - now_us) / 1000) + 1);
        if (n < 0 && errno != EINTR)
            err(1, "epoll_wait");
        for (int i = 0; i < n; i++)
            receive(bench, events[i].data.ptr);
    }
}

/* ---- the run --------------------------------------------------------------------------------- */

static void change(struct bench *bench)
{
    char headers[LOCK_ID_MAX + 16];
    if (bench->asked)
        errx(1, "a grant or a release took longer than until the next change");
    bench->asked = true;
    if (bench->lock_id[0] == '\0') {
        send_request(bench->holder.fd, "POST", PATH, "");
        return;
    }
    bench->untold += bench->options->watches - bench->told;
    snprintf(headers, sizeof(headers), "Lock-Id: %s\r\n", bench->lock_id);
    send_request(bench->holder.fd, "DELETE", PATH, headers);
}

static void open_client(struct bench *bench, struct client *client, uint16_t port)
{
    client->fd = outside_connect(port);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    if (epoll_ctl(bench->epoll, EPOLL_CTL_ADD, client->fd, &event) != 0)
        err(1, "epoll_ctl");
}

/* User and system time of a process, in microseconds. */
static uint64_t cpu_us(pid_t pid)
{
    char path[64], text[STAT_MAX];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    const size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    text[len] = '\0';
    char *at = strrchr(text, ')');
    for (unsigned skipped = 0; at && skipped < STAT_BEFORE; skipped++)
        at = strchr(at + 1, ' ');
    if (!at)
        err(1, "cannot read %s", path);
    const uint64_t user = strtoull(at, &at, 10);
    const uint64_t system = strtoull(at, NULL, 10);
    fclose(file);
    return (user + system) * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

static void print(const struct bench *bench, const uint64_t *before_us, uint64_t took_us)
{
    const struct options *options = bench->options;
    printf("{\"watches\":%u,\"changes\":%u,\"per_second\":%u,\"each_us\":", options->watches,
           options->changes, options->per_second);
    histogram_print(&bench->each_us, stdout);
    printf(",\"last_us\":");
    histogram_print(&bench->last_us, stdout);
    printf(",\"cpu_percent\":[");
    for (unsigned i = 0; i < options->pids_count; i++)
        printf("%s%.2f", i > 0 ? "," : "",
               100.0 * (double)(cpu_us(options->pids[i]) - before_us[i]) / (double)took_us);
    printf("],\"untold\":%u,\"wrong\":%u}\n", bench->untold, bench->wrong);
}

/* Of a hundred, of a period, and the same in each run. */
static unsigned late_parts(unsigned k)
{
    return k * 17 % LATE_PARTS;
}

static void run(struct bench *bench)
{
    const struct options *options = bench->options;
    uint64_t before_us[PIDS_MAX] = {0};
    open_client(bench, &bench->holder, options->granter ? options->granter : options->port);
    for (unsigned i = 0; i < options->watches; i++) {
        open_client(bench, &bench->watches[i], options->port);
        watch_again(&bench->watches[i]);
    }
    turn_until(bench, clock_us() + SETTLE_US);
    for (unsigned i = 0; i < options->pids_count; i++)
        before_us[i] = cpu_us(options->pids[i]);
    const uint64_t began_us = clock_us();
    const uint64_t period_us = UINT64_C(1000000) / options->per_second;
    for (unsigned k = 0; k < options->changes; k++) {
        const uint64_t late_us = period_us * late_parts(k) / 100;
        turn_until(bench, began_us + k * period_us + late_us);
        change(bench);
    }
    turn_until(bench, began_us + options->changes * period_us);
    print(bench, before_us, clock_us() - began_us);
}

/* ---- the command line ------------------------------------------------------------------------ */

static const struct argp_option option_list[] = {
    {"port", 'p', "PORT", 0, "Where the pawld listens on 127.0.0.1 that watches", 0},
    {"granter", 'g', "PORT", 0, "The pawld that grants (default: the same)", 0},
    {"watches", 'w', "N", 0, "Connections that watch (0 is allowed)", 0},
    {"changes", 'n', "N", 0, "Grants and releases (default 100; an even number)", 0},
    {"rate", 'r', "N", 0, "Of these in a second (default 10)", 0},
    {"pid", 'P', "PID", 0, "A process whose CPU time is to be measured", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'p':
        options->port = (uint16_t)tally_option(arg, 1, UINT16_MAX, state);
        return 0;
    case 'g':
        options->granter = (uint16_t)tally_option(arg, 1, UINT16_MAX, state);
        return 0;
    case 'w':
        options->watches = (unsigned)tally_option(arg, 0, WATCHES_MAX, state);
        return 0;
    case 'n':
        options->changes = (unsigned)tally_option(arg, 2, CHANGES_MAX, state);
        return 0;
    case 'r':
        options->per_second = (unsigned)tally_option(arg, 1, 1000, state);
        return 0;
    case 'P':
        if (options->pids_count == PIDS_MAX)
            argp_error(state, "at most %d processes", PIDS_MAX);
        options->pids[options->pids_count++] = (pid_t)tally_option(arg, 1, INT32_MAX, state);
        return 0;
    case ARGP_KEY_END:
        if (options->port == 0)
            argp_error(state, "says no port");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp parser = {.options = option_list, .parser = parse_option};
    struct options options = {.changes = 100, .per_second = 10};
    struct bench bench = {.options = NULL};
    if (argp_parse(&parser, argc, argv, 0, NULL, &options) != 0)
        return 2;
    outside_raise_descriptors(options.watches + DESCRIPTORS_MORE);
    bench.options = &options;
    bench.watches = calloc(options.watches + 1, sizeof(*bench.watches));
    bench.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!bench.watches || bench.epoll < 0)
        err(1, "cannot begin");
    run(&bench);
    free(bench.watches);
    return bench.wrong > 0 || bench.untold > 0;
}
