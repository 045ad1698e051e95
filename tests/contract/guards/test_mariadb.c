/* What the guard for MariaDB has to do beyond the contract: snapshots, rights, modes, durability.
 */
#include "tests/contract/guards/mariadb.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <mysqld_error.h>

enum {
    THREADS = 4,
    ROUNDS = 40,
    TRIES = 200,
};

static struct guard_server *server;
static unsigned rows_used;

/* ---- helpers --------------------------------------------------------------------------------- */

/* Two sessions, and a row that no other case has. */
struct pair {
    unsigned row;
    const char *resource;
    struct guard_connection *a, *b;
};

static struct pair begin_case(void **state, const char *isolation)
{
    (void)state;
    if (guard_mariadb.missing())
        case_skip(guard_mariadb.missing());
    struct pair pair = {.row = ++rows_used};
    pair.resource = guard_resource(pair.row);
    pair.a = guard_connect(server, isolation);
    pair.b = guard_connect(server, isolation);
    return pair;
}

static void end_case(struct pair *pair)
{
    guard_mariadb.close(pair->a);
    guard_mariadb.close(pair->b);
}

static void assert_outcome(const struct guard_connection *connection, enum guard_outcome outcome,
                           enum guard_outcome wanted)
{
    if (outcome != wanted)
        fail_msg("outcome %d, not %d: %s", (int)outcome, (int)wanted, connection->error);
}

/* The statement fails with a text that begins with @word. */
static void refused(struct guard_connection *connection, const char *statement, const char *word)
{
    if (mariadb_run(connection, statement) == GUARD_DONE)
        fail_msg("%s: was done", statement);
    if (strncmp(connection->error, word, strlen(word)) != 0)
        fail_msg("%s: %s", statement, connection->error);
}

static void must_claim(struct guard_connection *connection, const char *resource, int64_t token)
{
    assert_outcome(connection, guard_mariadb.claim(connection, resource, token), GUARD_DONE);
}

static int64_t token_of(struct guard_connection *connection, const char *resource)
{
    int64_t token = -1;
    assert_outcome(connection, guard_mariadb.token(connection, resource, &token), GUARD_DONE);
    return token;
}

static int64_t number_of(struct guard_connection *connection, const char *statement)
{
    int64_t number = -1;
    assert_outcome(connection, mariadb_number(connection, statement, &number), GUARD_DONE);
    return number;
}

static int64_t value_of(struct guard_connection *connection, unsigned row)
{
    int64_t value = -1;
    assert_outcome(connection, guard_mariadb.read(connection, GUARD_PLAIN, row, &value),
                   GUARD_DONE);
    return value;
}

/* A whole transaction of a holder. */
static void check_and_write(struct guard_connection *connection, unsigned row, int64_t token,
                            int64_t value)
{
    mariadb_must_run(connection, "START TRANSACTION");
    assert_outcome(connection, guard_mariadb.check(connection, guard_resource(row), token),
                   GUARD_DONE);
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
    assert_outcome(pair->a, guard_mariadb.claim(pair->a, pair->resource, 6), GUARD_AGAIN);
    assert_int_equal(mariadb_error_of(pair->a), ER_CHECKREAD);
    assert_non_null(strstr(pair->a->error, text));
    mariadb_must_run(pair->a, "ROLLBACK; START TRANSACTION");
    must_claim(pair->a, pair->resource, 6);
    assert_int_equal(value_of(pair->a, pair->row), 77);
    mariadb_must_run(pair->a, "COMMIT");
}

static void claim_after_a_plain_read_is_told_to_begin_anew(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    must_claim(pair.b, pair.resource, 4);
    old_transaction_is_told(&pair, "START TRANSACTION", "old-snapshot: ");
    end_case(&pair);
}

/* The token in the row is the same before and after the write. */
static void claim_with_an_old_snapshot_meets_a_check_of_an_equal_token(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    must_claim(pair.b, pair.resource, 5);
    old_transaction_is_told(&pair, "START TRANSACTION", "old-snapshot: ");
    end_case(&pair);
}

static void claim_with_an_old_snapshot_meets_the_first_claim_of_all(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    old_transaction_is_told(&pair, "START TRANSACTION", "old-snapshot: ");
    end_case(&pair);
}

