/* pawl.so on connections as programs have them: arguments, durability, transactions. The contract
 * of all guards is in tests/contract/guards; protected tables are in test_protect.c. */
#include "storage/guard/sqlite/guard.h"
#include "tests/lib/case.h"
#include "tests/unit/storage/guard/extension/extension_fixture.h"

#include <stdio.h>
#include <string.h>

static void token_is_a_whole_number_and_no_text(void **state)
{
    struct extension_fixture *f = *state;
    static const char *const wrong[] = {"NULL",
                                        "'34'",
                                        "x'34'",
                                        "34.5",
                                        "0",
                                        "0.0",
                                        "-1",
                                        "1e300",
                                        "-1e300",
                                        "9007199254740992",
                                        "9007199254740992.0"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char text[EXTENSION_TEXT_MAX];
        snprintf(text, sizeof(text), "SELECT pawl_claim('a', %s)", wrong[i]);
        extension_refuses(f->a, text, "invalid token");
    }
    assert_int_equal(extension_number(f->a, "SELECT pawl_claim('a', 34)"), 34);
    assert_int_equal(extension_number(f->a, "SELECT pawl_claim('a', 35.0)"), 35);
    assert_int_equal(extension_number(f->b, "SELECT pawl_token('a')"), 35);
}

static void resource_is_a_text_with_the_form_of_a_name(void **state)
{
    struct extension_fixture *f = *state;
    static const char *const wrong[] = {"NULL", "7",     "x'61'",
                                        "''",   "'a b'", "'a' || char(0) || 'b'"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char text[EXTENSION_TEXT_MAX];
        snprintf(text, sizeof(text), "SELECT pawl_claim(%s, 1)", wrong[i]);
        extension_refuses(f->a, text, "invalid resource");
        snprintf(text, sizeof(text), "SELECT pawl_token(%s)", wrong[i]);
        extension_refuses(f->a, text, "invalid resource");
    }
}

static void connection_that_would_forget_is_refused(void **state)
{
    struct extension_fixture *f = *state;
    static const char *const paths[] = {":memory:", ""};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        sqlite3 *db = extension_open(paths[i]);
        extension_refuses(db, "SELECT pawl_install()", "unsafe");
        extension_refuses(db, "SELECT pawl_claim('a', 1)", "unsafe");
        sqlite3_close(db);
    }
    static const char *const journals[] = {"off", "memory"};
    extension_run(f->a, "PRAGMA journal_mode = DELETE");
    for (size_t i = 0; i < sizeof(journals) / sizeof(journals[0]); i++) {
        char text[EXTENSION_TEXT_MAX];
        snprintf(text, sizeof(text), "PRAGMA journal_mode = %s", journals[i]);
        extension_run(f->a, text);
        extension_refuses(f->a, "SELECT pawl_claim('a', 1)", "unsafe");
        extension_run(f->a, "BEGIN IMMEDIATE");
        extension_refuses(f->a, "SELECT pawl_check('a', 1)", "unsafe");
        extension_run(f->a, "ROLLBACK");
    }
    extension_run(f->a, "PRAGMA journal_mode = TRUNCATE; SELECT pawl_claim('a', 1)");
}

static void synchronous_below_full_is_refused(void **state)
{
    struct extension_fixture *f = *state;
    extension_run(f->a, "PRAGMA synchronous = NORMAL");
    extension_refuses(f->a, "SELECT pawl_claim('a', 1)",
                      "unsafe: a commit may be lost: run PRAGMA");
    extension_run(f->a, "PRAGMA synchronous = OFF");
    extension_refuses(f->a, "SELECT pawl_claim('a', 1)", "unsafe");
    assert_int_equal(extension_number(f->a, "PRAGMA synchronous"), 0);
    extension_run(f->a, "PRAGMA synchronous = EXTRA; SELECT pawl_claim('a', 1)");
    extension_run(f->a, "PRAGMA synchronous = FULL; SELECT pawl_claim('a', 2)");
}

static void database_without_the_tables_says_what_to_call(void **state)
{
    struct extension_fixture *f = *state;
    char path[EXTENSION_TEXT_MAX];
    snprintf(path, sizeof(path), "%s/empty.db", f->dir);
    sqlite3 *db = extension_open(path);
    extension_refuses(db, "SELECT pawl_claim('a', 1)", "unsafe: call pawl_install() first");
    extension_run(db, "CREATE TABLE t (id)");
    extension_refuses(db, "SELECT pawl_protect('t', 'id')", "unsafe: call pawl_install() first");
    assert_int_equal(extension_number(db, "SELECT count(*) FROM sqlite_schema"), 1);
    assert_true(sqlite3_get_autocommit(db));
    sqlite3_close(db);
}

