#include "tests/contract/guards/writers.h"

#include "api/client/pawl.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TTL_MS = 300,
    LOCK_WAIT_MS = 500,
    WORK_MAX_MS = 30,
    SLEEP_MIN_MS = TTL_MS + 20, /* past its lease, ... */
    SLEEP_MAX_MS = TTL_MS + 300,
    SLEEPS_PERCENT = 15,
    TRIES = 10, /* for a transaction that others are in the way of */
    RETRY_MS = 20,
};

struct writer {
    const struct writers_config *config;
    pthread_t thread;
    unsigned seed;
    pawl_client *client;
    struct guard_connection *connection; /* NULL: the server is gone */
    unsigned row;
    int64_t token;
};

static void tell(const struct writer *writer, char what, int64_t token)
{
    char line[64];
    int len = what == 'c' ? snprintf(line, sizeof(line), "c %u %" PRId64 "\n", writer->row, token)
                          : snprintf(line, sizeof(line), "%c %u\n", what, writer->row);
    if (write(writer->config->events, line, (size_t)len) != len)
        abort();
}

static unsigned below(struct writer *writer, unsigned bound)
{
    return (unsigned)rand_r(&writer->seed) % bound;
}

static bool is_over(const struct writer *writer)
{
    return wait_now_ms() >= writer->config->until_ms;
}

static const struct guard_kind *kind_of(const struct writer *writer)
{
    return writer->config->server->kind;
}

static enum guard_table table_of(const struct writer *writer)
{
    return writer->config->guarded && kind_of(writer)->protects ? GUARD_PROTECTED : GUARD_PLAIN;
}

/* ---- connections ----------------------------------------------------------------------------- */

static bool connected(struct writer *writer)
{
    while (!writer->connection && !is_over(writer)) {
        writer->connection =
            kind_of(writer)->connect(writer->config->server, kind_of(writer)->isolations[0]);
        if (!writer->connection)
            wait_ms(RETRY_MS);
    }
    return writer->connection != NULL;
}

/* After an error. */
static void give_up(struct writer *writer, enum guard_outcome outcome)
{
    if (outcome == GUARD_GONE) {
        kind_of(writer)->close(writer->connection);
        writer->connection = NULL;
        return;
    }
    kind_of(writer)->rollback(writer->connection);
    if (outcome == GUARD_STALE)
        tell(writer, 's', 0);
    else if (outcome == GUARD_AGAIN)
        tell(writer, 'a', 0);
    else
        fprintf(stderr, "outcome %d: %s\n", (int)outcome, writer->connection->error);
}

/* ---- transactions ---------------------------------------------------------------------------- */

static enum guard_outcome claim_and_read(struct writer *writer, int64_t *ret_value)
{
    const struct guard_kind *kind = kind_of(writer);
    struct guard_connection *connection = writer->connection;
    enum guard_outcome outcome = kind->begin(connection);
    if (outcome == GUARD_DONE && writer->config->guarded)
        outcome = guard_claim(connection, guard_resource(writer->row), writer->token);
    if (outcome == GUARD_DONE)
        outcome = kind->read(connection, table_of(writer), writer->row, ret_value);
    if (outcome == GUARD_DONE)
        outcome = kind->commit(connection);
    if (outcome == GUARD_DONE && writer->config->guarded)
        tell(writer, 'c', writer->token);
    return outcome;
}

static enum guard_outcome check_and_write(struct writer *writer, int64_t value)
{
    const struct guard_kind *kind = kind_of(writer);
    struct guard_connection *connection = writer->connection;
    enum guard_outcome outcome = kind->begin(connection);
    if (outcome == GUARD_DONE && writer->config->guarded)
        outcome = guard_check(connection, guard_resource(writer->row), writer->token);
    if (outcome == GUARD_DONE)
        outcome = kind->write(connection, table_of(writer), writer->row, value);
    if (outcome != GUARD_DONE)
        return outcome;
    tell(writer, 't', 0);
    outcome = kind->commit(connection);
    if (outcome != GUARD_GONE)
        tell(writer, outcome == GUARD_DONE ? 'd' : 'x', 0);
    return outcome;
}

/* The work of a holder. It does not look at its clock. */
static void work(struct writer *writer)
{
    int64_t value = 0;
    enum guard_outcome outcome = GUARD_AGAIN;
    for (unsigned tries = 0; outcome == GUARD_AGAIN && tries < TRIES && connected(writer);
         tries++) {
        outcome = claim_and_read(writer, &value);
        if (outcome != GUARD_DONE)
            give_up(writer, outcome);
    }
    if (outcome != GUARD_DONE)
        return;
    if (below(writer, 100) < SLEEPS_PERCENT)
        wait_ms(SLEEP_MIN_MS + below(writer, SLEEP_MAX_MS - SLEEP_MIN_MS));
    else
        wait_ms(below(writer, WORK_MAX_MS));
    outcome = GUARD_AGAIN;
    for (unsigned tries = 0; outcome == GUARD_AGAIN && tries < TRIES && writer->connection;
         tries++) {
        outcome = check_and_write(writer, value + 1);
        if (outcome != GUARD_DONE)
            give_up(writer, outcome);
    }
}

/* ---- writers --------------------------------------------------------------------------------- */

static void take_turn(struct writer *writer)
{
    writer->row = 1 + below(writer, WRITERS_ROWS);
    const char *const name = guard_resource(writer->row);
    const struct pawl_request request = {
        .names = &name, .name_count = 1, .ttl_ms = TTL_MS, .wait_ms = LOCK_WAIT_MS};
    pawl_lock *lock = NULL;
    if (pawl_acquire(writer->client, &request, &lock) != 0)
        return;
    writer->token = pawl_lock_token(lock, 0);
    work(writer);
    (void)pawl_release(writer->client, lock, NULL); /* it may have ended long ago */
    pawl_lock_free(lock);
}

static void *write_until_over(void *arg)
{
    struct writer *writer = arg;
    const struct pawl_options options = {.servers = &writer->config->url, .server_count = 1};
    if (pawl_client_new(&options, &writer->client) != 0)
        abort();
    while (!is_over(writer) && connected(writer))
        take_turn(writer);
    kind_of(writer)->close(writer->connection);
    pawl_client_free(writer->client);
    return NULL;
}

void writers_run(const struct writers_config *config)
{
    struct writer writers[WRITERS_MAX];
    assert_in_range(config->writers, 1, WRITERS_MAX);
    for (unsigned i = 0; i < config->writers; i++) {
        writers[i] = (struct writer){.config = config, .seed = (unsigned)wait_now_ms() + i};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_until_over, &writers[i]),
                         0);
    }
    for (unsigned i = 0; i < config->writers; i++)
        assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
}