static void claim_after_a_consistent_snapshot_is_told_to_begin_anew(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    must_claim(pair.b, pair.resource, 5);
    old_transaction_is_told(&pair, "START TRANSACTION WITH CONSISTENT SNAPSHOT", "old-snapshot: ");
    end_case(&pair);
}

static void server_with_snapshot_isolation_says_so_itself(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    must_claim(pair.b, pair.resource, 5);
    mariadb_must_run(pair.a, "SET SESSION innodb_snapshot_isolation = ON");
    old_transaction_is_told(&pair, "START TRANSACTION", "changed since last read");
    end_case(&pair);
}

static void claim_after_a_plain_read_reads_the_newest_at_read_committed(void **state)
{
    struct pair pair = begin_case(state, "READ COMMITTED");
    must_claim(pair.b, pair.resource, 5);
    mariadb_must_run(pair.a, "START TRANSACTION");
    assert_int_equal(value_of(pair.a, pair.row), 0);
    check_and_write(pair.b, pair.row, 5, 77);
    must_claim(pair.a, pair.resource, 6);
    assert_int_equal(value_of(pair.a, pair.row), 77);
    mariadb_must_run(pair.a, "COMMIT");
    end_case(&pair);
}

static void claim_after_a_read_goes_on_where_nobody_wrote(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    must_claim(pair.b, pair.resource, 5);
    mariadb_must_run(pair.a, "START TRANSACTION");
    assert_int_equal(value_of(pair.a, pair.row), 0);
    must_claim(pair.b, "somewhere/else", 5);
    must_claim(pair.a, pair.resource, 6);
    must_claim(pair.a, pair.resource, 6);
    mariadb_must_run(pair.a, "COMMIT");
    end_case(&pair);
}

/* The first claim of a transaction makes its snapshot. */
static void second_claim_of_a_transaction_is_told_of_a_write_after_the_first(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    mariadb_must_run(pair.a, "START TRANSACTION");
    must_claim(pair.a, "first/of/two", 6);
    check_and_write(pair.b, pair.row, 5, 77);
    assert_outcome(pair.a, guard_mariadb.claim(pair.a, pair.resource, 6), GUARD_AGAIN);
    mariadb_must_run(pair.a, "ROLLBACK");
    end_case(&pair);
}

/* ---- transactions ---------------------------------------------------------------------------- */

static void claim_outside_of_a_transaction_keeps_the_rule(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    must_claim(pair.a, pair.resource, 5);
    must_claim(pair.b, pair.resource, 5);
    must_claim(pair.b, pair.resource, 7);
    assert_outcome(pair.a, guard_mariadb.claim(pair.a, pair.resource, 6), GUARD_STALE);
    assert_int_equal(token_of(pair.a, pair.resource), 7);
    end_case(&pair);
}

static void check_outside_of_a_transaction_is_refused(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    assert_outcome(pair.a, guard_mariadb.check(pair.a, pair.resource, 5), GUARD_INVALID);
    assert_int_equal(token_of(pair.b, pair.resource), 0);
    mariadb_must_run(pair.a, "SET autocommit = 0");
    assert_outcome(pair.a, guard_mariadb.check(pair.a, pair.resource, 5), GUARD_DONE);
    assert_int_equal(token_of(pair.b, pair.resource), 0);
    mariadb_must_run(pair.a, "COMMIT");
    assert_int_equal(token_of(pair.b, pair.resource), 5);
    end_case(&pair);
}

/* A trap that the manual tells of: what was written before the timeout can still be committed. */
static void lock_wait_timeout_leaves_the_transaction_open(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    mariadb_must_run(pair.a, "START TRANSACTION");
    must_claim(pair.a, pair.resource, 5);
    mariadb_must_run(pair.b, "SET SESSION innodb_lock_wait_timeout = 1; START TRANSACTION");
    assert_outcome(pair.b, guard_mariadb.write(pair.b, GUARD_PLAIN, pair.row, 9), GUARD_DONE);
    assert_outcome(pair.b, guard_mariadb.check(pair.b, pair.resource, 6), GUARD_AGAIN);
    assert_int_equal(mariadb_error_of(pair.b), ER_LOCK_WAIT_TIMEOUT);
    assert_int_equal(number_of(pair.b, "SELECT @@in_transaction"), 1);
    mariadb_must_run(pair.b, "ROLLBACK");
    mariadb_must_run(pair.a, "COMMIT");
    assert_int_equal(value_of(pair.b, pair.row), 0);
    end_case(&pair);
}

