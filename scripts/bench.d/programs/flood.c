/* pawl-bench-flood: many clients that ask for one costly thing as fast as the service answers, so
 * that it can be measured how others fare meanwhile (scripts/bench floods).
 *
 * Each client is a thread with one connection at a time. Prints one line of JSON: how often the
 * service was asked, and how it answered. */
#include "scripts/bench.d/programs/hello.h"
#include "scripts/bench.d/programs/outside.h"
#include "scripts/bench.d/programs/tally.h"
#include "tests/lib/clock.h"

#include <argp.h>
#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CLIENTS_MAX = 1000,
    STACK_SIZE = 256 * 1024,
    REQUEST_MAX = 80 * 1024,
    INPUT_MAX = 512 * 1024, /* a page of 1,000 locks, and all metrics, fit */
    BODY_SIZE = 65536,      /* as large as pawld takes */
    GROUP_LOCKS = 64,
    BATCH_CALLS = 64,
};

static struct {
    uint16_t port;
    const char *kind;
    unsigned clients;
    unsigned seconds;
    uint64_t end_us;
    atomic_ulong asked, good, refused, unavailable, other;
} flood = {.clients = 60, .seconds = 5};

/* ---- what is asked for ----------------------------------------------------------------------- */

static size_t write_get(char *request, const char *path)
{
    return (size_t)snprintf(request, REQUEST_MAX, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                            path);
}

static size_t write_metrics(char *request, unsigned client)
{
    (void)client;
    return write_get(request, "/metrics");
}

static size_t write_listing(char *request, unsigned client)
{
    (void)client;
    return write_get(request, "/v1/locks?limit=1000");
}