static void check_outside_of_a_transaction_is_refused(void **state)
{
    struct extension_fixture *f = *state;
    extension_refuses(f->a, "SELECT pawl_check('a', 1)", "unsafe: pawl_check() and the write");
    extension_run(f->a, "SAVEPOINT mine; SELECT pawl_check('a', 1); RELEASE mine");
    assert_int_equal(extension_number(f->b, "SELECT pawl_token('a')"), 1);
}

/* Another connection sees it while the statement still stands at its row. */
static void claim_by_itself_is_committed_when_it_answers(void **state)
{
    struct extension_fixture *f = *state;
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(f->a, "SELECT pawl_claim('a', 7)", -1, &stmt, NULL), 0);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_true(sqlite3_get_autocommit(f->a));
    extension_refuses(f->b, "SELECT pawl_claim('a', 6)", "stale-token: a ");
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
}

static void refused_call_leaves_the_transaction_as_it_was(void **state)
{
    struct extension_fixture *f = *state;
    extension_run(f->b, "SELECT pawl_claim('a', 9)");
    extension_refuses(f->a, "SELECT pawl_claim('a', 8)", "stale-token");
    assert_true(sqlite3_get_autocommit(f->a));
    extension_run(f->a, "BEGIN IMMEDIATE; INSERT INTO t VALUES (1, 'me')");
    extension_refuses(f->a, "SELECT pawl_check('a', 8)", "stale-token");
    assert_false(sqlite3_get_autocommit(f->a));
    assert_int_equal(extension_number(f->a, "SELECT count(*) FROM t"), 1);
    extension_run(f->a, "ROLLBACK");
    assert_int_equal(extension_number(f->b, "SELECT count(*) FROM t"), 0);
}

/* A deferred transaction has read, and somebody else has claimed since. */
static void transaction_that_was_overtaken_begins_anew(void **state)
{
    struct extension_fixture *f = *state;
    extension_run(f->a, "SELECT pawl_claim('a', 5); BEGIN; SELECT * FROM t");
    extension_run(f->b, "SELECT pawl_claim('a', 6)");
    assert_int_equal(extension_code(f->a, "SELECT pawl_check('a', 5)"), SQLITE_BUSY);
    assert_int_equal(extension_code(f->a, "SELECT pawl_check('a', 7)"), SQLITE_BUSY);
    extension_run(f->a, "ROLLBACK; BEGIN");
    extension_refuses(f->a, "SELECT pawl_check('a', 5)", "stale-token");
    extension_run(f->a, "ROLLBACK");
    assert_int_equal(extension_number(f->b, "SELECT pawl_token('a')"), 6);
}

/* The token stays, and anyway the row is written: no other caller can claim until the commit. */
static void check_of_an_equal_token_takes_the_write_lock(void **state)
{
    struct extension_fixture *f = *state;
    extension_run(f->a, "SELECT pawl_claim('a', 5); BEGIN; SELECT pawl_check('a', 5)");
    extension_run(f->b, "PRAGMA busy_timeout = 0");
    assert_int_equal(extension_code(f->b, "SELECT pawl_claim('a', 6)"), SQLITE_BUSY);
    extension_run(f->a, "COMMIT");
    extension_run(f->b, "SELECT pawl_claim('a', 6)");
}

static void statement_that_writes_cannot_claim(void **state)
{
    struct extension_fixture *f = *state;
    extension_refuses(f->a, "INSERT INTO t SELECT 1, pawl_claim('a', 1)", "cannot open savepoint");
    assert_true(sqlite3_get_autocommit(f->a));
    assert_int_equal(extension_number(f->a, "SELECT pawl_token('a')"), 0);
    assert_int_equal(extension_number(f->a, "SELECT count(*) FROM t"), 0);
}

static void library_and_extension_guard_one_file(void **state)
{
    struct extension_fixture *f = *state;
    struct storage_rejection rejection;
    extension_run(f->a, "SELECT pawl_claim('a', 40)");
    assert_int_equal(storage_guard_begin(f->b), 0);
    assert_int_equal(storage_guard_claim(f->b, "a", 39, &rejection), FENCE_ESTALE);
    assert_int_equal(storage_guard_claim(f->b, "a", 41, &rejection), 0);
    assert_int_equal(storage_guard_commit(f->b), 0);
    extension_refuses(f->a, "SELECT pawl_claim('a', 40)",
                      "stale-token: a has seen token 41, and 40");
}