/* Holders in turn: each raises the token, reads, and adds one. */
struct holder {
    pthread_t thread;
    struct guard_connection *connection;
    const struct pair *pair;
    unsigned done;
};

static _Atomic int64_t next_token = 1;

static bool adds_one(const struct holder *holder)
{
    struct guard_connection *connection = holder->connection;
    const unsigned row = holder->pair->row;
    int64_t value;
    bool done = guard_mariadb.begin(connection) == GUARD_DONE &&
                guard_mariadb.claim(connection, guard_resource(row), next_token++) == GUARD_DONE &&
                guard_mariadb.read(connection, GUARD_PLAIN, row, &value) == GUARD_DONE &&
                guard_mariadb.write(connection, GUARD_PLAIN, row, value + 1) == GUARD_DONE &&
                guard_mariadb.commit(connection) == GUARD_DONE;
    if (!done)
        guard_mariadb.rollback(connection);
    return done;
}

static void *add_many(void *arg)
{
    struct holder *holder = arg;
    for (unsigned tries = 0; holder->done < ROUNDS && tries < TRIES; tries++)
        holder->done += adds_one(holder);
    return NULL;
}

static void no_update_is_lost(void **state, const char *isolation)
{
    struct pair pair = begin_case(state, isolation);
    struct holder holder[THREADS] = {0};
    unsigned done = 0;
    for (size_t i = 0; i < THREADS; i++) {
        holder[i].pair = &pair;
        holder[i].connection = guard_connect(server, isolation);
        assert_int_equal(pthread_create(&holder[i].thread, NULL, add_many, &holder[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(holder[i].thread, NULL), 0);
        guard_mariadb.close(holder[i].connection);
        done += holder[i].done;
    }
    assert_in_range(done, THREADS, THREADS * ROUNDS);
    assert_int_equal(value_of(pair.a, pair.row), done);
    end_case(&pair);
}

static void no_update_is_lost_at_repeatable_read(void **state)
{
    no_update_is_lost(state, "REPEATABLE READ");
}

static void no_update_is_lost_at_read_committed(void **state)
{
    no_update_is_lost(state, "READ COMMITTED");
}

/* ---- names and tokens ------------------------------------------------------------------------ */

static void no_mode_of_the_session_changes_a_name_or_a_token(void **state)
{
    static const char *const modes[] = {
        "", "ANSI", "NO_BACKSLASH_ESCAPES", "TRADITIONAL", "PAD_CHAR_TO_FULL_LENGTH", "ORACLE"};
    static const char *const calls[] = {
        "CALL pawl_claim(REPEAT('a', 300), 1)",
        "CALL pawl_claim('a ', 1)",
        "CALL pawl_claim(CONCAT('a', CHAR(10)), 1)",
        "CALL pawl_claim('a\xc3\xa4', 1)",
        "CALL pawl_claim(CONVERT('a' USING utf16), 1)",
        "CALL pawl_claim('mode', '12abc')",
        "CALL pawl_claim('mode', 4.6)",
        "CALL pawl_claim('mode', 1e30)",
        "CALL pawl_claim('mode', '')",
        "CALL pawl_claim('mode', ' 1')",
    };
    struct pair pair = begin_case(state, "REPEATABLE READ");
    mariadb_must_run(pair.a, "SET default_regex_flags = 'DOTALL,EXTENDED,MULTILINE,UNGREEDY'");
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "SET SESSION sql_mode = '%s'", modes[i]);
        mariadb_must_run(pair.a, text);
        for (size_t k = 0; k < sizeof(calls) / sizeof(calls[0]); k++)
            refused(pair.a, calls[k], "invalid: ");
        must_claim(pair.a, pair.resource, (int64_t)i + 1);
        assert_int_equal(token_of(pair.b, pair.resource), i + 1);
    }
    assert_int_equal(token_of(pair.b, "a") + token_of(pair.b, "mode"), 0);
    end_case(&pair);
}