static size_t write_post(char *request, const char *path, const char *body, size_t body_len)
{
    const int len = snprintf(request, REQUEST_MAX,
                             "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                             path, body_len);
    memcpy(request + len, body, body_len);
    return (size_t)len + body_len;
}

static size_t write_locks(char *request, unsigned client, const char *wait)
{
    char body[4096];
    int len = snprintf(body, sizeof(body), "{\"ttl_ms\":100,%s\"resources\":[", wait);
    for (unsigned k = 0; k < GROUP_LOCKS; k++)
        len += snprintf(body + len, sizeof(body) - (size_t)len, "%s\"flood/%u/%u\"",
                        k > 0 ? "," : "", client / 2, k);
    len += snprintf(body + len, sizeof(body) - (size_t)len, "]}");
    return write_post(request, "/v1/locks", body, (size_t)len);
}

/* Two clients share each group: one of them is refused. */
static size_t write_group(char *request, unsigned client)
{
    return write_locks(request, client, "");
}

static size_t write_waiting_group(char *request, unsigned client)
{
    return write_locks(request, client, "\"wait_ms\":1000,");
}

/* Each client has names of its own, and takes them again once their leases have ended. */
static size_t write_batch(char *request, unsigned client)
{
    char body[BODY_SIZE];
    int len = snprintf(body, sizeof(body), "{\"requests\":[");
    for (unsigned k = 0; k < BATCH_CALLS; k++)
        len += snprintf(body + len, sizeof(body) - (size_t)len,
                        "%s{\"method\":\"POST\",\"path\":\"/v1/locks/flood/%u/%u\","
                        "\"body\":{\"ttl_ms\":100}}",
                        k > 0 ? "," : "", client, k);
    len += snprintf(body + len, sizeof(body) - (size_t)len, "]}");
    return write_post(request, "/v1/batch", body, (size_t)len);
}

/* A body as large as pawld takes, most of it the last member. */
static size_t write_body(char *request, unsigned client)
{
    static const char begin[] = "{\"ttl_ms\":100,\"comment\":\"";
    char body[BODY_SIZE];
    (void)client;
    memset(body, 'a', sizeof(body));
    memcpy(body, begin, sizeof(begin) - 1);
    body[sizeof(body) - 2] = '"';
    body[sizeof(body) - 1] = '}';
    return write_post(request, "/v1/locks/flood", body, sizeof(body));
}

static size_t write_half_head(char *request, unsigned client)
{
    (void)client;
    return (size_t)snprintf(request, REQUEST_MAX,
                            "GET /v1/fleet HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: ");
}

static size_t write_hello(char *request, unsigned client)
{
    (void)client;
    return hello_write(request, REQUEST_MAX);
}

static const struct kind {
    const char *name;
    size_t (*write)(char *request, unsigned client);
    bool leaves; /* once something came, or at once if nothing comes */
    bool awaits; /* something */
} kinds[] = {
    {"metrics", write_metrics, false, true},
    {"listing", write_listing, false, true},
    {"group", write_group, false, true},
    {"waiting-group", write_waiting_group, false, true},
    {"batch", write_batch, false, true},
    {"body", write_body, false, true},
    {"half-head", write_half_head, true, false},
    {"hello", write_hello, true, true},
};

static const struct kind *find_kind(const char *name)
{
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

/* ---- a client -------------------------------------------------------------------------------- */

static void count(int status)
{
    if (status < 400)
        flood.good++;
    else if (status == 503)
        flood.unavailable++;
    else if (status == 409 || status == 429)
        flood.refused++;
    else
        flood.other++;
}

/* False: another connection is needed. */
static bool ask_once(int fd, const struct kind *kind, const char *request, size_t len, char *input)
{
    struct answer answer;
    flood.asked++;
    if (send(fd, request, len, MSG_NOSIGNAL) != (ssize_t)len)
        return false;
    if (kind->leaves) {
        if (kind->awaits)
            (void)!recv(fd, input, INPUT_MAX, 0);
        return false;
    }
    if (!outside_receive(fd, input, INPUT_MAX, &answer))
        return false;
    count(answer.status);
    return true;
}

static void *ask_on(void *number)
{
    const struct kind *kind = find_kind(flood.kind);
    char *request = malloc(REQUEST_MAX);
    char *input = malloc(INPUT_MAX);
    int fd = -1;
    if (!request || !input)
        errx(1, "out of memory");
    const size_t len = kind->write(request, (unsigned)(uintptr_t)number);
    while (clock_us() < flood.end_us) {
        if (fd < 0)
            fd = outside_connect(flood.port);
        if (!ask_once(fd, kind, request, len, input)) {
            close(fd);
            fd = -1;
        }
    }
    if (fd >= 0)
        close(fd);
    free(input);
    free(request);
    return NULL;
}

static void run(void)
{
    static pthread_t threads[CLIENTS_MAX];
    pthread_attr_t small;
    flood.end_us = clock_us() + flood.seconds * UINT64_C(1000000);
    if (pthread_attr_init(&small) != 0 || pthread_attr_setstacksize(&small, STACK_SIZE) != 0)
        errx(1, "threads cannot have a stack of %d bytes", STACK_SIZE);
    for (unsigned i = 0; i < flood.clients; i++)
        if (pthread_create(&threads[i], &small, ask_on, (void *)(uintptr_t)i) != 0)
            errx(1, "a thread could not be made");
    for (unsigned i = 0; i < flood.clients; i++)
        pthread_join(threads[i], NULL);
    pthread_attr_destroy(&small);
    printf("{\"asked\":%lu,\"good\":%lu,\"refused\":%lu,\"unavailable\":%lu,\"other\":%lu}\n",
           flood.asked, flood.good, flood.refused, flood.unavailable, flood.other);
}

/* ---- options --------------------------------------------------------------------------------- */

static error_t parse(int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case 'p':
        flood.port = (uint16_t)tally_option(arg, 1, UINT16_MAX, state);
        return 0;
    case 'k':
        flood.kind = arg;
        if (!find_kind(arg))
            argp_error(state, "there is no flood of '%s'", arg);
        return 0;
    case 'c':
        flood.clients = (unsigned)tally_option(arg, 1, CLIENTS_MAX, state);
        return 0;
    case 's':
        flood.seconds = (unsigned)tally_option(arg, 1, 3600, state);
        return 0;
    case ARGP_KEY_END:
        if (flood.port == 0 || !flood.kind)
            argp_error(state, "--port and --kind are needed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"port", 'p', "PORT", 0, "Where the service listens on 127.0.0.1", 0},
        {"kind", 'k', "KIND", 0,
         "metrics, listing, group, waiting-group, batch, body, half-head or hello (of TLS)", 0},
        {"clients", 'c', "N", 0, "How many clients (default 60)", 0},
        {"seconds", 's', "S", 0, "How long (default 5)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Floods a Pawl service with one kind of request, so that it can be measured how "
               "others fare.",
    };
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    run();
    return 0;
}
