/* Readers of a read-write lock beside its writers: what one after the other is told, and what two
 * at once see of each other. */
#include "tests/contract/guards/cases.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    IN_THE_WAY_MS =
        300,            /* a call that waits for another transaction has not gone on in this time */
    PATIENCE_MS = 2000, /* a call that does not wait is done in this time */
    TRIES = 20,
};

static const int64_t token_max = (INT64_C(1) << 53) - 1;

/* ---- the rule -------------------------------------------------------------------------------- */

struct step {
    char who; /* (r)eader or (w)riter */
    int64_t token;
    enum guard_outcome outcome;
    int64_t after; /* the highest token that was seen */
};

static const struct step steps[] = {
    {'w', 30, GUARD_DONE, 30},                       /* X 30 */
    {'r', 29, GUARD_STALE, 30},                      /* a reader before the writer */
    {'r', 34, GUARD_DONE, 34},                       /* S 34 */
    {'w', 30, GUARD_STALE, 34},                      /* the reader ended the writer's right, ... */
    {'w', 33, GUARD_STALE, 34},                      /* ... and that of writers between */
    {'w', 34, GUARD_STALE, 34},                      /* a tie */
    {'r', 31, GUARD_DONE, 34},                       /* readers do not refuse each other */
    {'r', 30, GUARD_DONE, 34},                       /* nor does the writer of the same token */
    {'r', 34, GUARD_DONE, 34},                       /* the same reader once more */
    {'w', 35, GUARD_DONE, 35},                       /* X 35 */
    {'w', 35, GUARD_DONE, 35},                       /* the same writer once more */
    {'r', 34, GUARD_STALE, 35},                      /* the writer ended the readers */
    {'r', 35, GUARD_DONE, 35},                       /* S 35: a tie, which ends the writer */
    {'w', 35, GUARD_STALE, 35},                      /* as above */
    {'r', token_max - 1, GUARD_DONE, token_max - 1}, /* S has 53 bits, ... */
    {'w', token_max, GUARD_DONE, token_max},         /* ... and so has X */
    {'r', token_max - 1, GUARD_STALE, token_max},    /* as above */
};

static void each_judges(struct cases_fixture *f, cases_judge *writes, cases_judge *reads)
{
    const char *resource = guard_resource(f->row);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        const struct step *step = &steps[i];
        cases_judge *judge = step->who == 'r' ? reads : writes;
        enum guard_outcome outcome = cases_alone(judge, f->a, resource, step->token);
        if (outcome != step->outcome)
            fail_msg("step %zu, %c %lld: outcome %d, not %d: %s", i, step->who,
                     (long long)step->token, (int)outcome, (int)step->outcome, f->a->error);
        assert_int_equal(cases_token(f->b, resource), step->after);
    }
}

static void claims_of_readers_and_writers_follow_both_numbers(struct cases_fixture *f)
{
    each_judges(f, guard_claim, guard_claim_read);
}

static void checks_of_readers_and_writers_follow_both_numbers(struct cases_fixture *f)
{
    each_judges(f, guard_check, guard_check_read);
}

static void reader_may_be_the_first_of_all(struct cases_fixture *f)
{
    const char *resource = guard_resource(f->row);
    cases_expect(f->a, cases_alone(guard_claim_read, f->a, resource, 5), GUARD_DONE);
    assert_int_equal(cases_token(f->b, resource), 5);
    cases_expect(f->b, cases_alone(guard_claim, f->b, resource, 5), GUARD_STALE);
    cases_expect(f->b, cases_alone(guard_claim, f->b, resource, 6), GUARD_DONE);
}

static void expect_names(const struct guard_connection *connection, const char *resource)
{
    assert_non_null(strstr(connection->error, resource));
    assert_non_null(strstr(connection->error, "7654"));
    assert_non_null(strstr(connection->error, "3210"));
}

static void refusals_of_readers_and_by_readers_name_both_tokens(struct cases_fixture *f)
{
    const char *resource = guard_resource(f->row);
    cases_expect(f->a, cases_alone(guard_claim_read, f->a, resource, 7654), GUARD_DONE);
    cases_expect(f->b, cases_alone(guard_check, f->b, resource, 3210), GUARD_STALE);
    expect_names(f->b, resource);
    char other[64];
    snprintf(other, sizeof(other), "rows/%u/other", f->row);
    cases_claim(f->a, other, 7654);
    cases_expect(f->b, cases_alone(guard_claim_read, f->b, other, 3210), GUARD_STALE);
    expect_names(f->b, other);
    cases_expect(f->b, cases_alone(guard_check_read, f->b, other, 3210), GUARD_STALE);
    expect_names(f->b, other);
}