static void null_is_no_name_and_no_token(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    mariadb_must_run(pair.a, "START TRANSACTION");
    refused(pair.a, "CALL pawl_claim(NULL, 1)", "invalid: ");
    refused(pair.a, "CALL pawl_claim('null', NULL)", "invalid: ");
    refused(pair.a, "CALL pawl_check(NULL, 1)", "invalid: ");
    refused(pair.a, "CALL pawl_check('null', NULL)", "invalid: ");
    mariadb_must_run(pair.a, "ROLLBACK");
    refused(pair.a, "SELECT pawl_token(NULL)", "invalid: ");
    refused(pair.a, "CALL pawl_record(NULL, 1, 2, 'claim')", "invalid: ");
    refused(pair.a, "CALL pawl_record('null', 1, 2, NULL)", "invalid: ");
    assert_int_equal(token_of(pair.b, "null"), 0);
    end_case(&pair);
}

static void refusal_of_the_longest_name_holds_both_tokens(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    mariadb_must_run(pair.a, "CALL pawl_claim(REPEAT('z', 255), 9007199254740991)");
    refused(pair.a, "CALL pawl_claim(REPEAT('z', 255), 9007199254740990)", "stale-token: zzz");
    assert_non_null(strstr(pair.a->error, "9007199254740991"));
    assert_non_null(strstr(pair.a->error, "9007199254740990"));
    end_case(&pair);
}

/* ---- rights and the record ------------------------------------------------------------------- */

static void user_with_the_rights_of_the_manual_cannot_change_the_guard(void **state)
{
    static const char *const statements[] = {
        "DELETE FROM pawl_guard",
        "UPDATE pawl_guard SET token = 1",
        "INSERT INTO pawl_guard VALUES ('x', 1, 1)",
        "TRUNCATE pawl_guard",
        "DELETE FROM pawl_rejection",
        "DROP PROCEDURE pawl_check",
        "TRUNCATE protected",
        "DROP TRIGGER protected_pawl_update",
        "CALL pawl_protect('plain', 'rows/{id}')",
    };
    struct pair pair = begin_case(state, "REPEATABLE READ");
    must_claim(pair.a, pair.resource, 5);
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
        if (mariadb_run(pair.a, statements[i]) == GUARD_DONE ||
            !strstr(pair.a->error, "denied to user"))
            fail_msg("%s: %s", statements[i], pair.a->error);
    assert_int_equal(token_of(pair.b, pair.resource), 5);
    end_case(&pair);
}

static void record_keeps_the_newest_thousand(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    struct guard_connection *root = mariadb_connect_root(server);
    mariadb_must_run(root, "INSERT INTO pawl_rejection (at, resource, token, highest, kind) "
                           "SELECT NOW(), 'old', 1, 2, 'claim' FROM seq_1_to_1500");
    mariadb_must_run(pair.a, "CALL pawl_record('new', 1, 2, 'claim')");
    assert_int_equal(number_of(root, "SELECT COUNT(*) FROM pawl_rejection"), 1000);
    assert_int_equal(
        number_of(root, "SELECT resource = 'new' FROM pawl_rejection ORDER BY id DESC LIMIT 1"), 1);
    guard_mariadb.close(root);
    end_case(&pair);
}

static void record_never_commits_the_refused_transaction(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    mariadb_must_run(pair.a, "START TRANSACTION");
    assert_outcome(pair.a, guard_mariadb.write(pair.a, GUARD_PLAIN, pair.row, 9), GUARD_DONE);
    refused(pair.a, "CALL pawl_record('new', 1, 2, 'claim')", "invalid: ");
    mariadb_must_run(pair.a, "ROLLBACK");
    assert_int_equal(value_of(pair.b, pair.row), 0);
    end_case(&pair);
}

/* ---- the server ------------------------------------------------------------------------------ */

