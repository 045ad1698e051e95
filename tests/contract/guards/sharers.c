#include "tests/contract/guards/sharers.h"

#include "api/client/pawl.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TTL_MS = 200,
    LOCK_WAIT_MS = 2000,
    WORK_MAX_MS = 10,
    SLEEP_MIN_MS = TTL_MS + 20, /* past its lease, ... */
    SLEEP_MAX_MS = TTL_MS + 200,
    SLEEPS_OF_READERS_PERCENT = 4,
    SLEEPS_OF_WRITERS_PERCENT = 15,
    TRIES = 10, /* for a transaction that others are in the way of */
    READS = 3,  /* for a reader: the first row, the second, and the first once more */
};

struct sharer {
    const struct sharers_config *config;
    struct sharers_tally *tally;
    pthread_t thread;
    unsigned seed;
    bool writes;
    pawl_client *client;
    struct guard_connection *connection;
    unsigned pair;
    int64_t token;
};

static const char *const pair_names[SHARERS_PAIRS] = {"pairs/0", "pairs/1"};

/* A transaction of a sharer: what it calls the guard for, and what it does. */
struct step {
    enum guard_call call;
    unsigned row;   /* index in the pair: 0 or 1 */
    bool writes;    /* both rows; else it reads the one */
    int64_t *value; /* that is written, or was read */
};

static unsigned below(struct sharer *sharer, unsigned bound)
{
    return (unsigned)rand_r(&sharer->seed) % bound;
}

static bool is_over(const struct sharer *sharer)
{
    return wait_now_ms() >= sharer->config->until_ms;
}

/* Between the token and its use. No sharer looks at its clock. */
static void pause_at_random(struct sharer *sharer)
{
    const unsigned percent = sharer->writes ? SLEEPS_OF_WRITERS_PERCENT : SLEEPS_OF_READERS_PERCENT;
    if (below(sharer, 100) < percent)
        wait_ms(SLEEP_MIN_MS + below(sharer, SLEEP_MAX_MS - SLEEP_MIN_MS));
    else
        wait_ms(below(sharer, WORK_MAX_MS));
}

/* ---- transactions ---------------------------------------------------------------------------- */

static enum guard_outcome judge(struct sharer *sharer, enum guard_call call)
{
    if (!sharer->config->guarded)
        return GUARD_DONE;
    return sharer->config->server->kind->judge(sharer->connection, call, pair_names[sharer->pair],
                                               sharer->token);
}

static enum guard_outcome act(struct sharer *sharer, const struct step *step)
{
    const struct guard_kind *kind = sharer->config->server->kind;
    const unsigned first = 1 + 2 * sharer->pair;
    if (!step->writes)
        return kind->read(sharer->connection, GUARD_PLAIN, first + step->row, step->value);
    for (unsigned row = first; row < first + 2; row++) {
        const enum guard_outcome outcome =
            kind->write(sharer->connection, GUARD_PLAIN, row, *step->value);
        if (outcome != GUARD_DONE)
            return outcome;
    }
    return GUARD_DONE;
}

static enum guard_outcome try_step(struct sharer *sharer, const struct step *step)
{
    struct guard_connection *connection = sharer->connection;
    enum guard_outcome outcome = step->call == GUARD_CHECK_READ
                                     ? guard_begin_read(connection)
                                     : sharer->config->server->kind->begin(connection);
    if (outcome == GUARD_DONE)
        outcome = judge(sharer, step->call);
    if (outcome == GUARD_DONE)
        outcome = act(sharer, step);
    if (outcome == GUARD_DONE)
        outcome = sharer->config->server->kind->commit(connection);
    if (outcome != GUARD_DONE)
        sharer->config->server->kind->rollback(connection);
    return outcome;
}

