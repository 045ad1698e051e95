/* pawl-bench-attack: what a hostile client does to a service, so that it can be measured how others
 * fare meanwhile (scripts/bench attacked).
 *
 * Opens connections that send half a head and nothing more, and connections that send a chunked
 * body whose chunk-size line does not end. Some clients take and release 64 locks at once, over and
 * over. Others are lazy (scripts/bench.d/programs/lazy.h). Whatever the service does with a
 * connection is right; one that it ended is not opened anew. Prints one line of JSON: how many
 * connections were made, how many the service still held at the end, and what the groups were
 * answered. */
#include "scripts/bench.d/programs/lazy.h"
#include "scripts/bench.d/programs/outside.h"
#include "scripts/bench.d/programs/tally.h"
#include "tests/lib/clock.h"

#include <argp.h>
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 20000,
    GROUPS_MAX = 256,
    GROUP_LOCKS = 64,
    GROUP_NAMES = 4096,
    DESCRIPTORS_MORE = 64,
    CHUNK_LINE = 8192, /* bytes, of which none ends the line */
    INPUT_MAX = 16 * 1024,
    REQUEST_MAX = 4096,
    LOCK_ID_MAX = 64,
    SECOND_US = 1000000,
};

static struct {
    uint16_t port;
    unsigned spinning;
    unsigned half_heads;
    unsigned groups;
    struct lazy_counts lazy;
    unsigned seconds;
    uint64_t end_us;
    atomic_uint granted;
    atomic_uint refused;
    atomic_uint unavailable;
} attack = {.seconds = 5};

/* ---- connections that end nothing ------------------------------------------------------------ */

