/* guards_race_shared: readers and writers of read-write locks of two pawld, some of them past their
 * leases, while masters are replaced. Plays it with the guard and without, and compares what the
 * rows say with what was committed, and what each reader saw with itself.
 *
 * Prints a line of JSON for each play. Fails if the guard lost an update, or let a reader see a
 * half of a write, or refused nothing; or if without the guard nothing was lost or no half was
 * seen: then the race has shown nothing. */
#include "tests/contract/guards/guard.h"
#include "tests/contract/guards/program.h"
#include "tests/contract/guards/sharers.h"
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/redis_fleet.h"
#include "tests/lib/wait.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    MASTERS = 3,
    REPLACED_EVERY_MS = 1500,
    DEAD_MS = 100,
    URL_MAX = 64,
};

/* The locks of both plays. */
static struct {
    struct redis_fleet *fleet;
    char urls[SHARERS_SERVICES][URL_MAX];
    unsigned replaced; /* masters, so far */
} service;

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

/* A master loses all that it has, and rejoins. */
static void replace_a_master(void *context)
{
    (void)context;
    wait_ms(REPLACED_EVERY_MS - DEAD_MS);
    const unsigned i = service.replaced++ % MASTERS;
    redis_fleet_kill(service.fleet, i);
    wait_ms(DEAD_MS);
    redis_fleet_restart(service.fleet, i, false);
}

/* Returns whether it shows what it should. */
static bool race(const struct guard_kind *kind, bool guarded)
{
    struct guard_server *server = guard_server_new(kind);
    struct sharers_tally tally = {0};
    const struct sharers_config config = {.server = server,
                                          .readers = options.readers,
                                          .writers = options.writers,
                                          .guarded = guarded,
                                          .urls = {service.urls[0], service.urls[1]},
                                          .meanwhile = replace_a_master,
                                          .until_ms =
                                              wait_now_ms() + options.seconds * UINT64_C(1000)};
    const unsigned replaced = service.replaced;
    sharers_run(&config, &tally);
    const int64_t lost = (int64_t)tally.written - look(server);
    guard_server_free(server);
    printf("{\"kind\":\"%s\",\"guarded\":%s,\"seconds\":%u,\"readers\":%u,\"writers\":%u,"
           "\"replaced\":%u,\"written\":%u,\"read\":%u,\"ungranted\":%u,\"refused_writes\":%u,"
           "\"refused_reads\":%u,\"again\":%u,\"failed\":%u,\"lost\":%" PRId64 ",\"halves\":%u}\n",
           kind->name, guarded ? "true" : "false", options.seconds, options.readers,
           options.writers, service.replaced - replaced, tally.written, tally.read, tally.ungranted,
           tally.refused_writes, tally.refused_reads, tally.again, tally.failed, lost,
           tally.halves);
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
    {"seconds", 's', "S", 0, "How long each play lasts (default 10)", 0},
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

static void begin_service(void)
{
    service.fleet = redis_fleet_new(MASTERS, REDIS_VOLATILE);
    pawl_init_new(service.fleet);
    for (unsigned i = 0; i < SHARERS_SERVICES; i++) {
        const struct pawl_service pawld = pawld_start(service.fleet, NULL);
        pawl_wait_ready(pawld);
        snprintf(service.urls[i], URL_MAX, "http://127.0.0.1:%u", (unsigned)pawld.port);
    }
}

static void races_hold(void **state)
{
    const struct guard_kind *kind = program_kind(options.kind);
    begin_service();
    const bool guarded_holds = race(kind, true);
    const bool control_loses = race(kind, false);
    redis_fleet_free(service.fleet);
    assert_true(guarded_holds);
    assert_true(control_loses);
}

int main(int argc, char **argv)
{
    return program_main(&argp, argc, argv, races_hold);
}
