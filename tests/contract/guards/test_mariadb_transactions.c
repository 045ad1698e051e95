/* The transactions of the guard for MariaDB: old snapshots, autocommit, many at once. */
#include "tests/contract/guards/mariadb.h"
#include "tests/contract/guards/mariadb_pair.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <mysqld_error.h>

enum {
    THREADS = 8,
    ROUNDS = 100,
};

/* A whole transaction of a holder. */
static void check_and_write(struct guard_connection *connection, unsigned row, int64_t token,
                            int64_t value)
{
    mariadb_must_run(connection, "START TRANSACTION");
    assert_outcome(connection, guard_check(connection, guard_resource(row), token), GUARD_DONE);
    assert_outcome(connection, guard_mariadb.write(connection, GUARD_PLAIN, row, value),
                   GUARD_DONE);
    mariadb_must_run(connection, "COMMIT");
}

/* ---- snapshots ------------------------------------------------------------------------------- */

/* The transaction of a is older than the last write of b. The claim of a does not get through, and
 * does so in a transaction that begins after the write. */
static void old_transaction_is_told(struct pair *pair, const char *begin, const char *text)
{
    mariadb_must_run(pair->a, begin);
    assert_int_equal(number_of(pair->a, "SELECT SUM(value) FROM plain WHERE id = 256"), 0);
    check_and_write(pair->b, pair->row, 5, 77);
    assert_outcome(pair->a, guard_claim(pair->a, pair->resource, 6), GUARD_AGAIN);
    assert_int_equal(mariadb_error_of(pair->a), ER_CHECKREAD);
    assert_non_null(strstr(pair->a->error, text));
    mariadb_must_run(pair->a, "ROLLBACK; START TRANSACTION");
    must_claim(pair->a, pair->resource, 6);
    assert_int_equal(value_of(pair->a, pair->row), 77);
    mariadb_must_run(pair->a, "COMMIT");
}

static void claim_after_a_plain_read_is_told_to_begin_anew(struct pair *pair)
{
    must_claim(pair->b, pair->resource, 4);
    old_transaction_is_told(pair, "START TRANSACTION", "old-snapshot: ");
}

/* The token in the row is the same before and after the write. */
static void claim_with_an_old_snapshot_meets_a_check_of_an_equal_token(struct pair *pair)
{
    must_claim(pair->b, pair->resource, 5);
    old_transaction_is_told(pair, "START TRANSACTION", "old-snapshot: ");
}

static void claim_with_an_old_snapshot_meets_the_first_claim_of_all(struct pair *pair)
{
    old_transaction_is_told(pair, "START TRANSACTION", "old-snapshot: ");
}

static void claim_after_a_consistent_snapshot_is_told_to_begin_anew(struct pair *pair)
{
    must_claim(pair->b, pair->resource, 5);
    old_transaction_is_told(pair, "START TRANSACTION WITH CONSISTENT SNAPSHOT", "old-snapshot: ");
}

static void server_with_snapshot_isolation_says_so_itself(struct pair *pair)
{
    must_claim(pair->b, pair->resource, 5);
    mariadb_must_run(pair->a, "SET SESSION innodb_snapshot_isolation = ON");
    old_transaction_is_told(pair, "START TRANSACTION", "changed since last read");
}

static void claim_after_a_plain_read_reads_the_newest_at_read_committed(struct pair *pair)
{
    must_claim(pair->b, pair->resource, 5);
    mariadb_must_run(pair->a, "START TRANSACTION");
    assert_int_equal(value_of(pair->a, pair->row), 0);
    check_and_write(pair->b, pair->row, 5, 77);
    must_claim(pair->a, pair->resource, 6);
    assert_int_equal(value_of(pair->a, pair->row), 77);
    mariadb_must_run(pair->a, "COMMIT");
}

static void claim_after_a_read_goes_on_where_nobody_wrote(struct pair *pair)
{
    must_claim(pair->b, pair->resource, 5);
    mariadb_must_run(pair->a, "START TRANSACTION");
    assert_int_equal(value_of(pair->a, pair->row), 0);
    must_claim(pair->b, "somewhere/else", 5);
    must_claim(pair->a, pair->resource, 6);
    must_claim(pair->a, pair->resource, 6);
    mariadb_must_run(pair->a, "COMMIT");
}

/* The first claim of a transaction makes its snapshot. */
static void second_claim_of_a_transaction_is_told_of_a_write_after_the_first(struct pair *pair)
{
    mariadb_must_run(pair->a, "START TRANSACTION");
    must_claim(pair->a, "first/of/two", 6);
    check_and_write(pair->b, pair->row, 5, 77);
    assert_outcome(pair->a, guard_claim(pair->a, pair->resource, 6), GUARD_AGAIN);
    mariadb_must_run(pair->a, "ROLLBACK");
}