static void claim_of_a_reader_that_is_rolled_back_never_was(struct cases_fixture *f)
{
    const char *resource = guard_resource(f->row);
    cases_begin(f->a);
    cases_expect(f->a, guard_claim_read(f->a, resource, 50), GUARD_DONE);
    cases_rollback(f->a);
    assert_int_equal(cases_token(f->b, resource), 0);
    cases_claim(f->b, resource, 50);
}

static void wrong_names_and_tokens_of_readers_are_refused(struct cases_fixture *f)
{
    const char *const names[] = {"", "a//b", "a/../b", "a\n", "\xc3\xa4"};
    static const int64_t tokens[] = {0, -1, INT64_MIN, (INT64_C(1) << 53), INT64_MAX};
    const char *resource = guard_resource(f->row);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cases_expect(f->a, cases_alone(guard_claim_read, f->a, names[i], 1), GUARD_INVALID);
        cases_expect(f->a, cases_alone(guard_check_read, f->a, names[i], 1), GUARD_INVALID);
    }
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
        cases_expect(f->a, cases_alone(guard_claim_read, f->a, resource, tokens[i]), GUARD_INVALID);
        cases_expect(f->a, cases_alone(guard_check_read, f->a, resource, tokens[i]), GUARD_INVALID);
    }
    assert_int_equal(cases_token(f->b, resource), 0);
}

/* ---- two at once ----------------------------------------------------------------------------- */

/* A transaction in its own thread. One that checks as a writer writes 88, and others read. */
struct other {
    struct guard_connection *connection;
    pthread_t thread;
    unsigned row;
    int64_t token;
    enum guard_call call;
    atomic_bool done;
    enum guard_outcome outcome;
    int64_t value; /* that was read */
};

static enum guard_outcome act(struct other *other)
{
    struct guard_connection *connection = other->connection;
    const char *resource = guard_resource(other->row);
    enum guard_outcome outcome = other->call == GUARD_CHECK_READ ? guard_begin_read(connection)
                                                                 : cases_kind->begin(connection);
    if (outcome == GUARD_DONE)
        outcome = cases_kind->judge(connection, other->call, resource, other->token);
    if (outcome == GUARD_DONE)
        outcome = other->call == GUARD_CHECK
                      ? cases_kind->write(connection, GUARD_PLAIN, other->row, 88)
                      : cases_kind->read(connection, GUARD_PLAIN, other->row, &other->value);
    return outcome == GUARD_DONE ? cases_kind->commit(connection) : outcome;
}

static void *act_until_nobody_is_in_the_way(void *arg)
{
    struct other *other = arg;
    other->outcome = GUARD_AGAIN;
    for (unsigned tries = 0; other->outcome == GUARD_AGAIN && tries < TRIES; tries++) {
        other->outcome = act(other);
        if (other->outcome != GUARD_DONE)
            cases_kind->rollback(other->connection);
    }
    other->done = true;
    return NULL;
}

static void set_out(struct other *other)
{
    assert_int_equal(pthread_create(&other->thread, NULL, act_until_nobody_is_in_the_way, other),
                     0);
}

static bool is_done(void *arg)
{
    return ((struct other *)arg)->done;
}

static void arrive(struct other *other)
{
    assert_int_equal(pthread_join(other->thread, NULL), 0);
}

/* The writer has checked, and has written, and has not committed. The reader that comes then sees
 * what the writer leaves, and the writer writes no more. */
static void reader_waits_for_a_writer_and_reads_what_it_left(struct cases_fixture *f)
{
    const char *resource = guard_resource(f->row);
    struct other reader = {
        .connection = f->b, .token = 21, .row = f->row, .call = GUARD_CLAIM_READ};
    cases_claim(f->a, resource, 20);
    cases_begin(f->a);
    cases_expect(f->a, guard_check(f->a, resource, 20), GUARD_DONE);
    cases_expect(f->a, cases_kind->write(f->a, GUARD_PLAIN, f->row, 77), GUARD_DONE);
    set_out(&reader);
    wait_ms(IN_THE_WAY_MS);
    assert_false(reader.done);
    cases_commit(f->a);
    arrive(&reader);
    cases_expect(f->b, reader.outcome, GUARD_DONE);
    assert_int_equal(reader.value, 77);
    cases_expect(f->a, cases_alone(guard_check, f->a, guard_resource(f->row), 20), GUARD_STALE);
}

