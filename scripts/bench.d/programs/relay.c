/* pawl-bench-relay: a plain lock service over HTTP, beside which Pawl is measured.
 *
 * A request is read with one call. Its name is found at a fixed place. An answer of the usual size
 * leaves in one write. Between them are the script calls of bare masters (bare.c), or the
 * transactions of an embedded file (rows_main.c; all requests of a turn are one), or nothing. There
 * is no protocol, and no check of what comes: it serves pawl-bench-load and nobody else. What Pawl
 * takes more is Pawl. What this takes more than bare is HTTP on this machine. It is no bound: it
 * has one thread, and leaves some of two cores idle.
 *
 * Prints the port once it serves; SIGTERM ends it. */
#include "scripts/bench.d/programs/calls.h"
#include "scripts/bench.d/programs/rows.h"
#include "server/loop/batch_delay.h"
#include "tests/lib/clock.h"

#include <argp.h>
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <uv.h>

enum {
    CLIENTS_MAX = ROWS_CLIENTS_MAX, /* in its life: places are not taken anew */
    REQUEST_MAX = 1024,
    ANSWER_MAX = 1024,
    BODY_MAX = 512,
    BACKLOG = 1024,
};

struct options {
    struct calls_options calls;
    const char *folder; /* NULL: no file */
};

struct client {
    uv_poll_t poll;
    int fd; /* -1: it left */
    bool acquiring;
    bool good; /* its rows are as asked, once they are committed */
    char resource[CALLS_RESOURCE_MAX];
};

static struct {
    struct options options;
    uv_loop_t loop;
    uv_poll_t listener;
    uv_prepare_t turn_end;
    uv_timer_t at_once;
    struct server_batch_delay delay;
    uv_signal_t end;
    int fd;
    struct calls *calls; /* NULL: no masters */
    unsigned clients;
    struct client client[CLIENTS_MAX];
    unsigned waiting_count; /* for the turn's transaction */
    unsigned waiting[CLIENTS_MAX];
} relay;

/* ---- answers --------------------------------------------------------------------------------- */

static const char *lock_id(unsigned k)
{
    if (relay.calls)
        return calls_lock_id(relay.calls, k);
    return relay.options.folder ? rows_lock_id(k) : "none";
}

static int write_body(unsigned k, char ret_body[static BODY_MAX])
{
    const struct client *client = &relay.client[k];
    if (!client->acquiring)
        return snprintf(ret_body, BODY_MAX, "{\"resource\":\"%s\",\"released\":true}\n",
                        client->resource);
    return snprintf(ret_body, BODY_MAX,
                    "{\"resource\":\"%s\",\"lock_id\":\"%s\",\"token\":4711,\"ttl_ms\":30000,"
                    "\"validity_ms\":29697,\"masters\":{\"granted\":3,\"asked\":3,\"of\":5}}\n",
                    client->resource, lock_id(k));
}

static void answer(unsigned k, bool good)
{
    const struct client *client = &relay.client[k];
    const char *done = client->acquiring ? "201 Created" : "200 OK";
    char body[BODY_MAX];
    char bytes[ANSWER_MAX];
    const int body_len = write_body(k, body);
    const int len = snprintf(bytes, sizeof(bytes),
                             "HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
                             "Cache-Control: no-store\r\nContent-Length: %d\r\n\r\n%s",
                             good ? done : "503 Unavailable", body_len, body);
    if (client->fd >= 0 && send(client->fd, bytes, (size_t)len, MSG_NOSIGNAL) != len)
        warn("cannot answer");
}

static void on_answered(void *context, unsigned k, bool good)
{
    (void)context;
    answer(k, good);
    server_batch_delay_answered(&relay.delay, clock_us());
}

/* ---- requests -------------------------------------------------------------------------------- */

static void take(unsigned k)
{
    const struct client *client = &relay.client[k];
    server_batch_delay_asked(&relay.delay);
    if (relay.options.folder)
        relay.waiting[relay.waiting_count++] = k;
    else if (!relay.calls)
        answer(k, true);
    else if (client->acquiring)
        calls_acquire(relay.calls, k, client->resource);
    else
        calls_release(relay.calls, k);
}

static void leave(struct client *client)
{
    uv_poll_stop(&client->poll);
    close(client->fd);
    client->fd = -1;
}

/* The client sends a request in one write, and no other before the answer: it is read at once. */
static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct client *client = poll->data;
    char request[REQUEST_MAX];
    const ssize_t n = recv(client->fd, request, sizeof(request) - 1, MSG_DONTWAIT);
    (void)status, (void)events;
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        leave(client);
        return;
    }
    request[n] = '\0';
    if (sscanf(request, "%*s /v1/locks/%63s", client->resource) != 1)
        errx(1, "serves pawl-bench-load alone, and does not know: %s", request);
    client->acquiring = request[0] == 'P';
    take((unsigned)(client - relay.client));
}

