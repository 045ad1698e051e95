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
#include "scripts/bench.d/programs/calls.h"
#include "scripts/bench.d/programs/names.h"
#include "scripts/bench.d/programs/tally.h"
#include "tests/lib/clock.h"

#include <argp.h>
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <uv.h>

enum {
    START_TIMEOUT_MS = 10 * 1000,
};

struct options {
    struct calls_options calls;
    unsigned clients;
    unsigned names;
    double seconds;
    double warmup_s;
};

struct client {
    unsigned turn; /* counts its locks */
    bool acquiring;
    uint64_t sent_us;
};

struct bench {
    struct options options;
    uv_loop_t loop;
    uv_prepare_t turn_end;
    uv_timer_t timer;
    struct calls *calls;
    struct client clients[CALLS_CLIENTS_MAX];
    bool ready;
    bool warm;
    struct tally tally;
};

/* ---- clients --------------------------------------------------------------------------------- */

static void acquire(struct bench *bench, unsigned k)
{
    struct client *client = &bench->clients[k];
    char resource[CALLS_RESOURCE_MAX];
    snprintf(resource, sizeof(resource), "bare/%d/%0*u", (int)getpid(), NAMES_DIGITS,
             names_next(k, client->turn++, bench->options.clients, bench->options.names));
    client->acquiring = true;
    client->sent_us = clock_us();
    calls_acquire(bench->calls, k, resource);
}

static void release(struct bench *bench, unsigned k)
{
    bench->clients[k].acquiring = false;
    bench->clients[k].sent_us = clock_us();
    calls_release(bench->calls, k);
}

/* Counts it, and goes on. */
static void on_answered(void *context, unsigned k, bool good)
{
    struct bench *bench = context;
    const struct client *client = &bench->clients[k];
    const bool acquired = client->acquiring;
    tally_add(&bench->tally, acquired, good, 0, clock_us() - client->sent_us);
    if (acquired)
        release(bench, k);
    else if (bench->tally.ended_us == 0)
        acquire(bench, k);
}

static void on_idle(void *context)
{
    struct bench *bench = context;
    uv_stop(&bench->loop);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void on_timer(uv_timer_t *timer);

static void on_ready(void *context)
{
    struct bench *bench = context;
    bench->ready = true;
    for (unsigned k = 0; k < bench->options.clients; k++)
        acquire(bench, k);
    uv_timer_start(&bench->timer, on_timer, (uint64_t)(bench->options.warmup_s * 1000), 0);
}

/* Runs just before the loop waits: what all replies of the turn led to leaves in one call each. */
static void on_turn_end(uv_prepare_t *turn_end)
{
    const struct bench *bench = turn_end->data;
    calls_flush(bench->calls);
}

/* The start is late, or the warm-up is over, or the time is. */
static void on_timer(uv_timer_t *timer)
{
    struct bench *bench = timer->data;
    if (!bench->ready)
        errx(1, "the masters did not answer within %d ms", START_TIMEOUT_MS);
    if (bench->warm) {
        bench->tally.ended_us = clock_us(); /* on_idle() stops the loop after the last reply */
        return;
    }
    bench->warm = true;
    tally_begin(&bench->tally);
    uv_timer_start(timer, on_timer, (uint64_t)(bench->options.seconds * 1000), 0);
}

static void run(struct bench *bench)
{
    const struct calls_events events = {
        .context = bench,
        .ready = on_ready,
        .answered = on_answered,
        .idle = on_idle,
    };
    uv_loop_init(&bench->loop);
    uv_prepare_init(&bench->loop, &bench->turn_end);
    bench->turn_end.data = bench;
    uv_timer_init(&bench->loop, &bench->timer);
    bench->timer.data = bench;
    uv_timer_start(&bench->timer, on_timer, START_TIMEOUT_MS, 0);
    bench->calls = calls_new(&bench->loop, &bench->options.calls, bench->options.clients, &events);
    uv_prepare_start(&bench->turn_end, on_turn_end);
    uv_run(&bench->loop, UV_RUN_DEFAULT);

    uv_close((uv_handle_t *)&bench->turn_end, NULL);
    uv_close((uv_handle_t *)&bench->timer, NULL);
    calls_free(bench->calls);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    uv_loop_close(&bench->loop);
}

/* ---- the command line ------------------------------------------------------------------------ */

static const struct argp_option option_list[] = {
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
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->calls;
        return 0;
    case 'c':
        options->clients = (unsigned)tally_option(arg, 1, CALLS_CLIENTS_MAX, state);
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
        .doc = "Measures the script calls of acquire+release on bare masters.",
        .children = children,
    };
    struct bench *bench = calloc(1, sizeof(*bench));
    if (!bench)
        err(1, "cannot start");
    bench->options = (struct options){.clients = 64, .seconds = 5, .warmup_s = 0.3};
    argp_parse(&argp, argc, argv, 0, NULL, &bench->options);
    if (bench->options.names == 0)
        bench->options.names = bench->options.clients;
    run(bench);
    tally_print(&bench->tally, bench->options.clients, bench->options.names);
    free(bench);
    return 0;
}
