/* Readers of a read-write lock at the extension: what the contract of all guards leaves open. */
#include "tests/lib/case.h"
#include "tests/unit/storage/guard/extension/extension_fixture.h"

#include <stdio.h>

static void claim_of_a_reader_by_itself_is_committed_when_it_answers(void **state)
{
    struct extension_fixture *f = *state;
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(f->a, "SELECT pawl_claim_read('a', 7)", -1, &stmt, NULL),
                     0);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int64(stmt, 0), 7);
    assert_true(sqlite3_get_autocommit(f->a));
    extension_refuses(f->b, "SELECT pawl_claim('a', 7)",
                      "stale-token: a has seen reader 7, and writer 7 is not newer");
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
}

static void check_of_a_reader_outside_of_a_transaction_is_refused(void **state)
{
    struct extension_fixture *f = *state;
    extension_refuses(f->a, "SELECT pawl_check_read('a', 1)",
                      "unsafe: pawl_check_read() and the read");
    extension_run(f->a, "BEGIN; SELECT pawl_check_read('a', 1); COMMIT");
    assert_int_equal(extension_number(f->b, "SELECT pawl_token('a')"), 1);
}

static void reader_that_would_be_forgotten_is_refused(void **state)
{
    struct extension_fixture *f = *state;
    extension_run(f->a, "PRAGMA synchronous = NORMAL");
    extension_refuses(f->a, "SELECT pawl_claim_read('a', 1)", "unsafe: a commit may be lost");
    extension_run(f->a, "BEGIN");
    extension_refuses(f->a, "SELECT pawl_check_read('a', 1)", "unsafe: a commit may be lost");
    extension_run(f->a, "ROLLBACK");
    assert_int_equal(extension_number(f->b, "SELECT pawl_token('a')"), 0);
}

/* The write lock is another's. */
static void check_of_a_reader_that_claimed_waits_for_no_writer(void **state)
{
    struct extension_fixture *f = *state;
    extension_run(f->a, "SELECT pawl_claim_read('a', 5); PRAGMA busy_timeout = 0");
    extension_run(f->b, "BEGIN IMMEDIATE");
    extension_run(f->a, "BEGIN; SELECT pawl_check_read('a', 5); SELECT * FROM t; COMMIT");
    assert_int_equal(extension_code(f->a, "SELECT pawl_claim_read('a', 6)"), SQLITE_BUSY);
    extension_run(f->b, "COMMIT");
    extension_run(f->a, "SELECT pawl_claim_read('a', 6)");
}

/* The database as an earlier Pawl left it: the guard's table, and the triggers of t. */
static void make_earlier(const struct extension_fixture *f)
{
    extension_run(f->a,
                  "SELECT pawl_protect('t', '''own/'' || id'); DROP TABLE pawl_guard;"
                  "CREATE TABLE pawl_guard (resource TEXT PRIMARY KEY, highest_token INTEGER NOT"
                  "  NULL) STRICT, WITHOUT ROWID; INSERT INTO pawl_guard VALUES ('own/1', 4);"
                  "PRAGMA writable_schema = ON;"
                  "UPDATE sqlite_schema SET sql = replace(sql, 'CASE WHEN guard.highest_token >"
                  " guard.reader_token THEN guard.highest_token ELSE -guard.reader_token END',"
                  " 'guard.highest_token'); PRAGMA writable_schema = RESET");
    assert_int_equal(extension_number(f->a, "SELECT count(*) FROM sqlite_schema"
                                            "  WHERE sql LIKE '%reader_token%'"),
                     0);
}

static void guard_of_an_earlier_pawl_goes_on_and_says_what_readers_need(void **state)
{
    struct extension_fixture *f = *state;
    make_earlier(f);
    extension_run(f->a, "BEGIN; SELECT pawl_check('own/1', 4); INSERT INTO t VALUES (1, 'me');"
                        "COMMIT; SELECT pawl_claim('own/1', 5); SELECT pawl_claim('own/2', 1)");
    extension_refuses(f->a, "SELECT pawl_claim('own/1', 4)", "stale-token: own/1 has seen token 5");
    extension_refuses(f->a, "SELECT pawl_claim_read('own/1', 6)", "unsafe: call pawl_install()");
    extension_refuses(f->a, "SELECT pawl_claim_read('own/3', 6)", "unsafe: call pawl_install()");
    extension_refuses(f->a, "SELECT pawl_protect('t', 'who')", "unsafe: call pawl_install()");
    assert_int_equal(extension_number(f->b, "SELECT pawl_token('own/1')"), 5);
}

static void reader_closes_a_row_whose_triggers_an_earlier_pawl_made(void **state)
{
    struct extension_fixture *f = *state;
    make_earlier(f);
    extension_run(f->a, "SELECT pawl_install(); SELECT pawl_install()");
    assert_int_equal(extension_number(f->a, "SELECT count(*) FROM sqlite_schema WHERE name GLOB"
                                            "  'pawl_protect_*' AND sql LIKE '%reader_token%'"),
                     6);
    assert_int_equal(extension_number(f->b, "SELECT pawl_token('own/1')"), 4);
    extension_run(f->a, "SELECT pawl_claim('own/1', 4); INSERT INTO t VALUES (1, 'me')");
    extension_run(f->b, "SELECT pawl_claim_read('own/1', 5)");
    extension_refuses(f->a, "UPDATE t SET who = 'late'",
                      "stale-token: own/1 has seen reader 5, and writer 4 is not newer");
    extension_run(f->a, "SELECT pawl_claim('own/1', 6); UPDATE t SET who = 'next'");
}

/* Each database is judged by its own guard. */
static void reader_of_an_attached_database_closes_its_row(void **state)
{
    struct extension_fixture *f = *state;
    char text[2 * EXTENSION_TEXT_MAX], path[EXTENSION_TEXT_MAX];
    snprintf(path, sizeof(path), "%s/attached.db", f->dir);
    sqlite3 *attached = extension_open(path);
    extension_run(attached, "SELECT pawl_install(); CREATE TABLE u (id INTEGER PRIMARY KEY, who);"
                            "SELECT pawl_protect('u', '''own/'' || id');"
                            "SELECT pawl_claim('own/1', 4); INSERT INTO u VALUES (1, 'me')");
    snprintf(text, sizeof(text), "ATTACH '%s' AS other; SELECT pawl_claim('own/1', 4)", path);
    extension_run(f->a, text);
    extension_run(f->a, "UPDATE other.u SET who = 'too'");
    extension_run(attached, "SELECT pawl_claim_read('own/1', 4)");
    extension_refuses(f->a, "UPDATE other.u SET who = 'late'",
                      "stale-token: own/1 has seen reader");
    sqlite3_close(attached);
}

static const struct CMUnitTest cases[] = {
    EXTENSION_CASE(claim_of_a_reader_by_itself_is_committed_when_it_answers),
    EXTENSION_CASE(check_of_a_reader_outside_of_a_transaction_is_refused),
    EXTENSION_CASE(reader_that_would_be_forgotten_is_refused),
    EXTENSION_CASE(check_of_a_reader_that_claimed_waits_for_no_writer),
    EXTENSION_CASE(guard_of_an_earlier_pawl_goes_on_and_says_what_readers_need),
    EXTENSION_CASE(reader_closes_a_row_whose_triggers_an_earlier_pawl_made),
    EXTENSION_CASE(reader_of_an_attached_database_closes_its_row),
};

CASE_MAIN(cases, NULL, NULL)