static void server_that_would_forget_is_refused(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    struct guard_connection *root = mariadb_connect_root(server);
    mariadb_must_run(root, "SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    refused(pair.a, "CALL pawl_claim('forgotten', 1)", "not-durable: ");
    mariadb_must_run(root, "SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    refused(pair.a, "CALL pawl_claim('forgotten', 1)", "not-durable: ");
    mariadb_must_run(root, "SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    assert_int_equal(token_of(pair.a, "forgotten"), 0);
    must_claim(pair.a, "forgotten", 1);
    guard_mariadb.close(root);
    end_case(&pair);
}

static void binary_log_that_is_not_synced_is_refused(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    end_case(&pair);
    mariadb_server_kill(server);
    mariadb_server_spawn_with(server, "--log-bin");
    struct guard_connection *root = mariadb_connect_root(server);
    struct guard_connection *app = guard_connect(server, "READ COMMITTED");
    refused(app, "CALL pawl_claim('binary/log', 1)", "not-durable: ");
    mariadb_must_run(root, "SET GLOBAL sync_binlog = 1");
    must_claim(app, "binary/log", 1);
    assert_int_equal(token_of(app, "binary/log"), 1);
    assert_int_equal(mariadb_install(server, MARIADB_DATABASE), 0);
    guard_mariadb.close(app);
    guard_mariadb.close(root);
    mariadb_server_kill(server);
    mariadb_server_spawn(server);
}

static void second_installation_loses_nothing(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    must_claim(pair.a, pair.resource, 5);
    assert_int_equal(mariadb_install(server, MARIADB_DATABASE), 0);
    assert_int_equal(token_of(pair.a, pair.resource), 5);
    assert_outcome(pair.a, guard_mariadb.claim(pair.a, pair.resource, 4), GUARD_STALE);
    end_case(&pair);
}

static void table_of_another_engine_is_no_guard(void **state)
{
    struct pair pair = begin_case(state, "REPEATABLE READ");
    struct guard_connection *root = mariadb_connect_root(server);
    mariadb_must_run(root, "CREATE DATABASE other");
    mariadb_must_run(root, "CREATE TABLE other.pawl_guard (resource VARCHAR(255) PRIMARY KEY, "
                           "token BIGINT, writes BIGINT) ENGINE = Aria");
    assert_int_not_equal(mariadb_install(server, "other"), 0);
    guard_mariadb.close(root);
    end_case(&pair);
}

static int setup(void **state)
{
    (void)state;
    if (!guard_mariadb.missing())
        server = guard_server_new(&guard_mariadb);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    guard_server_free(server);
    process_kill_all();
    return 0;
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(claim_after_a_plain_read_is_told_to_begin_anew),
    cmocka_unit_test(claim_with_an_old_snapshot_meets_a_check_of_an_equal_token),
    cmocka_unit_test(claim_with_an_old_snapshot_meets_the_first_claim_of_all),
    cmocka_unit_test(claim_after_a_consistent_snapshot_is_told_to_begin_anew),
    cmocka_unit_test(server_with_snapshot_isolation_says_so_itself),
    cmocka_unit_test(claim_after_a_plain_read_reads_the_newest_at_read_committed),
    cmocka_unit_test(claim_after_a_read_goes_on_where_nobody_wrote),
    cmocka_unit_test(second_claim_of_a_transaction_is_told_of_a_write_after_the_first),
    cmocka_unit_test(claim_outside_of_a_transaction_keeps_the_rule),
    cmocka_unit_test(check_outside_of_a_transaction_is_refused),
    cmocka_unit_test(lock_wait_timeout_leaves_the_transaction_open),
    cmocka_unit_test(no_update_is_lost_at_repeatable_read),
    cmocka_unit_test(no_update_is_lost_at_read_committed),
    cmocka_unit_test(no_mode_of_the_session_changes_a_name_or_a_token),
    cmocka_unit_test(null_is_no_name_and_no_token),
    cmocka_unit_test(refusal_of_the_longest_name_holds_both_tokens),
    cmocka_unit_test(user_with_the_rights_of_the_manual_cannot_change_the_guard),
    cmocka_unit_test(record_keeps_the_newest_thousand),
    cmocka_unit_test(record_never_commits_the_refused_transaction),
    cmocka_unit_test(server_that_would_forget_is_refused),
    cmocka_unit_test(binary_log_that_is_not_synced_is_refused),
    cmocka_unit_test(second_installation_loses_nothing),
    cmocka_unit_test(table_of_another_engine_is_no_guard),
};

CASE_MAIN(cases, setup, teardown)
