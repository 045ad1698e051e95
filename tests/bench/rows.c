/* pawl-bench-rows: the rate of an embedded master's file alone.
 *
 * K virtual clients in one thread take and release locks on a file of their own. The rules and the
 * statements are those of an embedded master. One transaction takes the locks of all clients, and
 * the next releases them. There is no HTTP, no JSON, no loop and no second thread. An embedded
 * pawld is measured against this. Prints one line of JSON. */
#include "fence/protocol/name.h"
#include "storage/sqlite/file.h"
#include "storage/sqlite/locks.h"
#include "tests/bench/names.h"
#include "tests/bench/tally.h"
#include "tests/lib/clock.h"

#include <argp.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLIENTS_MAX = 4096,
};

static struct options {
    const char *folder;
    unsigned clients;
    unsigned names; /* 0: as many as clients */
    double seconds;
    double warmup_s;
} options = {.clients = 1, .seconds = 4, .warmup_s = 0.5};

static struct client {
    char resource[32];
    char lock_id[FENCE_LOCK_ID_LEN + 1];
    unsigned attempt;
    bool good; /* the last request was done */
} clients[CLIENTS_MAX];

static struct storage_file file;
static struct storage_state state;
static struct tally tally;

static void ask(struct client *client, bool acquire)
{
    struct storage_answer answer;
    if (acquire)
        snprintf(client->resource, sizeof(client->resource), "rows/%0*u", NAMES_DIGITS,
                 names_next((unsigned)(client - clients), client->attempt++, options.clients,
                            options.names > 0 ? options.names : options.clients));
    const struct fence_request request = {
        .kind = acquire ? FENCE_REQUEST_TAKE : FENCE_REQUEST_RELEASE,
        .resource = client->resource,
        .lock_id = client->lock_id,
        .owner = "",
        .attempt = client->attempt,
        .ttl_ms = FENCE_TTL_DEFAULT_MS,
        .slot = (uint16_t)fence_slot(client->resource, strlen(client->resource)),
    };
    storage_locks_do(&state, &request, &answer);
    client->good = answer.reply.kind == (acquire ? FENCE_REPLY_NUMBER : FENCE_REPLY_YES);
}

/* A transaction of all clients, as a turn of the store is one. */
static void turn(bool acquire)
{
    const uint64_t sent_us = clock_us();
    storage_state_begin(&state);
    for (unsigned k = 0; k < options.clients; k++)
        ask(&clients[k], acquire);
    if (!storage_state_end(&state))
        errx(1, "%s: %s", file.path, sqlite3_errstr(state.code));
    storage_file_committed(&file, state.commits);
    storage_file_checkpoint(&file);
    const uint64_t latency_us = clock_us() - sent_us;
    for (unsigned k = 0; k < options.clients; k++)
        tally_add(&tally, acquire, clients[k].good, 0, latency_us);
}

static void run_for(double seconds)
{
    const uint64_t end_us = clock_us() + (uint64_t)(seconds * 1e6);
    while (clock_us() < end_us) {
        turn(true);
        turn(false);
    }
}

static error_t parse_rows(int key, char *text, struct argp_state *parser)
{
    switch (key) {
    case 'd':
        options.folder = text;
        return 0;
    case 'c':
        options.clients = (unsigned)tally_option(text, 1, CLIENTS_MAX, parser);
        return 0;
    case 'n':
        options.names = (unsigned)tally_option(text, 1, NAMES_MAX, parser);
        return 0;
    case 's':
        options.seconds = tally_option(text, 0.001, 86400, parser);
        return 0;
    case 'w':
        options.warmup_s = tally_option(text, 0, 86400, parser);
        return 0;
    case ARGP_KEY_END:
        if (!options.folder)
            argp_error(parser, "a folder is wanted: --data FOLDER");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_option list[] = {
        {"data", 'd', "FOLDER", 0, "Where the file is", 0},
        {"connections", 'c', "K", 0, "Clients (1)", 0},
        {"names", 'n', "N", 0, "Names that the locks have in turn (one for each client)", 0},
        {"seconds", 's', "S", 0, "How long to measure (4)", 0},
        {"warmup", 'w', "S", 0, "How long before that (0.5)", 0},
        {0},
    };
    static const struct argp argp = {list, parse_rows, NULL, "The rows of locks alone.", 0, 0, 0};
    char why[STORAGE_WHY_MAX];
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    const struct storage_file_config config = {.folder = options.folder, .members = 1};
    if (storage_file_open(&config, &file, &state, why) != 0)
        errx(1, "%s", why);
    for (unsigned k = 0; k < options.clients; k++)
        snprintf(clients[k].lock_id, sizeof(clients[k].lock_id), "%0*u", FENCE_LOCK_ID_LEN, k);
    tally_begin(&tally);
    run_for(options.warmup_s);
    tally_begin(&tally);
    run_for(options.seconds);
    tally.ended_us = clock_us();
    tally_print(&tally, options.clients, options.names);
    storage_file_close(&file, &state);
    return 0;
}