static void refusal_is_recorded_after_the_rollback_only(void **state)
{
    struct extension_fixture *f = *state;
    struct storage_rejection rejection;
    size_t count = 0;
    extension_run(f->a, "SELECT pawl_claim('a', 9); BEGIN IMMEDIATE");
    extension_refuses(f->a, "SELECT pawl_record('a', 8, 'write')", "unsafe: run ROLLBACK");
    extension_run(f->a, "ROLLBACK");
    extension_refuses(f->a, "SELECT pawl_record('a', 8, 'other')", "invalid kind");
    extension_run(f->a, "SELECT pawl_record('a', 7, 'read')");
    extension_run(f->a, "SELECT pawl_record('a', 8, 'write')");
    assert_int_equal(storage_rejection_list(f->b, 1, &rejection, &count), 0);
    assert_int_equal(count, 1);
    assert_string_equal(rejection.resource, "a");
    assert_int_equal(rejection.kind, STORAGE_REJECTED_WRITE);
    assert_int_equal(rejection.token, 8);
    assert_int_equal(rejection.highest_token, 9);
}

static void functions_that_write_are_not_for_views_and_triggers(void **state)
{
    struct extension_fixture *f = *state;
    static const char *const calls[] = {"pawl_install()",
                                        "pawl_claim('a', 1)",
                                        "pawl_check('a', 1)",
                                        "pawl_token('a')",
                                        "pawl_protect('t', '1')",
                                        "pawl_unprotect('t')",
                                        "pawl_record('a', 1, 'claim')",
                                        "pawl_forget()"};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        char text[EXTENSION_TEXT_MAX];
        snprintf(text, sizeof(text), "DROP VIEW IF EXISTS v; CREATE VIEW v AS SELECT %s", calls[i]);
        extension_run(f->a, text);
        extension_refuses(f->a, "SELECT * FROM v", "unsafe use of pawl_");
    }
}

static int deny(void *what, int action, const char *a, const char *b, const char *c, const char *d)
{
    (void)a, (void)b, (void)c, (void)d;
    return action == *(const int *)what ? SQLITE_DENY : SQLITE_OK;
}

static void authorizer_of_the_program_may_deny_any_step(void **state)
{
    struct extension_fixture *f = *state;
    int denied[] = {SQLITE_PRAGMA, SQLITE_SAVEPOINT, SQLITE_UPDATE, SQLITE_READ, SQLITE_INSERT};
    for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++) {
        sqlite3_set_authorizer(f->a, deny, &denied[i]);
        assert_int_equal(extension_code(f->a, "SELECT pawl_claim('a', 1)"), SQLITE_AUTH);
        sqlite3_set_authorizer(f->a, NULL, NULL);
        assert_true(sqlite3_get_autocommit(f->a));
        assert_int_equal(extension_number(f->a, "SELECT pawl_token('a')"), 0);
    }
    extension_run(f->a, "PRAGMA query_only = ON");
    assert_int_equal(extension_code(f->a, "SELECT pawl_claim('a', 1)"), SQLITE_READONLY);
    extension_run(f->a, "PRAGMA query_only = OFF; PRAGMA count_changes = ON");
    extension_run(f->a, "SELECT pawl_claim('a', 1); SELECT pawl_record('a', 1, 'claim')");
    assert_int_equal(sqlite3_db_config(f->a, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL), SQLITE_OK);
    extension_run(f->a, "SELECT pawl_claim('a', 2); SELECT pawl_protect('t', '''a''')");
}

static void temporary_table_of_the_name_does_not_stand_in(void **state)
{
    struct extension_fixture *f = *state;
    extension_run(f->a, "CREATE TEMP TABLE pawl_guard (resource PRIMARY KEY, highest_token)");
    extension_run(f->a, "SELECT pawl_claim('a', 9)");
    assert_int_equal(extension_number(f->b, "SELECT pawl_token('a')"), 9);
}

static const struct CMUnitTest cases[] = {
    EXTENSION_CASE(token_is_a_whole_number_and_no_text),
    EXTENSION_CASE(resource_is_a_text_with_the_form_of_a_name),
    EXTENSION_CASE(connection_that_would_forget_is_refused),
    EXTENSION_CASE(synchronous_below_full_is_refused),
    EXTENSION_CASE(database_without_the_tables_says_what_to_call),
    EXTENSION_CASE(check_outside_of_a_transaction_is_refused),
    EXTENSION_CASE(claim_by_itself_is_committed_when_it_answers),
    EXTENSION_CASE(refused_call_leaves_the_transaction_as_it_was),
    EXTENSION_CASE(transaction_that_was_overtaken_begins_anew),
    EXTENSION_CASE(check_of_an_equal_token_takes_the_write_lock),
    EXTENSION_CASE(statement_that_writes_cannot_claim),
    EXTENSION_CASE(library_and_extension_guard_one_file),
    EXTENSION_CASE(refusal_is_recorded_after_the_rollback_only),
    EXTENSION_CASE(functions_that_write_are_not_for_views_and_triggers),
    EXTENSION_CASE(authorizer_of_the_program_may_deny_any_step),
    EXTENSION_CASE(temporary_table_of_the_name_does_not_stand_in),
};

CASE_MAIN(cases, NULL, NULL)