static int64_t value_under_check(struct cases_fixture *f)
{
    int64_t value = -1;
    cases_expect(f->a, cases_kind->read(f->a, GUARD_PLAIN, f->row, &value), GUARD_DONE);
    return value;
}

/* A writer that comes while a reader reads waits, or the reader goes on in its snapshot. */
static void reading_under_a_check_sees_no_later_write(struct cases_fixture *f)
{
    const char *resource = guard_resource(f->row);
    struct other writer = {.connection = f->b, .token = 6, .row = f->row, .call = GUARD_CHECK};
    cases_expect(f->a, cases_alone(guard_claim_read, f->a, resource, 5), GUARD_DONE);
    cases_begin_read(f->a);
    cases_expect(f->a, guard_check_read(f->a, guard_resource(f->row), 5), GUARD_DONE);
    assert_int_equal(value_under_check(f), 0);
    set_out(&writer);
    wait_ms(IN_THE_WAY_MS);
    assert_int_equal(value_under_check(f), 0);
    cases_commit(f->a);
    arrive(&writer);
    cases_expect(f->b, writer.outcome, GUARD_DONE);
    cases_begin_read(f->a);
    cases_expect(f->a, guard_check_read(f->a, guard_resource(f->row), 5), GUARD_STALE);
    cases_rollback(f->a);
    assert_int_equal(cases_value(f->a, GUARD_PLAIN, f->row), 88);
}

static void readers_that_have_claimed_do_not_wait_for_each_other(struct cases_fixture *f)
{
    const char *resource = guard_resource(f->row);
    cases_expect(f->a, cases_alone(guard_claim_read, f->a, resource, 5), GUARD_DONE);
    cases_expect(f->b, cases_alone(guard_claim_read, f->b, resource, 6), GUARD_DONE);
    struct other reader = {.connection = f->b, .token = 6, .row = f->row, .call = GUARD_CHECK_READ};
    cases_begin_read(f->a);
    cases_expect(f->a, guard_check_read(f->a, guard_resource(f->row), 5), GUARD_DONE);
    set_out(&reader);
    const bool waits = !wait_until(is_done, &reader, PATIENCE_MS);
    cases_commit(f->a);
    arrive(&reader);
    cases_expect(f->b, reader.outcome, GUARD_DONE);
    assert_false(waits);
}

/* A transaction that has a snapshot already. An admitted newcomer reads the writer's data. */
static void reader_with_an_older_snapshot_does_not_read_older_data(struct cases_fixture *f)
{
    const char *resource = guard_resource(f->row);
    int64_t value = -1;
    cases_claim(f->a, resource, 33);
    if (!cases_kind->has_server)
        return; /* SQLite: a transaction that claims has its snapshot at its begin */
    cases_begin(f->a);
    cases_expect(f->a, cases_kind->read(f->a, GUARD_PLAIN, f->row, &value), GUARD_DONE);
    struct other writer = {.connection = f->b, .token = 34, .row = f->row, .call = GUARD_CHECK};
    set_out(&writer);
    wait_ms(IN_THE_WAY_MS); /* if reads take locks, the writer waits */
    const bool waits = !writer.done;
    enum guard_outcome outcome = guard_claim_read(f->a, guard_resource(f->row), 35);
    if (outcome == GUARD_DONE) {
        assert_int_equal(cases_kind->read(f->a, GUARD_PLAIN, f->row, &value), GUARD_DONE);
        outcome = cases_kind->commit(f->a);
    }
    if (outcome != GUARD_DONE)
        cases_kind->rollback(f->a);
    arrive(&writer);
    assert_true(outcome == GUARD_AGAIN || (outcome == GUARD_DONE && (waits || value == 88)));
}

/* ---- protected tables ------------------------------------------------------------------------ */

static enum guard_outcome write_protected(struct cases_fixture *f, int64_t value)
{
    cases_begin(f->a);
    enum guard_outcome outcome = cases_kind->write(f->a, GUARD_PROTECTED, f->row, value);
    if (outcome == GUARD_DONE)
        cases_commit(f->a);
    else
        cases_rollback(f->a);
    return outcome;
}

