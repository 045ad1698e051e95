/* guards_race_shared: readers and writers of read-write locks, some of them past their leases.
 * Plays it with the guard and without, and compares what the rows say with what was committed, and
 * what each reader saw with itself.
 *
 * Prints a line of JSON for each play. Fails if the guard lost an update, or let a reader see a
 * half of a write, or refused nothing; or if without the guard nothing was lost or no half was
 * seen: then the race has shown nothing. */
#include "tests/contract/guards/guard.h"
#include "tests/contract/guards/program.h"
#include "tests/contract/guards/sharers.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    CONTROL_SECONDS_MAX = 10, /* without the guard */
};

static struct {
    const char *kind;
    unsigned seconds;
    unsigned readers, writers;
} options = {.seconds = 10, .readers = 40, .writers = 4};

/* The sum of the first rows of the pairs. */
static int64_t look(const struct guard_server *server)
{
    const struct guard_kind *kind = server->kind;
    struct guard_connection *connection = guard_connect(server, kind->isolations[0]);
    int64_t sum = 0;
    assert_int_equal(kind->begin(connection), GUARD_DONE);
    for (unsigned pair = 0; pair < SHARERS_PAIRS; pair++) {
        int64_t first = 0, second = 0;
        assert_int_equal(kind->read(connection, GUARD_PLAIN, 1 + 2 * pair, &first), GUARD_DONE);
        assert_int_equal(kind->read(connection, GUARD_PLAIN, 2 + 2 * pair, &second), GUARD_DONE);
        assert_int_equal(first, second);
        sum += first;
    }
    kind->rollback(connection);
    kind->close(connection);
    return sum;
}

/* Returns whether it shows what it should. */
static bool race(const struct guard_kind *kind, bool guarded, unsigned seconds)
{
    struct guard_server *server = guard_server_new(kind);
    struct sharers_tally tally = {0};
    const struct sharers_config config = {.server = server,
                                          .readers = options.readers,
                                          .writers = options.writers,
                                          .guarded = guarded,
                                          .until_ms = wait_now_ms() + seconds * UINT64_C(1000)};
    sharers_run(&config, &tally);
    const int64_t lost = (int64_t)tally.written - look(server);
    guard_server_free(server);
    printf("{\"kind\":\"%s\",\"guarded\":%s,\"seconds\":%u,\"readers\":%u,\"writers\":%u,"
           "\"written\":%u,\"read\":%u,\"refused_writes\":%u,\"refused_reads\":%u,\"again\":%u,"
           "\"failed\":%u,\"lost\":%" PRId64 ",\"halves\":%u}\n",
           kind->name, guarded ? "true" : "false", seconds, options.readers, options.writers,
           tally.written, tally.read, tally.refused_writes, tally.refused_reads, tally.again,
           tally.failed, lost, tally.halves);
    fflush(stdout);
    if (!guarded)
        return lost > 0 && tally.halves > 0;
    return lost == 0 && tally.halves == 0 && tally.failed == 0 && tally.written > 0 &&
           tally.read > 0 && tally.refused_writes > 0 && tally.refused_reads > 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case 's':
        options.seconds = guard_number(state, arg, 3600);
        return 0;
    case 'r':
        options.readers = guard_number(state, arg, SHARERS_READERS_MAX);
        return 0;
    case 'w':
        options.writers = guard_number(state, arg, SHARERS_WRITERS_MAX);
        return 0;
    default:
        return program_parse(key, arg, state, &options.kind);
    }
}

static const struct argp_option argp_options[] = {
    {"seconds", 's', "S", 0, "How long the play with the guard lasts (default 10)", 0},
    {"readers", 'r', "N", 0, "How many readers (default 40)", 0},
    {"writers", 'w', "N", 0, "How many writers (default 4)", 0},
    {0},
};

static const struct argp argp = {
    .options = argp_options,
    .parser = parse,
    .args_doc = "KIND",
    .doc = "Readers and writers race for the rows of a guarded database.",
};

static void races_hold(void **state)
{
    const struct guard_kind *kind = program_kind(options.kind);
    const unsigned control =
        options.seconds < CONTROL_SECONDS_MAX ? options.seconds : CONTROL_SECONDS_MAX;
    const bool guarded_holds = race(kind, true, options.seconds);
    const bool control_loses = race(kind, false, control);
    assert_true(guarded_holds);
    assert_true(control_loses);
}

int main(int argc, char **argv)
{
    return program_main(&argp, argc, argv, races_hold);
}