static void on_newcomer(uv_poll_t *poll, int status, int events)
{
    (void)poll, (void)status, (void)events;
    const int fd = accept4(relay.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (relay.clients == CLIENTS_MAX)
        errx(1, "has had %d clients, and has no place for another", CLIENTS_MAX);
    struct client *client = &relay.client[relay.clients++];
    client->fd = fd;
    client->poll.data = client;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (uv_poll_init(&relay.loop, &client->poll, fd) != 0 ||
        uv_poll_start(&client->poll, UV_READABLE, on_readable) != 0)
        errx(1, "cannot watch a client");
}

/* ---- the turn -------------------------------------------------------------------------------- */

static void on_at_once(uv_timer_t *at_once)
{
    (void)at_once; /* the loop has not slept: all that it is for */
}

static void commit_turn(void)
{
    if (relay.waiting_count == 0)
        return;
    rows_begin();
    for (unsigned i = 0; i < relay.waiting_count; i++) {
        const unsigned k = relay.waiting[i];
        struct client *client = &relay.client[k];
        client->good = client->acquiring ? rows_acquire(k, client->resource) : rows_release(k);
    }
    rows_commit();
    for (unsigned i = 0; i < relay.waiting_count; i++)
        answer(relay.waiting[i], relay.client[relay.waiting[i]].good);
    relay.waiting_count = 0;
}

/* Calls are gathered as pawld gathers them, and who was woken runs first: what they send is read
 * together then. */
static void send_turn(void)
{
    const bool sends = calls_could_send(relay.calls);
    if (server_batch_delay_waits(&relay.delay, sends, clock_us())) {
        uv_timer_start(&relay.at_once, on_at_once, 0, 0);
        return;
    }
    calls_flush(relay.calls);
    if (sends)
        sched_yield();
}

/* Runs just before the loop waits. */
static void on_turn_end(uv_prepare_t *turn_end)
{
    (void)turn_end;
    if (relay.calls)
        send_turn();
    commit_turn();
}

/* ---- its life -------------------------------------------------------------------------------- */

static void serve(void *context)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t len = sizeof(address);
    (void)context;
    relay.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (relay.fd < 0 || bind(relay.fd, (const struct sockaddr *)&address, len) != 0 ||
        listen(relay.fd, BACKLOG) != 0 ||
        getsockname(relay.fd, (struct sockaddr *)&address, &len) != 0)
        err(1, "cannot listen");
    if (uv_poll_init(&relay.loop, &relay.listener, relay.fd) != 0 ||
        uv_poll_start(&relay.listener, UV_READABLE, on_newcomer) != 0)
        errx(1, "cannot watch for clients");
    printf("%u\n", (unsigned)ntohs(address.sin_port));
    if (fflush(stdout) != 0)
        err(1, "cannot say where it listens");
}

static void on_idle(void *context)
{
    (void)context; /* the next client may come at any time */
}

/* What it holds, the kernel takes back. */
static void on_end(uv_signal_t *end, int number)
{
    (void)number;
    uv_stop(end->loop);
}

static void start(void)
{
    const struct calls_events events = {.ready = serve, .answered = on_answered, .idle = on_idle};
    uv_loop_init(&relay.loop);
    uv_signal_init(&relay.loop, &relay.end);
    uv_signal_start(&relay.end, on_end, SIGTERM);
    uv_prepare_init(&relay.loop, &relay.turn_end);
    uv_timer_init(&relay.loop, &relay.at_once);
    if (relay.options.folder)
        rows_open(relay.options.folder);
    if (relay.options.calls.masters > 0)
        relay.calls = calls_new(&relay.loop, &relay.options.calls, CLIENTS_MAX, &events);
    else
        serve(NULL);
    uv_prepare_start(&relay.turn_end, on_turn_end);
}

/* ---- the command line ------------------------------------------------------------------------ */

static const struct argp_option option_list[] = {
    {"data", 'd', "FOLDER", 0, "A file there, in place of masters", 0},
    {"alone", 'a', NULL, 0, "Neither: HTTP alone", 0},
    {0},
};

static void take_folder(struct options *options, const char *folder)
{
    options->folder = folder;
    options->calls.may_be_none = true;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->calls;
        return 0;
    case 'd':
        take_folder(options, arg);
        return 0;
    case 'a':
        options->calls.may_be_none = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_child children[] = {{.argp = &calls_argp}, {0}};
    static const struct argp argp = {
        .options = option_list,
        .parser = parse_option,
        .doc = "A plain lock service over HTTP.",
        .children = children,
    };
    argp_parse(&argp, argc, argv, 0, NULL, &relay.options);
    if (relay.options.folder && relay.options.calls.masters > 0)
        errx(2, "give masters or --data, not both");
    start();
    uv_run(&relay.loop, UV_RUN_DEFAULT);
    return 0;
}