static void claim_of_a_reader_opens_no_row(struct cases_fixture *f)
{
    const char *resource = guard_resource(f->row);
    cases_begin(f->a);
    cases_expect(f->a, guard_claim_read(f->a, resource, 4), GUARD_DONE);
    cases_expect(f->a, guard_check_read(f->a, resource, 4), GUARD_DONE);
    cases_expect(f->a, cases_kind->write(f->a, GUARD_PROTECTED, f->row, 30), GUARD_UNCLAIMED);
    cases_rollback(f->a);
    assert_int_equal(cases_value(f->b, GUARD_PROTECTED, f->row), 0);
}

/* If a claim holds for the connection, the trigger judges it again. */
static void reader_closes_a_row_that_an_earlier_claim_opened(struct cases_fixture *f)
{
    const bool ends = cases_kind->claims_end_with_transaction;
    cases_claim(f->a, guard_resource(f->row), 4);
    cases_expect(f->a, write_protected(f, 30), ends ? GUARD_UNCLAIMED : GUARD_DONE);
    cases_expect(f->b, cases_alone(guard_claim_read, f->b, guard_resource(f->row), 4), GUARD_DONE);
    cases_expect(f->a, write_protected(f, 31), ends ? GUARD_UNCLAIMED : GUARD_STALE);
}

/* In one transaction: the reader's claim ends the right of any writer. */
static void claim_as_writer_and_then_as_reader_opens_no_row(struct cases_fixture *f)
{
    const char *resource = guard_resource(f->row);
    cases_begin(f->a);
    cases_expect(f->a, guard_claim(f->a, resource, 4), GUARD_DONE);
    cases_expect(f->a, guard_claim_read(f->a, resource, 4), GUARD_DONE);
    const enum guard_outcome outcome = cases_kind->write(f->a, GUARD_PROTECTED, f->row, 30);
    assert_true(outcome == GUARD_STALE || outcome == GUARD_UNCLAIMED);
    cases_rollback(f->a);
}

/* ---- crashes --------------------------------------------------------------------------------- */

static void claim_of_a_reader_that_was_committed_outlives_the_server(struct cases_fixture *f)
{
    const char *resource = guard_resource(f->row);
    cases_claim(f->a, resource, 80);
    cases_expect(f->a, cases_alone(guard_claim_read, f->a, resource, 90), GUARD_DONE);
    cases_begin(f->b);
    cases_expect(f->b, guard_claim_read(f->b, resource, 91), GUARD_DONE);
    cases_kind->kill(cases_server);
    cases_kind->restart(cases_server);
    struct guard_connection *c = guard_connect(cases_server, f->isolation);
    assert_int_equal(cases_token(c, resource), 90);
    cases_expect(c, cases_alone(guard_claim, c, resource, 90), GUARD_STALE);
    cases_expect(c, cases_alone(guard_claim, c, resource, 91), GUARD_DONE);
    cases_kind->close(c);
}

static const struct cases_row rows[] = {
    CASES_ROW(CASES_ANY, claims_of_readers_and_writers_follow_both_numbers),
    CASES_ROW(CASES_ANY, checks_of_readers_and_writers_follow_both_numbers),
    CASES_ROW(CASES_ANY, reader_may_be_the_first_of_all),
    CASES_ROW(CASES_ANY, refusals_of_readers_and_by_readers_name_both_tokens),
    CASES_ROW(CASES_ANY, claim_of_a_reader_that_is_rolled_back_never_was),
    CASES_ROW(CASES_ANY, wrong_names_and_tokens_of_readers_are_refused),
    CASES_ROW(CASES_ANY, reader_waits_for_a_writer_and_reads_what_it_left),
    CASES_ROW(CASES_ANY, reading_under_a_check_sees_no_later_write),
    CASES_ROW(CASES_ANY, readers_that_have_claimed_do_not_wait_for_each_other),
    CASES_ROW(CASES_ANY, reader_with_an_older_snapshot_does_not_read_older_data),
    CASES_ROW(CASES_PROTECTS, claim_of_a_reader_opens_no_row),
    CASES_ROW(CASES_PROTECTS, reader_closes_a_row_that_an_earlier_claim_opened),
    CASES_ROW(CASES_PROTECTS, claim_as_writer_and_then_as_reader_opens_no_row),
    CASES_ROW(CASES_SERVER, claim_of_a_reader_that_was_committed_outlives_the_server),
};

const struct cases_rows cases_readers = CASES_ROWS(rows);
