/* guards_race: many writers that read, work and write under locks of a real pawld, some of them
 * past their leases. Plays it with the guard and without, and compares what the rows say with what
 * was committed. With --kills the database is killed again and again (SIGKILL): its server, or
 * where it has none the process of the writers. Then no guard may stand lower than a claim that was
 * committed.
 *
 * Prints a line of JSON for each play. Fails if the guard lost an update, or if nothing was lost
 * without it: then the race has shown nothing. */
#include "tests/contract/guards/guard.h"
#include "tests/contract/guards/program.h"
#include "tests/contract/guards/writers.h"
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/wait.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    KILL_MIN_MS = 1000, /* between two kills */
    KILL_MAX_MS = 2500,
    DEAD_MS = 200,
    PATH_LEN = 256,
};

static struct {
    const char *kind;
    unsigned seconds;
    unsigned writers;
    bool kills;
} options = {.seconds = 10, .writers = 20};

struct tally {
    unsigned killed, claims, committed, unknown, stale, again;
    unsigned tried, refused;
    int64_t sum; /* sum of the rows */
    int64_t claimed[WRITERS_ROWS + 1];
};

/* ---- a play ---------------------------------------------------------------------------------- */

/* A separate process, which can be killed. */
static pid_t start_writers(const struct writers_config *config)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    writers_run(config);
    _exit(0);
}

static void kill_database(struct guard_server *server, pid_t *writers,
                          const struct writers_config *config)
{
    if (server->kind->has_server) {
        server->kind->kill(server);
        wait_ms(DEAD_MS);
        server->kind->restart(server);
        return;
    }
    assert_int_equal(kill(*writers, SIGKILL), 0);
    assert_int_equal(waitpid(*writers, NULL, 0), *writers);
    *writers = start_writers(config);
}

static unsigned play(struct guard_server *server, const struct writers_config *config)
{
    unsigned killed = 0;
    pid_t writers = start_writers(config);
    while (options.kills && wait_now_ms() + KILL_MAX_MS < config->until_ms) {
        wait_ms(KILL_MIN_MS + (unsigned)random() % (KILL_MAX_MS - KILL_MIN_MS));
        kill_database(server, &writers, config);
        killed++;
    }
    int status = 0;
    assert_int_equal(waitpid(writers, &status, 0), writers);
    assert_int_equal(status, 0);
    return killed;
}

/* ---- what came of it ------------------------------------------------------------------------- */

static void count_line(struct tally *tally, const char *line)
{
    char *end;
    const unsigned long row = strtoul(line + 1, &end, 10);
    const int64_t token = strtoll(end, NULL, 10);
    assert_in_range(row, 1, WRITERS_ROWS);
    tally->claims += line[0] == 'c';
    tally->tried += line[0] == 't';
    tally->committed += line[0] == 'd';
    tally->refused += line[0] == 'x';
    tally->stale += line[0] == 's';
    tally->again += line[0] == 'a';
    if (line[0] == 'c' && token > tally->claimed[row])
        tally->claimed[row] = token;
}

static void count_events(struct tally *tally, const char *path)
{
    char line[64];
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        count_line(tally, line);
    fclose(file);
    tally->unknown = tally->tried - tally->committed - tally->refused;
}

/* Returns how many guards stand lower than a claim that was committed. */
static unsigned look(struct guard_server *server, bool guarded, struct tally *tally)
{
    const struct guard_kind *kind = server->kind;
    const enum guard_table table = guarded && kind->protects ? GUARD_PROTECTED : GUARD_PLAIN;
    struct guard_connection *connection = guard_connect(server, kind->isolations[0]);
    unsigned lower = 0;
    assert_int_equal(kind->begin(connection), GUARD_DONE);
    for (unsigned row = 1; row <= WRITERS_ROWS; row++) {
        int64_t value = 0, token = 0;
        assert_int_equal(kind->read(connection, table, row, &value), GUARD_DONE);
        assert_int_equal(kind->token(connection, guard_resource(row), &token), GUARD_DONE);
        tally->sum += value;
        lower += token < tally->claimed[row];
    }
    kind->rollback(connection);
    kind->close(connection);
    return lower;
}

/* Returns whether it shows what it should. */
static bool race(const struct guard_kind *kind, const char *url, bool guarded)
{
    struct guard_server *server = guard_server_new(kind);
    struct tally tally = {0};
    char path[PATH_LEN];
    snprintf(path, sizeof(path), "%s/events", server->dir);
    const int events = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(events >= 0);
    const struct writers_config config = {
        .server = server,
        .url = url,
        .writers = options.writers,
        .guarded = guarded,
        .events = events,
        .until_ms = wait_now_ms() + options.seconds * UINT64_C(1000),
    };
    tally.killed = play(server, &config);
    close(events);
    count_events(&tally, path);
    const unsigned lower = look(server, guarded, &tally);
    /* A commit whose answer was lost may have been done. */
    const int64_t lost = tally.committed - tally.sum;
    const bool too_many = tally.sum > (int64_t)tally.committed + tally.unknown;
    printf("{\"kind\":\"%s\",\"guarded\":%s,\"seconds\":%u,\"writers\":%u,\"killed\":%u,"
           "\"claims\":%u,\"committed\":%u,\"unknown\":%u,\"stale\":%u,\"again\":%u,"
           "\"lost\":%" PRId64 ",\"guards_lower\":%u}\n",
           kind->name, guarded ? "true" : "false", options.seconds, options.writers, tally.killed,
           tally.claims, tally.committed, tally.unknown, tally.stale, tally.again,
           lost > 0 ? lost : 0, lower);
    fflush(stdout);
    guard_server_free(server);
    if (options.kills && tally.killed == 0)
        return false; /* it has shown nothing */
    return guarded ? lost <= 0 && !too_many && lower == 0 && tally.stale > 0 : lost > 0;
}

/* ---- the command line ------------------------------------------------------------------------ */

static error_t parse(int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case 's':
        options.seconds = guard_number(state, arg, 3600);
        return 0;
    case 'w':
        options.writers = guard_number(state, arg, WRITERS_MAX);
        return 0;
    case 'k':
        options.kills = true;
        return 0;
    default:
        return program_parse(key, arg, state, &options.kind);
    }
}

static const struct argp_option argp_options[] = {
    {"seconds", 's', "S", 0, "How long each play lasts (default 10)", 0},
    {"writers", 'w', "N", 0, "How many writers (default 20)", 0},
    {"kills", 'k', NULL, 0, "Kill the database now and then; only with the guard", 0},
    {0},
};

static const struct argp argp = {
    .options = argp_options,
    .parser = parse,
    .args_doc = "KIND",
    .doc = "Writers race for the rows of a guarded database.",
};

static void races_hold(void **state)
{
    const struct guard_kind *kind = program_kind(options.kind);
    char *folder = tempdir_new();
    char data[PATH_LEN], url[64];
    snprintf(data, sizeof(data), "%s/locks", folder);
    const struct pawl_service pawld = pawld_start_at(data, NULL);
    pawl_wait_ready(pawld);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", pawld.port);
    const bool guarded_holds = race(kind, url, true);
    const bool control_loses = options.kills || race(kind, url, false);
    process_stop(pawld.process);
    tempdir_remove(folder);
    assert_true(guarded_holds);
    assert_true(control_loses);
}

int main(int argc, char **argv)
{
    return program_main(&argp, argc, argv, races_hold);
}
