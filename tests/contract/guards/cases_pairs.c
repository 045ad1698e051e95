/* Two at once: a holder that is at work, and a newcomer. */
#include "tests/contract/guards/cases.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    IN_THE_WAY_MS =
        300, /* a call that waits for another transaction has not gone on in this time */
    TRIES = 20,
};

/* ---- a newcomer  ----------------------------------------------------------------------------- */

/* A claim and a reading in their own thread: what a new holder does. */
struct newcomer {
    struct guard_connection *connection;
    pthread_t thread;
    int64_t token;
    unsigned row;
    bool snapshot_first; /* the transaction is older than the claim */
    atomic_bool begun, done;
    enum guard_outcome outcome;
    int64_t value; /* that was read, if the outcome is DONE */
};

static void *claim_and_read(void *arg)
{
    struct newcomer *newcomer = arg;
    struct guard_connection *connection = newcomer->connection;
    newcomer->outcome = guard_claim(connection, guard_resource(newcomer->row), newcomer->token);
    if (newcomer->outcome == GUARD_DONE)
        newcomer->outcome =
            cases_kind->read(connection, GUARD_PLAIN, newcomer->row, &newcomer->value);
    if (newcomer->outcome == GUARD_DONE)
        newcomer->outcome = cases_kind->commit(connection);
    if (newcomer->outcome != GUARD_DONE)
        cases_kind->rollback(connection);
    newcomer->done = true;
    return NULL;
}

/* SQLite has one writer at a time, and its cases_begin() waits already. */
static void *begin_claim_and_read(void *arg)
{
    struct newcomer *newcomer = arg;
    newcomer->begun = true;
    newcomer->outcome = cases_kind->begin(newcomer->connection);
    if (newcomer->outcome == GUARD_DONE)
        return claim_and_read(arg);
    newcomer->done = true;
    return NULL;
}

static void set_out(struct newcomer *newcomer)
{
    assert_int_equal(pthread_create(&newcomer->thread, NULL, begin_claim_and_read, newcomer), 0);
    while (!newcomer->begun)
        wait_ms(1);
}

static void arrive(struct newcomer *newcomer)
{
    assert_int_equal(pthread_join(newcomer->thread, NULL), 0);
}

/* The writer has checked, and has written, and has not committed. The newcomer reads the data that
 * the writer leaves, or it is told to restart. */
static void newcomer_meets_writer(struct cases_fixture *f, int64_t claimed, bool commits)
{
    struct newcomer newcomer = {.connection = f->b, .token = 21, .row = f->row};
    if (claimed > 0)
        cases_claim(f->a, guard_resource(f->row), claimed);
    cases_begin(f->a);
    cases_expect(f->a, guard_check(f->a, guard_resource(f->row), 20), GUARD_DONE);
    cases_expect(f->a, cases_kind->write(f->a, GUARD_PLAIN, f->row, 77), GUARD_DONE);
    set_out(&newcomer);
    wait_ms(IN_THE_WAY_MS);
    assert_false(newcomer.done);
    if (commits)
        cases_commit(f->a);
    else
        cases_rollback(f->a);
    arrive(&newcomer);
    for (unsigned tries = 0; newcomer.outcome == GUARD_AGAIN && tries < TRIES; tries++) {
        set_out(&newcomer);
        arrive(&newcomer);
    }
    cases_expect(f->b, newcomer.outcome, GUARD_DONE);
    assert_int_equal(newcomer.value, commits ? 77 : 0);
    cases_expect(f->a, cases_alone(guard_check, f->a, guard_resource(f->row), 20), GUARD_STALE);
}

static void claim_waits_for_a_writer_and_reads_what_it_left(struct cases_fixture *f)
{
    newcomer_meets_writer(f, 19, true);
}

/* The writer's check changes nothing in its row, and anyway the newcomer has to see it. */
static void claim_waits_for_a_writer_that_checked_its_own_token(struct cases_fixture *f)
{
    newcomer_meets_writer(f, 20, true);
}

static void claim_waits_for_the_first_writer_of_all(struct cases_fixture *f)
{
    newcomer_meets_writer(f, 0, true);
}

static void claim_waits_for_a_writer_that_rolls_back(struct cases_fixture *f)
{
    newcomer_meets_writer(f, 20, false);
}

static void writer_that_slept_is_refused_after_a_newer_claim(struct cases_fixture *f)
{
    cases_claim(f->a, guard_resource(f->row), 33);
    cases_claim(f->b, guard_resource(f->row), 34);
    cases_begin(f->a);
    cases_expect(f->a, guard_check(f->a, guard_resource(f->row), 33), GUARD_STALE);
    cases_rollback(f->a);
}

/* A transaction that has a snapshot already, and then is overtaken: it may be refused, or told to
 * restart. It may not write. */
static void writer_with_an_older_snapshot_does_not_write(struct cases_fixture *f)
{
    int64_t value;
    cases_claim(f->a, guard_resource(f->row), 33);
    if (!cases_kind->has_server)
        return; /* SQLite: one transaction at a time, so there is no such thing */
    cases_begin(f->a);
    cases_expect(f->a, cases_kind->read(f->a, GUARD_PLAIN, f->row, &value), GUARD_DONE);
    cases_claim(f->b, guard_resource(f->row), 34);
    enum guard_outcome outcome = guard_check(f->a, guard_resource(f->row), 33);
    assert_true(outcome == GUARD_STALE || outcome == GUARD_AGAIN);
    cases_rollback(f->a);
}

static const struct cases_row rows[] = {
    CASES_ROW(CASES_ANY, claim_waits_for_a_writer_and_reads_what_it_left),
    CASES_ROW(CASES_ANY, claim_waits_for_a_writer_that_checked_its_own_token),
    CASES_ROW(CASES_ANY, claim_waits_for_the_first_writer_of_all),
    CASES_ROW(CASES_ANY, claim_waits_for_a_writer_that_rolls_back),
    CASES_ROW(CASES_ANY, writer_that_slept_is_refused_after_a_newer_claim),
    CASES_ROW(CASES_ANY, writer_with_an_older_snapshot_does_not_write),
};

const struct cases_rows cases_pairs = CASES_ROWS(rows);
