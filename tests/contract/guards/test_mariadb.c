/* Rules for the guard for MariaDB beyond the contract: rights, modes, durability. */
#include "tests/contract/guards/mariadb.h"
#include "tests/contract/guards/mariadb_pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names and tokens ------------------------------------------------------------------------ */

static void no_mode_of_the_session_changes_a_name_or_a_token(struct pair *pair)
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
    mariadb_must_run(pair->a, "SET default_regex_flags = 'DOTALL,EXTENDED,MULTILINE,UNGREEDY'");
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "SET SESSION sql_mode = '%s'", modes[i]);
        mariadb_must_run(pair->a, text);
        for (size_t k = 0; k < sizeof(calls) / sizeof(calls[0]); k++)
            assert_refused(pair->a, calls[k], "invalid: ");
        must_claim(pair->a, pair->resource, (int64_t)i + 1);
        assert_int_equal(token_of(pair->b, pair->resource), i + 1);
    }
    assert_int_equal(token_of(pair->b, "a") + token_of(pair->b, "mode"), 0);
}

static void null_is_no_name_and_no_token(struct pair *pair)
{
    mariadb_must_run(pair->a, "START TRANSACTION");
    assert_refused(pair->a, "CALL pawl_claim(NULL, 1)", "invalid: ");
    assert_refused(pair->a, "CALL pawl_claim('null', NULL)", "invalid: ");
    assert_refused(pair->a, "CALL pawl_check(NULL, 1)", "invalid: ");
    assert_refused(pair->a, "CALL pawl_check('null', NULL)", "invalid: ");
    mariadb_must_run(pair->a, "ROLLBACK");
    assert_refused(pair->a, "SELECT pawl_token(NULL)", "invalid: ");
    assert_refused(pair->a, "CALL pawl_record(NULL, 1, 2, 'claim')", "invalid: ");
    assert_refused(pair->a, "CALL pawl_record('null', 1, 2, NULL)", "invalid: ");
    assert_int_equal(token_of(pair->b, "null"), 0);
}

static void refusal_of_the_longest_name_holds_both_tokens(struct pair *pair)
{
    mariadb_must_run(pair->a, "CALL pawl_claim(REPEAT('z', 255), 9007199254740991)");
    assert_refused(pair->a, "CALL pawl_claim(REPEAT('z', 255), 9007199254740990)",
                   "stale-token: zzz");
    assert_non_null(strstr(pair->a->error, "9007199254740991"));
    assert_non_null(strstr(pair->a->error, "9007199254740990"));
}

/* ---- rights and the record ------------------------------------------------------------------- */

static void user_with_the_rights_of_the_manual_cannot_change_the_guard(struct pair *pair)
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
    must_claim(pair->a, pair->resource, 5);
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
        if (mariadb_run(pair->a, statements[i]) == GUARD_DONE ||
            !strstr(pair->a->error, "denied to user"))
            fail_msg("%s: %s", statements[i], pair->a->error);
    assert_int_equal(token_of(pair->b, pair->resource), 5);
}

static void record_keeps_the_newest_thousand(struct pair *pair)
{
    mariadb_must_run(pair->root, "INSERT INTO pawl_rejection (at, resource, token, highest, kind) "
                                 "SELECT NOW(), 'old', 1, 2, 'claim' FROM seq_1_to_1500");
    mariadb_must_run(pair->a, "CALL pawl_record('new', 1, 2, 'claim')");
    assert_int_equal(number_of(pair->root, "SELECT COUNT(*) FROM pawl_rejection"), 1000);
    assert_int_equal(
        number_of(pair->root,
                  "SELECT resource = 'new' FROM pawl_rejection ORDER BY id DESC LIMIT 1"),
        1);
}

