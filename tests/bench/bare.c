/* pawl-bench-bare: what do the masters give when nothing stands before them?
 *
 * K virtual clients in one process take and release locks with the very scripts that pawld uses,
 * over its own connections: all requests of a loop turn in one script call a master, and on with
 * the next as soon as a majority has answered. There is no HTTP, no JSON, and no protocol: no
 * deadlines, no confirmation, no validity. Pawl is measured against this.
 *
 * With --minimal it is the least script that locks and counts (minimal.lua), in calls that are
 * gathered in the same way: so much of it is what pawld's scripts check. Prints one line of JSON.
 */
#include "fence/protocol/lease.h"
#include "fence/protocol/name.h"
#include "fence/protocol/view.h"
#include "storage/redis/master.h"
#include "tests/bench/minimal.h"
#include "tests/bench/names.h"
#include "tests/bench/tally.h"
#include "tests/lib/clock.h"

#include <argp.h>
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

enum {
    CLIENTS_MAX = 4096,
    CLIENT_BITS = 16, /* of a tag; the rest counts the client's requests */
    EXTENSIONS = 1,   /* a bound that nothing here comes near */
    START_TIMEOUT_MS = 10 * 1000,
};

struct options {
    bool minimal;
    unsigned masters;
    const char *urls[FENCE_MASTERS_MAX];
    unsigned clients;
    unsigned names;
    double seconds;
    double warmup_s;
};

struct client {
    uint64_t tag;     /* of the request under way; replies with another come too late */
    unsigned attempt; /* counts its locks */
    bool acquiring;
    unsigned yes; /* masters that did it */
    unsigned no;
    uint64_t sent_us;
    char resource[32];
    char lock_id[FENCE_LOCK_ID_LEN + 1];
};

struct bench {
    struct options options;
    uv_loop_t loop;
    uv_prepare_t turn_end;
    uv_timer_t timer;
    struct storage_redis_master *masters[FENCE_MASTERS_MAX]; /* of one kind or the other */
    struct minimal_master *minimal[FENCE_MASTERS_MAX];
    unsigned known; /* masters that are ready */
    struct fence_view view;
    struct client *clients;
    uint64_t outstanding; /* requests without a reply so far */
    bool warm;
    struct tally tally;
};

/* ---- clients --------------------------------------------------------------------------------- */

static void next_name(const struct bench *bench, struct client *client)
{
    const unsigned name = names_next((unsigned)(client - bench->clients), client->attempt++,
                                     bench->options.clients, bench->options.names);
    snprintf(client->resource, sizeof(client->resource), "bare/%d/%0*u", (int)getpid(),
             NAMES_DIGITS, name);
}

static void submit_minimal(struct bench *bench, const struct client *client)
{
    struct minimal_request encoded;
    minimal_encode(client->tag, client->resource, client->lock_id,
                   client->acquiring ? FENCE_TTL_DEFAULT_MS : 0,
                   fence_slot(client->resource, strlen(client->resource)), &encoded);
    for (unsigned i = 0; i < bench->options.masters; i++)
        minimal_submit(bench->minimal[i], &encoded);
}

static void submit(struct bench *bench, const struct client *client)
{
    const struct fence_request request = {
        .kind = client->acquiring ? FENCE_REQUEST_TAKE : FENCE_REQUEST_RELEASE,
        .tag = client->tag,
        .resource = client->resource,
        .lock_id = client->lock_id,
        .owner = "",
        .attempt = client->attempt,
        .ttl_ms = FENCE_TTL_DEFAULT_MS,
        .slot = (uint16_t)fence_slot(client->resource, strlen(client->resource)),
    };
    struct storage_request encoded;
    storage_request_encode(&request, &encoded);
    for (unsigned i = 0; i < bench->options.masters; i++)
        storage_redis_master_submit(bench->masters[i], &encoded, &bench->view, 1);
}

static void ask(struct bench *bench, struct client *client, bool acquire)
{
    if (acquire)
        next_name(bench, client);
    client->acquiring = acquire;
    client->tag += UINT64_C(1) << CLIENT_BITS;
    client->yes = client->no = 0;
    client->sent_us = clock_us();
    (bench->options.minimal ? submit_minimal : submit)(bench, client);
    bench->outstanding += bench->options.masters;
}

