/* guards_cost: what a guard costs. Writers change a row each, over and over, each in a transaction
 * that is durable: with a check in it, and without, in turn. Prints a line of JSON for each number
 * of writers: microseconds a transaction takes its writer, as medians over the rounds, and the
 * median of the ratios of each round. */
#include "tests/contract/guards/guard.h"
#include "tests/contract/guards/program.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WRITERS_MOST = 16,
    ROUNDS_MAX = 25,
};

static const unsigned writer_counts[] = {1, WRITERS_MOST};

static struct {
    const char *kind;
    unsigned rounds;
    unsigned ms;
} options = {.rounds = 5, .ms = 2000};

struct writer {
    const struct guard_kind *kind;
    struct guard_connection *connection;
    pthread_t thread;
    unsigned row;
    bool guarded;
    uint64_t until_ms;
    unsigned done, failed;
};

/* ---- a round --------------------------------------------------------------------------------- */

static bool transact(struct writer *writer, int64_t value)
{
    const struct guard_kind *kind = writer->kind;
    enum guard_outcome outcome = kind->begin(writer->connection);
    if (outcome == GUARD_DONE && writer->guarded)
        outcome = guard_check(writer->connection, guard_resource(writer->row), 1);
    if (outcome == GUARD_DONE)
        outcome = kind->write(writer->connection, GUARD_PLAIN, writer->row, value);
    if (outcome == GUARD_DONE)
        outcome = kind->commit(writer->connection);
    if (outcome != GUARD_DONE)
        kind->rollback(writer->connection);
    return outcome == GUARD_DONE;
}

static void *write_on(void *arg)
{
    struct writer *writer = arg;
    for (int64_t value = 1; wait_now_ms() < writer->until_ms; value++) {
        const bool done = transact(writer, value);
        writer->done += done;
        writer->failed += !done;
    }
    return NULL;
}

/* Returns microseconds that a transaction took its writer, on average. */
static double play(struct writer *writers, unsigned count, bool guarded)
{
    unsigned done = 0;
    const uint64_t until_ms = wait_now_ms() + options.ms;
    for (unsigned i = 0; i < count; i++) {
        writers[i].guarded = guarded;
        writers[i].until_ms = until_ms;
        writers[i].done = 0;
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_on, &writers[i]), 0);
    }
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
        done += writers[i].done;
    }
    assert_true(done > 0);
    return 1e3 * options.ms * count / done;
}

/* ---- figures --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, options.rounds, sizeof(values[0]), compare);
    return values[options.rounds / 2];
}

static void measure(const struct guard_server *server, unsigned count)
{
    struct writer writers[WRITERS_MOST] = {0};
    double with[ROUNDS_MAX] = {0}, without[ROUNDS_MAX] = {0}, ratios[ROUNDS_MAX] = {0};
    unsigned failed = 0;
    for (unsigned i = 0; i < count; i++) {
        writers[i].kind = server->kind;
        writers[i].row = i + 1;
        writers[i].connection = guard_connect(server, server->kind->isolations[0]);
    }
    for (unsigned round = 0; round < options.rounds; round++) {
        const bool guarded_first = round % 2;
        if (guarded_first)
            with[round] = play(writers, count, true);
        without[round] = play(writers, count, false);
        if (!guarded_first)
            with[round] = play(writers, count, true);
        ratios[round] = with[round] / without[round];
    }
    for (unsigned i = 0; i < count; i++) {
        failed += writers[i].failed;
        server->kind->close(writers[i].connection);
    }
    const double ratio = median(ratios);
    printf("{\"kind\":\"%s\",\"writers\":%u,\"without_us\":%.0f,\"with_us\":%.0f,\"more_us\":%.0f,"
           "\"ratio\":%.3f,\"least\":%.3f,\"most\":%.3f,\"failed\":%u}\n",
           server->kind->name, count, median(without), median(with), median(with) - median(without),
           ratio, ratios[0], ratios[options.rounds - 1], failed);
    fflush(stdout);
}

/* ---- the command line ------------------------------------------------------------------------ */

static error_t parse(int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case 'r':
        options.rounds = guard_number(state, arg, ROUNDS_MAX);
        return 0;
    case 'm':
        options.ms = guard_number(state, arg, 60000);
        return 0;
    default:
        return program_parse(key, arg, state, &options.kind);
    }
}

static const struct argp_option argp_options[] = {
    {"rounds", 'r', "N", 0, "How many rounds (default 5)", 0},
    {"ms", 'm', "MS", 0, "How long each candidate's turn lasts (default 2000)", 0},
    {0},
};

static const struct argp argp = {
    .options = argp_options,
    .parser = parse,
    .args_doc = "KIND",
    .doc = "Measures what a guard costs a transaction.",
};

static void costs(void **state)
{
    const struct guard_kind *kind = program_kind(options.kind);
    struct guard_server *server = guard_server_new(kind);
    for (size_t i = 0; i < sizeof(writer_counts) / sizeof(writer_counts[0]); i++)
        measure(server, writer_counts[i]);
    guard_server_free(server);
}

int main(int argc, char **argv)
{
    return program_main(&argp, argc, argv, costs);
}
