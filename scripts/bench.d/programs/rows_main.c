/* pawl-bench-rows: the rate of an embedded master's file alone.
 *
 * K virtual clients in one thread take and release locks on a file of their own. One transaction
 * takes the locks of all clients, and the next releases them. There is no HTTP, no JSON, no loop
 * and no second thread. An embedded pawld is measured against this. Prints one line of JSON. */
#include "scripts/bench.d/programs/names.h"
#include "scripts/bench.d/programs/rows.h"
#include "scripts/bench.d/programs/tally.h"
#include "tests/lib/clock.h"

#include <argp.h>
#include <stdio.h>

static struct options {
    const char *folder;
    unsigned clients;
    unsigned names; /* 0: as many as clients */
    double seconds;
    double warmup_s;
} options = {.clients = 1, .seconds = 4, .warmup_s = 0.5};

static bool good[ROWS_CLIENTS_MAX]; /* the last request was done */
static struct tally tally;

static bool acquire(unsigned k, unsigned attempt)
{
    char resource[ROWS_RESOURCE_MAX];
    snprintf(resource, sizeof(resource), "rows/%0*u", NAMES_DIGITS,
             names_next(k, attempt, options.clients,
                        options.names > 0 ? options.names : options.clients));
    return rows_acquire(k, resource);
}

/* A transaction of all clients, as a turn of the store is one. */
static void turn(bool acquires, unsigned attempt)
{
    const uint64_t sent_us = clock_us();
    rows_begin();
    for (unsigned k = 0; k < options.clients; k++)
        good[k] = acquires ? acquire(k, attempt) : rows_release(k);
    rows_commit();
    const uint64_t latency_us = clock_us() - sent_us;
    for (unsigned k = 0; k < options.clients; k++)
        tally_add(&tally, acquires, good[k], 0, latency_us);
}

static void run_for(double seconds)
{
    static unsigned attempt;
    const uint64_t end_us = clock_us() + (uint64_t)(seconds * 1e6);
    for (; clock_us() < end_us; attempt++) {
        turn(true, attempt);
        turn(false, attempt);
    }
}

static error_t parse_rows(int key, char *text, struct argp_state *parser)
{
    switch (key) {
    case 'd':
        options.folder = text;
        return 0;
    case 'c':
        options.clients = (unsigned)tally_option(text, 1, ROWS_CLIENTS_MAX, parser);
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
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    rows_open(options.folder);
    tally_begin(&tally);
    run_for(options.warmup_s);
    tally_begin(&tally);
    run_for(options.seconds);
    tally.ended_us = clock_us();
    tally_print(&tally, options.clients, options.names);
    rows_close();
    return 0;
}