/* A majority has answered, or cannot any more: counts it, and goes on. */
static void advance(struct bench *bench, struct client *client, bool good)
{
    const bool acquired = client->acquiring;
    tally_add(&bench->tally, acquired, good, 0, clock_us() - client->sent_us);
    if (acquired)
        ask(bench, client, false);
    else if (bench->tally.ended_us == 0)
        ask(bench, client, true);
    else
        client->tag = 0; /* at rest */
}

static struct client *client_of(struct bench *bench, uint64_t tag)
{
    return &bench->clients[tag & ((1U << CLIENT_BITS) - 1)];
}

/* A master has done, or not, what was asked with @tag. */
static void answered(struct bench *bench, uint64_t tag, bool yes)
{
    struct client *client = client_of(bench, tag);
    bench->outstanding--;
    if (tag == client->tag) {
        client->yes += yes;
        client->no += !yes;
        if (client->yes == fence_majority(bench->options.masters))
            advance(bench, client, true);
        else if (client->no == fence_blocking(bench->options.masters))
            advance(bench, client, false);
    }
    if (bench->outstanding == 0)
        uv_stop(&bench->loop);
}

static void on_reply(void *context, unsigned i, const struct fence_reply *reply)
{
    struct bench *bench = context;
    const struct client *client = client_of(bench, reply->tag);
    (void)i;
    answered(bench, reply->tag,
             reply->kind == (client->acquiring ? FENCE_REPLY_NUMBER : FENCE_REPLY_YES));
}

static void on_minimal_reply(void *context, unsigned i, uint64_t tag, bool done)
{
    (void)i;
    answered(context, tag, done);
}

/* ---- masters --------------------------------------------------------------------------------- */

static void begin(struct bench *bench)
{
    for (unsigned k = 0; k < bench->options.clients; k++) {
        struct client *client = &bench->clients[k];
        snprintf(client->lock_id, sizeof(client->lock_id), "%0*u", FENCE_LOCK_ID_LEN, k);
        client->tag = k;
        ask(bench, client, true);
    }
}

static void on_timer(uv_timer_t *timer);

static void one_more_is_ready(struct bench *bench)
{
    if (++bench->known < bench->options.masters)
        return;
    begin(bench);
    uv_timer_start(&bench->timer, on_timer, (uint64_t)(bench->options.warmup_s * 1000), 0);
}

static void on_facts(void *context, unsigned i, const struct fence_facts *facts)
{
    struct bench *bench = context;
    if (!facts->marked || !facts->marked_active)
        errx(1, "%s belongs to no fleet: run pawld init --new", bench->options.urls[i]);
    fence_view_merge(&bench->view, &facts->view, bench->options.masters);
    one_more_is_ready(bench);
}

static void on_down(void *context, unsigned i, enum fence_reason reason)
{
    struct bench *bench = context;
    (void)reason;
    errx(1, "lost %s: %s", bench->options.urls[i], storage_redis_master_detail(bench->masters[i]));
}

static void on_minimal_ready(void *context, unsigned i)
{
    (void)i;
    one_more_is_ready(context);
}

static void on_minimal_lost(void *context, unsigned i, const char *why)
{
    const struct bench *bench = context;
    errx(1, "lost %s: %s", bench->options.urls[i], why);
}

static void open_minimal(struct bench *bench, unsigned i, const struct storage_redis_url *url)
{
    const struct minimal_events events = {
        .context = bench,
        .ready = on_minimal_ready,
        .reply = on_minimal_reply,
        .lost = on_minimal_lost,
    };
    if (url->password[0] != '\0')
        errx(2, "%s: --minimal takes no password", bench->options.urls[i]);
    bench->minimal[i] = minimal_new(&bench->loop, i, url, &events);
}

static void open_masters(struct bench *bench)
{
    for (unsigned i = 0; i < bench->options.masters; i++) {
        struct storage_redis_config config = {
            .loop = &bench->loop,
            .index = i,
            .members = bench->options.masters,
            .events = {.context = bench, .facts = on_facts, .down = on_down, .reply = on_reply},
        };
        const char *why;
        if (storage_redis_url_parse(bench->options.urls[i], &config.url, &why) != 0)
            errx(2, "%s: %s", bench->options.urls[i], why);
        if (bench->options.minimal)
            open_minimal(bench, i, &config.url);
        else if (storage_redis_master_new(&config, &bench->masters[i]) != 0)
            errx(1, "out of memory");
    }
}