static void say(int fd, const char *bytes, size_t len)
{
    /* The service may have closed it, or may not read on. */
    (void)!send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int open_half_head(void)
{
    static const char half[] = "GET /v1/fleet HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: ";
    int fd = outside_connect(attack.port);
    say(fd, half, sizeof(half) - 1);
    return fd;
}

static int open_spinning(void)
{
    static const char head[] = "POST /v1/locks/spinning HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                               "Content-Type: application/json\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n2;";
    static char line[CHUNK_LINE];
    int fd = outside_connect(attack.port);
    memset(line, 'a', sizeof(line));
    say(fd, head, sizeof(head) - 1);
    say(fd, line, sizeof(line));
    return fd;
}

/* Whether the other side has not closed it. */
static bool is_held(int fd)
{
    char dropped[REQUEST_MAX];
    ssize_t got;
    do
        got = recv(fd, dropped, sizeof(dropped), MSG_DONTWAIT);
    while (got > 0);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Sends @request and reads the answer, whose strings are in @input. False: the connection ended. */
static bool ask(int fd, const char *request, size_t len, char *input, struct answer *ret_answer)
{
    return send(fd, request, len, MSG_NOSIGNAL) == (ssize_t)len &&
           outside_receive(fd, input, INPUT_MAX, ret_answer);
}

static size_t write_group(char request[static REQUEST_MAX], unsigned first)
{
    char body[REQUEST_MAX / 2];
    size_t len = (size_t)snprintf(body, sizeof(body), "{\"ttl_ms\":2000,\"resources\":[");
    for (unsigned k = 0; k < GROUP_LOCKS; k++)
        len += (size_t)snprintf(body + len, sizeof(body) - len, "%s\"group/%u\"", k > 0 ? "," : "",
                                (first + k) % GROUP_NAMES);
    len += (size_t)snprintf(body + len, sizeof(body) - len, "]}");
    return (size_t)snprintf(request, REQUEST_MAX,
                            "POST /v1/locks HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                            "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                            len, body);
}

static bool release_group(int fd, unsigned first, const char *lock_id, char *input)
{
    bool connected = true;
    for (unsigned k = 0; k < GROUP_LOCKS && connected; k++) {
        char request[REQUEST_MAX];
        struct answer answer;
        int len = snprintf(request, sizeof(request),
                           "DELETE /v1/locks/group/%u HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                           "Lock-Id: %s\r\n\r\n",
                           (first + k) % GROUP_NAMES, lock_id);
        connected = ask(fd, request, (size_t)len, input, &answer);
    }
    return connected;
}

static void *take_groups(void *seed_of_it)
{
    unsigned seed = *(const unsigned *)seed_of_it;
    char *input = malloc(INPUT_MAX);
    int fd = outside_connect(attack.port);
    bool connected = input != NULL;
    while (connected && clock_us() < attack.end_us) {
        char request[REQUEST_MAX], lock_id[LOCK_ID_MAX + 1];
        struct answer answer;
        const char *id;
        size_t id_len;
        unsigned first = (unsigned)rand_r(&seed) % GROUP_NAMES;
        connected = ask(fd, request, write_group(request, first), input, &answer);
        if (!connected)
            break;
        attack.refused += answer.status == 409 || answer.status == 429;
        attack.unavailable += answer.status == 503;
        if (answer.status != 201 || !answer_lock_id(&answer, &id, &id_len) || id_len > LOCK_ID_MAX)
            continue;
        attack.granted++;
        snprintf(lock_id, sizeof(lock_id), "%.*s", (int)id_len, id);
        connected = release_group(fd, first, lock_id, input);
    }
    close(fd);
    free(input);
    return NULL;
}

/* ---- the attack ------------------------------------------------------------------------------ */

static void wait_until(uint64_t due_us)
{
    const uint64_t now_us = clock_us();
    if (now_us < due_us)
        usleep((useconds_t)(due_us - now_us));
}

static unsigned count_lazy(void)
{
    return attack.lazy.slow + attack.lazy.deaf + attack.lazy.idle;
}

static void run(void)
{
    static int fds[CONNECTIONS_MAX];
    static pthread_t threads[GROUPS_MAX];
    static unsigned seeds[GROUPS_MAX];
    const unsigned count = attack.spinning + attack.half_heads;
    unsigned held = 0;
    attack.end_us = clock_us() + attack.seconds * UINT64_C(1000000);
    for (unsigned i = 0; i < attack.groups; i++) {
        seeds[i] = i + 1;
        if (pthread_create(&threads[i], NULL, take_groups, &seeds[i]) != 0)
            errx(1, "a thread could not be made");
    }
    for (unsigned i = 0; i < count; i++)
        fds[i] = i < attack.spinning ? open_spinning() : open_half_head();
    lazy_begin(attack.port, &attack.lazy);
    uint64_t due_us = clock_us();
    for (unsigned tick = 0; due_us < attack.end_us; tick = (tick + 1) % LAZY_TICKS) {
        lazy_tick(tick);
        due_us += SECOND_US / LAZY_TICKS;
        wait_until(due_us);
    }
    for (unsigned i = 0; i < attack.groups; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < count; i++)
        held += is_held(fds[i]);
    printf("{\"connections\":%u,\"held\":%u,\"groups_granted\":%u,\"groups_refused\":%u,"
           "\"groups_unavailable\":%u,\"lazy\":%u,\"lazy_held\":%u,\"lazy_reopened\":%u}\n",
           count, held, attack.granted, attack.refused, attack.unavailable, count_lazy(),
           lazy_held(), lazy_reopened());
}

/* ---- options --------------------------------------------------------------------------------- */

static error_t parse(int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case 'p':
        attack.port = (uint16_t)tally_option(arg, 1, UINT16_MAX, state);
        return 0;
    case 'x':
        attack.spinning = (unsigned)tally_option(arg, 0, CONNECTIONS_MAX, state);
        return 0;
    case 'h':
        attack.half_heads = (unsigned)tally_option(arg, 0, CONNECTIONS_MAX, state);
        return 0;
    case 'g':
        attack.groups = (unsigned)tally_option(arg, 0, GROUPS_MAX, state);
        return 0;
    case 'l':
        attack.lazy.slow = (unsigned)tally_option(arg, 0, LAZY_MAX, state);
        return 0;
    case 'd':
        attack.lazy.deaf = (unsigned)tally_option(arg, 0, LAZY_MAX, state);
        return 0;
    case 'i':
        attack.lazy.idle = (unsigned)tally_option(arg, 0, LAZY_MAX, state);
        return 0;
    case 's':
        attack.seconds = (unsigned)tally_option(arg, 0, 3600, state);
        return 0;
    case ARGP_KEY_END:
        if (attack.port == 0)
            argp_error(state, "--port is missing");
        if (attack.spinning + attack.half_heads > CONNECTIONS_MAX)
            argp_error(state, "%d connections at most", CONNECTIONS_MAX);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"port", 'p', "PORT", 0, "Where the service listens on 127.0.0.1", 0},
        {"endless-lines", 'x', "N", 0, "Connections with a chunk-size line that does not end", 0},
        {"half-heads", 'h', "N", 0, "Connections with half a head", 0},
        {"groups", 'g', "N", 0, "Clients that take and release 64 locks at once", 0},
        {"slow", 'l', "N", 0, "Clients that send a byte a second", 0},
        {"deaf", 'd', "N", 0, "Clients that ask for much and read nothing", 0},
        {"idle", 'i', "N", 0, "Clients that had an answer and say nothing", 0},
        {"seconds", 's', "S", 0, "How long to attack (default 5)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Attacks a Pawl service from the network, so that it can be measured how others "
               "fare.",
    };
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    outside_raise_descriptors(attack.spinning + attack.half_heads + attack.groups + count_lazy() +
                              DESCRIPTORS_MORE);
    run();
    return 0;
}