/* False: it was refused, and is counted. */
static bool play_step(struct sharer *sharer, const struct step *step)
{
    struct sharers_tally *tally = sharer->tally;
    enum guard_outcome outcome = GUARD_AGAIN;
    for (unsigned tries = 0; outcome == GUARD_AGAIN && tries < TRIES; tries++) {
        outcome = try_step(sharer, step);
        tally->again += outcome == GUARD_AGAIN;
    }
    if (outcome == GUARD_STALE)
        *(sharer->writes ? &tally->refused_writes : &tally->refused_reads) += 1;
    else if (outcome != GUARD_DONE && outcome != GUARD_AGAIN) {
        tally->failed++;
        fprintf(stderr, "outcome %d: %s\n", (int)outcome, sharer->connection->error);
    }
    return outcome == GUARD_DONE;
}

/* ---- a turn ---------------------------------------------------------------------------------- */

static void write_both(struct sharer *sharer)
{
    int64_t value = 0;
    const struct step claim = {.call = GUARD_CLAIM, .value = &value};
    const struct step check = {.call = GUARD_CHECK, .writes = true, .value = &value};
    if (!play_step(sharer, &claim))
        return;
    pause_at_random(sharer);
    value++;
    if (play_step(sharer, &check))
        sharer->tally->written++;
}

static void read_both(struct sharer *sharer)
{
    int64_t values[READS] = {0};
    for (unsigned i = 0; i < READS; i++) {
        const struct step step = {.call = i == 0 ? GUARD_CLAIM_READ : GUARD_CHECK_READ,
                                  .row = i % 2,
                                  .value = &values[i]};
        if (!play_step(sharer, &step))
            return;
        pause_at_random(sharer);
    }
    sharer->tally->read++;
    sharer->tally->halves += values[0] != values[1] || values[1] != values[2];
}

static void take_turn(struct sharer *sharer)
{
    sharer->pair = below(sharer, SHARERS_PAIRS);
    const struct pawl_request request = {.names = &pair_names[sharer->pair],
                                         .name_count = 1,
                                         .mode = sharer->writes ? PAWL_WRITE : PAWL_READ,
                                         .ttl_ms = TTL_MS,
                                         .wait_ms = LOCK_WAIT_MS};
    pawl_lock *lock = NULL;
    if (pawl_acquire(sharer->client, &request, &lock) != 0) {
        sharer->tally->ungranted++;
        return;
    }
    sharer->token = pawl_lock_token(lock, 0);
    pause_at_random(sharer);
    if (sharer->writes)
        write_both(sharer);
    else
        read_both(sharer);
    (void)pawl_release(sharer->client, lock, NULL); /* it may have ended long ago */
    pawl_lock_free(lock);
}

static void *share_until_over(void *arg)
{
    struct sharer *sharer = arg;
    const struct guard_kind *kind = sharer->config->server->kind;
    const unsigned home = sharer->seed % SHARERS_SERVICES;
    const struct pawl_options options = {.servers = &sharer->config->urls[home], .server_count = 1};
    assert_int_equal(pawl_client_new(&options, &sharer->client), 0);
    sharer->connection = guard_connect(sharer->config->server, kind->isolations[0]);
    while (!is_over(sharer))
        take_turn(sharer);
    kind->close(sharer->connection);
    pawl_client_free(sharer->client);
    return NULL;
}

void sharers_run(const struct sharers_config *config, struct sharers_tally *tally)
{
    static struct sharer sharers[SHARERS_READERS_MAX + SHARERS_WRITERS_MAX];
    const unsigned count = config->readers + config->writers;
    assert_in_range(config->readers, 1, SHARERS_READERS_MAX);
    assert_in_range(config->writers, 1, SHARERS_WRITERS_MAX);
    for (unsigned i = 0; i < count; i++) {
        sharers[i] = (struct sharer){.config = config,
                                     .tally = tally,
                                     .seed = (unsigned)wait_now_ms() + i,
                                     .writes = i < config->writers};
        assert_int_equal(pthread_create(&sharers[i].thread, NULL, share_until_over, &sharers[i]),
                         0);
    }
    while (wait_now_ms() < config->until_ms)
        config->meanwhile(config->context);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(pthread_join(sharers[i].thread, NULL), 0);
}