static void flush(struct bench *bench, unsigned i)
{
    if (bench->options.minimal)
        minimal_flush(bench->minimal[i]);
    else
        storage_redis_master_flush(bench->masters[i]);
}

static void close_masters(struct bench *bench)
{
    for (unsigned i = 0; i < bench->options.masters; i++)
        if (bench->options.minimal)
            minimal_free(bench->minimal[i]);
        else
            storage_redis_master_free(bench->masters[i]);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Runs just before the loop waits: what all replies of the turn led to leaves in one call each. */
static void on_turn_end(uv_prepare_t *turn_end)
{
    struct bench *bench = turn_end->data;
    for (unsigned i = 0; i < bench->options.masters; i++)
        flush(bench, i);
}

/* The start is late, or the warm-up is over, or the time is. */
static void on_timer(uv_timer_t *timer)
{
    struct bench *bench = timer->data;
    if (bench->known < bench->options.masters)
        errx(1, "the masters did not answer within %d ms", START_TIMEOUT_MS);
    if (bench->warm) {
        bench->tally.ended_us = clock_us(); /* on_reply() stops the loop after the last reply */
        return;
    }
    bench->warm = true;
    tally_begin(&bench->tally);
    uv_timer_start(timer, on_timer, (uint64_t)(bench->options.seconds * 1000), 0);
}

static void run(struct bench *bench)
{
    uv_loop_init(&bench->loop);
    uv_prepare_init(&bench->loop, &bench->turn_end);
    bench->turn_end.data = bench;
    uv_prepare_start(&bench->turn_end, on_turn_end);
    uv_timer_init(&bench->loop, &bench->timer);
    bench->timer.data = bench;
    uv_timer_start(&bench->timer, on_timer, START_TIMEOUT_MS, 0);
    open_masters(bench);
    uv_run(&bench->loop, UV_RUN_DEFAULT);

    close_masters(bench);
    uv_close((uv_handle_t *)&bench->turn_end, NULL);
    uv_close((uv_handle_t *)&bench->timer, NULL);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    uv_loop_close(&bench->loop);
}

/* ---- the command line ------------------------------------------------------------------------ */

static const struct argp_option option_list[] = {
    {"master", 'm', "URL", 0, "A master: redis://127.0.0.1:6379; give all of the fleet, in order",
     0},
    {"minimal", 'M', NULL, 0, "The least script that locks and counts, rather than pawld's", 0},
    {"connections", 'c', "K", 0, "Virtual clients (default 64)", 0},
    {"names", 'n', "M", 0, "Names in use (default: K, no contention)", 0},
    {"seconds", 's', "S", 0, "How long to measure (default 5)", 0},
    {"warmup", 'w', "S", 0, "How long to run before that (default 0.3)", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'm':
        if (options->masters == FENCE_MASTERS_MAX)
            argp_error(state, "more than %d masters", FENCE_MASTERS_MAX);
        options->urls[options->masters++] = arg;
        return 0;
    case 'M':
        options->minimal = true;
        return 0;
    case 'c':
        options->clients = (unsigned)tally_option(arg, 1, CLIENTS_MAX, state);
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
    case ARGP_KEY_END:
        if (options->masters % 2 == 0)
            argp_error(state, "give an odd number of masters");
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
        .doc = "Measures the script calls of acquire+release on bare masters.",
    };
    struct bench *bench = calloc(1, sizeof(*bench));
    if (!bench)
        err(1, "cannot start");
    bench->options = (struct options){.clients = 64, .seconds = 5, .warmup_s = 0.3};
    argp_parse(&argp, argc, argv, 0, NULL, &bench->options);
    if (bench->options.names == 0)
        bench->options.names = bench->options.clients;
    bench->clients = calloc(bench->options.clients, sizeof(*bench->clients));
    if (!bench->clients)
        err(1, "cannot start");
    run(bench);
    tally_print(&bench->tally, bench->options.clients, bench->options.names);
    free(bench->clients);
    free(bench);
    return 0;
}