/* ---- transactions ---------------------------------------------------------------------------- */

static void claim_outside_of_a_transaction_keeps_the_rule(struct pair *pair)
{
    must_claim(pair->a, pair->resource, 5);
    must_claim(pair->b, pair->resource, 5);
    must_claim(pair->b, pair->resource, 7);
    assert_outcome(pair->a, guard_claim(pair->a, pair->resource, 6), GUARD_STALE);
    assert_int_equal(token_of(pair->a, pair->resource), 7);
}

static void check_outside_of_a_transaction_is_refused(struct pair *pair)
{
    assert_outcome(pair->a, guard_check(pair->a, pair->resource, 5), GUARD_INVALID);
    assert_int_equal(token_of(pair->b, pair->resource), 0);
    mariadb_must_run(pair->a, "SET autocommit = 0");
    assert_outcome(pair->a, guard_check(pair->a, pair->resource, 5), GUARD_DONE);
    assert_int_equal(token_of(pair->b, pair->resource), 0);
    mariadb_must_run(pair->a, "COMMIT");
    assert_int_equal(token_of(pair->b, pair->resource), 5);
}

/* A trap that the manual tells of: what was written before the timeout can still be committed. */
static void lock_wait_timeout_leaves_the_transaction_open(struct pair *pair)
{
    mariadb_must_run(pair->a, "START TRANSACTION");
    must_claim(pair->a, pair->resource, 5);
    mariadb_must_run(pair->b, "SET SESSION innodb_lock_wait_timeout = 1; START TRANSACTION");
    assert_outcome(pair->b, guard_mariadb.write(pair->b, GUARD_PLAIN, pair->row, 9), GUARD_DONE);
    assert_outcome(pair->b, guard_check(pair->b, pair->resource, 6), GUARD_AGAIN);
    assert_int_equal(mariadb_error_of(pair->b), ER_LOCK_WAIT_TIMEOUT);
    assert_int_equal(number_of(pair->b, "SELECT @@in_transaction"), 1);
    mariadb_must_run(pair->b, "ROLLBACK");
    mariadb_must_run(pair->a, "COMMIT");
    assert_int_equal(value_of(pair->b, pair->row), 0);
}

/* Holders that claim at once, each with a higher token. */
struct holder {
    pthread_t thread;
    struct guard_connection *connection;
    const struct pair *pair;
    unsigned done;
};

static _Atomic int64_t next_token = 1;

/* Each statement of such a claim is its own transaction, and others come in between. */
static void *claim_many(void *arg)
{
    struct holder *holder = arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        const int64_t token = next_token++;
        int64_t seen = 0;
        enum guard_outcome outcome = guard_claim(holder->connection, holder->pair->resource, token);
        if (outcome == GUARD_DONE)
            outcome = guard_mariadb.token(holder->connection, holder->pair->resource, &seen);
        holder->done += outcome == GUARD_STALE || (outcome == GUARD_DONE && seen >= token);
    }
    return NULL;
}

static void claims_at_once_outside_of_transactions_keep_the_rule(struct pair *pair)
{
    struct holder holder[THREADS] = {0};
    unsigned done = 0;
    for (size_t i = 0; i < THREADS; i++) {
        holder[i].pair = pair;
        holder[i].connection = guard_connect(mariadb_shared, "REPEATABLE READ");
        assert_int_equal(pthread_create(&holder[i].thread, NULL, claim_many, &holder[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(holder[i].thread, NULL), 0);
        guard_mariadb.close(holder[i].connection);
        done += holder[i].done;
    }
    assert_int_equal(done, THREADS * ROUNDS);
}

static const struct pair_row rows[] = {
    PAIR(claim_after_a_plain_read_is_told_to_begin_anew),
    PAIR(claim_with_an_old_snapshot_meets_a_check_of_an_equal_token),
    PAIR(claim_with_an_old_snapshot_meets_the_first_claim_of_all),
    PAIR(claim_after_a_consistent_snapshot_is_told_to_begin_anew),
    PAIR(server_with_snapshot_isolation_says_so_itself),
    PAIR_AT("READ COMMITTED", claim_after_a_plain_read_reads_the_newest_at_read_committed),
    PAIR(claim_after_a_read_goes_on_where_nobody_wrote),
    PAIR(second_claim_of_a_transaction_is_told_of_a_write_after_the_first),
    PAIR(claim_outside_of_a_transaction_keeps_the_rule),
    PAIR(check_outside_of_a_transaction_is_refused),
    PAIR(lock_wait_timeout_leaves_the_transaction_open),
    PAIR(claims_at_once_outside_of_transactions_keep_the_rule),
};

PAIR_MAIN(rows)