static void record_never_commits_the_refused_transaction(struct pair *pair)
{
    mariadb_must_run(pair->a, "START TRANSACTION");
    assert_outcome(pair->a, guard_mariadb.write(pair->a, GUARD_PLAIN, pair->row, 9), GUARD_DONE);
    assert_refused(pair->a, "CALL pawl_record('new', 1, 2, 'claim')", "invalid: ");
    mariadb_must_run(pair->a, "ROLLBACK");
    assert_int_equal(value_of(pair->b, pair->row), 0);
}

/* ---- the server ------------------------------------------------------------------------------ */

static void server_that_would_forget_is_refused(struct pair *pair)
{
    mariadb_must_run(pair->root, "SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    assert_refused(pair->a, "CALL pawl_claim('forgotten', 1)", "not-durable: ");
    assert_refused(pair->a, "CALL pawl_claim_read('forgotten', 1)", "not-durable: ");
    mariadb_must_run(pair->root, "SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    assert_refused(pair->a, "CALL pawl_claim('forgotten', 1)", "not-durable: ");
    mariadb_must_run(pair->root, "SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    assert_int_equal(token_of(pair->a, "forgotten"), 0);
    must_claim(pair->a, "forgotten", 1);
}

/* A separate server: one that was killed with a binary log does not start without one. */
static void binary_log_that_is_not_synced_is_refused(struct pair *pair)
{
    (void)pair;
    struct guard_server *logging = guard_server_new(&guard_mariadb);
    mariadb_server_kill(logging);
    mariadb_server_spawn_with(logging, "--log-bin");
    struct guard_connection *root = mariadb_connect_root(logging);
    struct guard_connection *app = guard_connect(logging, "READ COMMITTED");
    assert_refused(app, "CALL pawl_claim('binary/log', 1)", "not-durable: ");
    mariadb_must_run(root, "SET GLOBAL sync_binlog = 1");
    must_claim(app, "binary/log", 1);
    assert_int_equal(token_of(app, "binary/log"), 1);
    assert_int_equal(mariadb_install(logging, MARIADB_DATABASE), 0);
    guard_mariadb.close(app);
    guard_mariadb.close(root);
    guard_server_free(logging);
}

static void second_installation_loses_nothing(struct pair *pair)
{
    must_claim(pair->a, pair->resource, 5);
    assert_int_equal(mariadb_install(mariadb_shared, MARIADB_DATABASE), 0);
    assert_int_equal(token_of(pair->a, pair->resource), 5);
    assert_outcome(pair->a, guard_claim(pair->a, pair->resource, 4), GUARD_STALE);
}

/* The routines keep the mode of their creation, which the script sets. */
static void mode_of_the_server_at_the_installation_is_no_matter(struct pair *pair)
{
    mariadb_must_run(pair->root, "SET GLOBAL sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES'");
    assert_int_equal(mariadb_install(mariadb_shared, MARIADB_DATABASE), 0);
    mariadb_must_run(pair->root, "SET GLOBAL sql_mode = DEFAULT");
    must_claim(pair->a, pair->resource, 5);
    assert_refused(pair->a, "CALL pawl_claim('mode/..', 1)", "invalid: ");
    assert_refused(pair->a, "CALL pawl_claim(CONCAT('mode', CHAR(10)), 1)", "invalid: ");
}

/* The objects of an earlier Pawl in a database: one number for each resource. */
static const char earlier[] =
    "CREATE OR REPLACE DATABASE earlier; USE earlier; CREATE TABLE pawl_guard ("
    "  resource VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,"
    "  token BIGINT NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991),"
    "  writes BIGINT UNSIGNED NOT NULL) ENGINE = InnoDB;"
    "CREATE PROCEDURE pawl_claim(p_resource LONGBLOB, p_token LONGBLOB)"
    "  INSERT INTO pawl_guard VALUES (p_resource, p_token, 7);"
    "CALL pawl_claim('orders/42', 34)";

static void guard_of_an_earlier_pawl_keeps_its_rows_and_learns_readers(struct pair *pair)
{
    mariadb_must_run(pair->root, earlier);
    for (unsigned twice = 0; twice < 2; twice++)
        assert_int_equal(mariadb_install(mariadb_shared, "earlier"), 0);
    assert_int_equal(
        number_of(pair->root, "SELECT token = 34 AND writes = 7 AND reader = 0 FROM pawl_guard"),
        1);
    mariadb_must_run(pair->root, "CALL pawl_claim('orders/42', 34)");
    mariadb_must_run(pair->root, "CALL pawl_claim_read('orders/42', 34)");
    mariadb_must_run(pair->root, "CALL pawl_claim_read('orders/new', 1)");
    assert_refused(pair->root, "CALL pawl_claim('orders/42', 34)", "stale-token: ");
    assert_int_equal(token_of(pair->root, "orders/42"), 34);
    char *told = mariadb_told(mariadb_shared, "earlier", "storage/guard/mariadb/pawl_check.sql");
    if (!strstr(told, "the guard\t\tintact"))
        fail_msg("%s", told);
    free(told);
    mariadb_must_run(pair->root, "USE " MARIADB_DATABASE "; DROP DATABASE earlier");
}

/* A guard that has the column and not its bounds was not made by Pawl. */
static void guard_without_the_bounds_of_readers_is_refused(struct pair *pair)
{
    mariadb_must_run(pair->root, earlier);
    mariadb_must_run(pair->root, "ALTER TABLE pawl_guard ADD COLUMN reader BIGINT NOT NULL");
    assert_int_not_equal(mariadb_install(mariadb_shared, "earlier"), 0);
    mariadb_must_run(pair->root, "USE " MARIADB_DATABASE "; DROP DATABASE earlier");
}

/* Outside of a transaction each statement is one, and the claim is judged again where it is made.
 */
static void claim_of_a_reader_without_a_transaction_is_judged(struct pair *pair)
{
    char text[128];
    snprintf(text, sizeof(text), "CALL pawl_claim_read('%s', 5)", pair->resource);
    mariadb_must_run(pair->a, text);
    assert_int_equal(token_of(pair->b, pair->resource), 5);
    assert_outcome(pair->b, guard_claim(pair->b, pair->resource, 6), GUARD_DONE);
    assert_refused(pair->a, text, "stale-token: ");
    snprintf(text, sizeof(text), "CALL pawl_check_read('%s', 6)", pair->resource);
    assert_refused(pair->a, text, "invalid: no transaction is open; call pawl_check_read");
}

static void table_of_another_engine_is_no_guard(struct pair *pair)
{
    mariadb_must_run(pair->root, "CREATE DATABASE other");
    mariadb_must_run(pair->root,
                     "CREATE TABLE other.pawl_guard (resource VARCHAR(255) PRIMARY KEY, "
                     "token BIGINT, writes BIGINT) ENGINE = Aria");
    assert_int_not_equal(mariadb_install(mariadb_shared, "other"), 0);
}

static const struct pair_row rows[] = {
    PAIR(no_mode_of_the_session_changes_a_name_or_a_token),
    PAIR(null_is_no_name_and_no_token),
    PAIR(refusal_of_the_longest_name_holds_both_tokens),
    PAIR(user_with_the_rights_of_the_manual_cannot_change_the_guard),
    PAIR(record_keeps_the_newest_thousand),
    PAIR(record_never_commits_the_refused_transaction),
    PAIR(server_that_would_forget_is_refused),
    PAIR(binary_log_that_is_not_synced_is_refused),
    PAIR(second_installation_loses_nothing),
    PAIR(mode_of_the_server_at_the_installation_is_no_matter),
    PAIR(guard_of_an_earlier_pawl_keeps_its_rows_and_learns_readers),
    PAIR(guard_without_the_bounds_of_readers_is_refused),
    PAIR(claim_of_a_reader_without_a_transaction_is_judged),
    PAIR(table_of_another_engine_is_no_guard),
};

PAIR_MAIN(rows)
