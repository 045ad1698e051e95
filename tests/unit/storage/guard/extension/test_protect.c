/* Protected tables of pawl.so: each way to write a row, and odd tables. */
#include "storage/guard/extension/claims.h"
#include "tests/lib/case.h"
#include "tests/unit/storage/guard/extension/extension_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define BY_OWNER "SELECT pawl_protect('t', '''own/'' || who')"

/* A row of "me", and one of "you". The first connection has claimed the one, the second the other.
 */
static struct extension_fixture *two_owners(void **state)
{
    struct extension_fixture *f = *state;
    extension_run(f->a, "INSERT INTO t VALUES (1, 'me'), (2, 'you');" BY_OWNER
                        "; SELECT pawl_claim('own/me', 1)");
    extension_run(f->b, "SELECT pawl_claim('own/you', 1)");
    return f;
}

static void expect_untouched(struct extension_fixture *f)
{
    assert_int_equal(extension_number(f->b, "SELECT count(*) FROM t"), 2);
    assert_int_equal(extension_number(f->b, "SELECT id FROM t WHERE who = 'you'"), 2);
}

static void row_is_judged_as_it_was_and_as_it_becomes(void **state)
{
    struct extension_fixture *f = two_owners(state);
    extension_refuses(f->a, "UPDATE t SET who = 'x' WHERE id = 2", "unclaimed: ");
    extension_refuses(f->a, "UPDATE t SET who = 'x' WHERE id = 1", "unclaimed: ");
    extension_run(f->a, "SELECT pawl_claim('own/x', 1)");
    extension_refuses(f->a, "UPDATE t SET who = 'x' WHERE id = 2", "unclaimed: ");
    extension_refuses(f->a, "DELETE FROM t WHERE id = 2", "unclaimed: ");
    extension_refuses(f->a, "DELETE FROM t", "unclaimed: ");
    extension_refuses(f->a, "INSERT INTO t VALUES (3, 'he')", "unclaimed: ");
    expect_untouched(f);
    extension_run(f->a, "UPDATE t SET who = 'x' WHERE id = 1; DELETE FROM t WHERE id = 1");
}

static void row_that_a_replace_deletes_has_to_be_claimed(void **state)
{
    struct extension_fixture *f = two_owners(state);
    extension_run(f->a, "SELECT pawl_claim('own/x', 1)");
    extension_refuses(f->a, "INSERT OR REPLACE INTO t VALUES (2, 'x')", "unclaimed: ");
    extension_refuses(f->a, "REPLACE INTO t VALUES (2, 'x')", "unclaimed: ");
    extension_refuses(f->a, "UPDATE OR REPLACE t SET id = 2 WHERE id = 1", "unclaimed: ");
    expect_untouched(f);
    extension_run(f->a, "REPLACE INTO t VALUES (1, 'x')");
}

/* The program writes another table, or says REPLACE where it made the table. */
static void row_that_the_schema_writes_has_to_be_claimed(void **state)
{
    struct extension_fixture *f = *state;
    extension_run(f->a,
                  "CREATE TABLE child (id INTEGER PRIMARY KEY, place UNIQUE ON CONFLICT REPLACE,"
                  "  t REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE);"
                  "INSERT INTO t VALUES (1, 'me'); INSERT INTO child VALUES (1, 7, 1);"
                  "SELECT pawl_protect('child', '''child/'' || id')");
    extension_run(f->a, "PRAGMA foreign_keys = ON; SELECT pawl_claim('child/2', 1)");
    extension_refuses(f->a, "DELETE FROM t", "unclaimed: ");
    extension_refuses(f->a, "UPDATE t SET id = 2", "unclaimed: ");
    extension_refuses(f->a, "INSERT INTO child VALUES (2, 7, NULL)", "unclaimed: ");
    extension_run(f->a, "SELECT pawl_claim('child/1', 1); UPDATE t SET id = 2; DELETE FROM t");
    assert_int_equal(extension_number(f->b, "SELECT count(*) FROM child"), 0);
}

/* Without it, REPLACE runs no trigger for the rows that it deletes. */
static void writer_without_recursive_triggers_is_refused(void **state)
{
    struct extension_fixture *f = two_owners(state);
    extension_run(f->a, "PRAGMA recursive_triggers = OFF; SELECT pawl_claim('own/x', 1)");
    extension_refuses(f->a, "REPLACE INTO t VALUES (2, 'x')", "unsafe: ");
    extension_refuses(f->a, "DELETE FROM t WHERE id = 1", "unsafe: ");
    expect_untouched(f);
}

static void upsert_is_judged_as_what_it_does(void **state)
{
    struct extension_fixture *f = two_owners(state);
    extension_refuses(f->a, "INSERT INTO t VALUES (2, 'me2') ON CONFLICT DO UPDATE SET who = 'me3'",
                      "unclaimed: ");
    extension_run(f->a,
                  "INSERT INTO t VALUES (2, 'me') ON CONFLICT DO NOTHING;"
                  "INSERT INTO t VALUES (1, 'you') ON CONFLICT (id) DO UPDATE SET who = 'me'");
    expect_untouched(f);
}

/* The program goes on after the error, and commits. */
static void refused_statement_leaves_no_row_in_a_transaction_that_commits(void **state)
{
    struct extension_fixture *f = two_owners(state);
    static const char *const statements[] = {
        "DELETE FROM t",
        "UPDATE t SET id = id + 10",
        "UPDATE OR FAIL t SET id = id + 10",
        "INSERT OR FAIL INTO t SELECT id + 10, who || '' FROM t AS o ORDER BY id",
        "INSERT OR IGNORE INTO t VALUES (1, 'me'), (7, 'he')",
    };
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        extension_run(f->a, "BEGIN IMMEDIATE; SELECT pawl_check('own/me', 1)");
        assert_int_equal(extension_code(f->a, statements[i]), SQLITE_CONSTRAINT);
        extension_run(f->a, "COMMIT");
        expect_untouched(f);
        assert_int_equal(extension_number(f->b, "SELECT id FROM t WHERE who = 'me'"), 1);
    }
}

static void key_that_sqlite_chooses_is_known_to_the_expression(void **state)
{
    struct extension_fixture *f = *state;
    extension_run(f->a, "SELECT pawl_protect('t', '''t/'' || id'); SELECT pawl_claim('t/1', 1);"
                        "INSERT INTO t (who) VALUES ('first')");
    extension_refuses(f->a, "INSERT INTO t (who) VALUES ('second')",
                      "unclaimed: this connection has not claimed t/2");
}

static void connection_without_the_extension_is_closed_out(void **state)
{
    struct extension_fixture *f = two_owners(state);
    static const char *const statements[] = {"INSERT INTO t VALUES (3, 'me')", "DELETE FROM t",
                                             "UPDATE t SET who = 'he'",
                                             "REPLACE INTO t VALUES (1, 'me')"};
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
        extension_refuses(db, statements[i], "no such function: pawl_claimed");
    assert_int_equal(extension_number(db, "SELECT count(*) FROM t"), 2);
    sqlite3_close(db);
}

static void answer_nothing(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)context, (void)count, (void)values;
}

static void function_of_the_name_that_answers_nothing_opens_no_row(void **state)
{
    struct extension_fixture *f = two_owners(state);
    assert_int_equal(sqlite3_create_function(f->a, "pawl_claimed", 2,
                                             SQLITE_UTF8 | SQLITE_INNOCUOUS, NULL, answer_nothing,
                                             NULL, NULL),
                     SQLITE_OK);
    extension_refuses(f->a, "UPDATE t SET who = 'me' WHERE id = 1", "unclaimed");
    extension_run(f->a, "SELECT pawl_claim('own/me', 2)"); /* the others go on */
}

static void triggers_run_whether_the_schema_is_trusted_or_not(void **state)
{
    struct extension_fixture *f = two_owners(state);
    static const char *const settings[] = {"PRAGMA trusted_schema = ON",
                                           "PRAGMA trusted_schema = OFF"};
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        extension_run(f->a, settings[i]);
        extension_run(f->a, "UPDATE t SET who = 'me' WHERE id = 1");
        extension_refuses(f->a, "DELETE FROM t WHERE id = 2", "unclaimed: ");
    }
}

static void claim_that_a_savepoint_took_back_opens_no_row(void **state)
{
    struct extension_fixture *f = two_owners(state);
    extension_run(f->a, "BEGIN; SAVEPOINT s; SELECT pawl_check('own/me', 2); ROLLBACK TO s");
    extension_refuses(f->a, "UPDATE t SET who = 'me' WHERE id = 1",
                      "unclaimed: the claim of own/me was rolled back");
    extension_run(f->a, "SELECT pawl_check('own/me', 1); DELETE FROM t WHERE id = 1; COMMIT");
}

static void connection_forgets_the_oldest_claim_beyond_its_bound(void **state)
{
    struct extension_fixture *f = two_owners(state);
    char text[EXTENSION_TEXT_MAX];
    snprintf(text, sizeof(text),
             "BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT %d)"
             "  SELECT pawl_check('other/' || i, 1) FROM n; COMMIT",
             STORAGE_CLAIMS_MAX - 1);
    extension_run(f->a, text);
    extension_run(f->a, "UPDATE t SET who = 'me' WHERE id = 1");
    extension_run(f->a, "SELECT pawl_claim('one/more', 1)");
    extension_refuses(f->a, "DELETE FROM t WHERE id = 1", "unclaimed: ");
    extension_run(f->a, "SELECT pawl_claim('own/me', 1); DELETE FROM t WHERE id = 1");
}

static void next_user_of_a_connection_has_no_claims_after_forget(void **state)
{
    struct extension_fixture *f = two_owners(state);
    extension_run(f->a, "SELECT pawl_forget()");
    extension_refuses(f->a, "DELETE FROM t WHERE id = 1", "unclaimed: ");
    extension_run(f->a, "SELECT pawl_claim('own/me', 1); DELETE FROM t WHERE id = 1");
}

static void extension_that_is_loaded_again_has_no_claims(void **state)
{
    struct extension_fixture *f = two_owners(state);
    extension_load(f->a);
    extension_refuses(f->a, "DELETE FROM t WHERE id = 1", "unclaimed: ");
    extension_run(f->a, "SELECT pawl_claim('own/me', 1); DELETE FROM t WHERE id = 1");
}

/* The main database of the writer has a guard too, which has seen another token. */
static void attached_table_is_judged_by_the_guard_beside_it(void **state)
{
    struct extension_fixture *f = two_owners(state);
    char text[2 * EXTENSION_TEXT_MAX];
    snprintf(text, sizeof(text), "%s/other.db", f->dir);
    sqlite3 *db = extension_open(text);
    snprintf(text, sizeof(text), "SELECT pawl_install(); ATTACH '%s' AS far", f->path);
    extension_run(db, text);
    extension_run(db, "SELECT pawl_claim('own/me', 5)");
    extension_refuses(db, "DELETE FROM far.t WHERE id = 1", "unclaimed: ");
    extension_run(f->a, "SELECT pawl_claim('own/me', 6)");
    extension_refuses(db, "DELETE FROM far.t WHERE id = 1", "stale-token: ");
    sqlite3_close(db);
}

static void names_with_quotes_and_spaces_are_names(void **state)
{
    struct extension_fixture *f = *state;
    extension_run(f->a,
                  "CREATE TABLE \"a \"\"b's\" (\"i \"\"d\" TEXT PRIMARY KEY, v) WITHOUT ROWID;"
                  "SELECT pawl_protect('a \"b''s', '''x/'' || \"i \"\"d\" -- why')");
    extension_refuses(f->a, "INSERT INTO \"a \"\"b's\" VALUES ('k', 1)", "unclaimed: ");
    extension_run(f->a, "SELECT pawl_claim('x/k', 1); INSERT INTO \"a \"\"b's\" VALUES ('k', 1);"
                        "UPDATE \"a \"\"b's\" SET v = 2; DELETE FROM \"a \"\"b's\"");
}

static void table_may_change_after_it_is_protected(void **state)
{
    struct extension_fixture *f = *state;
    extension_run(f->a, "CREATE TABLE g (id INTEGER PRIMARY KEY, who, twice AS (who || who));"
                        "SELECT pawl_protect('g', '''g/'' || twice');"
                        "SELECT pawl_claim('g/aa', 1); INSERT INTO g (who) VALUES ('a');"
                        "ALTER TABLE g ADD COLUMN more; ALTER TABLE g RENAME COLUMN who TO owner;"
                        "ALTER TABLE g RENAME TO h; INSERT INTO h (owner, more) VALUES ('a', 2)");
    extension_refuses(f->a, "INSERT INTO h (owner) VALUES ('b')", "unclaimed: ");
    extension_run(f->a, "SELECT pawl_protect('h', '''h/'' || owner')");
    assert_int_equal(extension_number(f->a, "SELECT pawl_unprotect('H')"), 3);
    extension_run(f->a, "INSERT INTO h (owner) VALUES ('b')");
}

static void table_that_is_protected_again_has_the_new_expression(void **state)
{
    struct extension_fixture *f = two_owners(state);
    extension_run(f->a, "SELECT pawl_protect('T', '''new/'' || id'); SELECT pawl_claim('new/2', 1);"
                        "UPDATE t SET who = 'me too' WHERE id = 2");
    extension_refuses(f->a, "UPDATE t SET who = 'x' WHERE id = 1",
                      "unclaimed: this connection has not claimed new/1");
}

static void table_of_an_old_name_is_protected_beside_the_renamed_one(void **state)
{
    struct extension_fixture *f = two_owners(state);
    extension_run(f->a, "ALTER TABLE t RENAME TO t_old; CREATE TABLE t (id INTEGER, who TEXT);"
                        "SELECT pawl_protect('t', '''rows/'' || id')");
    extension_refuses(f->a, "INSERT INTO t VALUES (77, 'x')",
                      "unclaimed: this connection has not claimed rows/77");
    extension_refuses(f->b, "DELETE FROM t_old", "unclaimed");
}

static void row_of_the_guard_is_not_lowered_or_deleted_by_hand(void **state)
{
    struct extension_fixture *f = *state;
    extension_run(f->a, "SELECT pawl_claim_read('rows/9', 5); SELECT pawl_claim('rows/9', 9)");
    extension_refuses(f->b, "UPDATE pawl_guard SET highest_token = 8", "the guard only rises");
    extension_refuses(f->b, "UPDATE pawl_guard SET reader_token = 4", "the guard only rises");
    extension_refuses(f->b, "INSERT OR REPLACE INTO pawl_guard VALUES ('rows/9', 8, 9)",
                      "the guard only rises");
    extension_refuses(f->b, "INSERT OR REPLACE INTO pawl_guard VALUES ('rows/9', 9, 3)",
                      "the guard only rises");
    extension_refuses(f->b, "DELETE FROM pawl_guard", "the guard forgets nothing");
    extension_refuses(f->b, "UPDATE pawl_guard SET resource = 'other'",
                      "the guard forgets nothing");
    assert_int_equal(extension_number(f->b, "SELECT pawl_token('rows/9')"), 9);
}

static void wrong_table_or_expression_leaves_all_as_it_was(void **state)
{
    struct extension_fixture *f = two_owners(state);
    static const struct {
        const char *call, *start;
    } rows[] = {
        {"SELECT pawl_protect('none', '1')", "invalid table: "},
        {"SELECT pawl_protect('t', 'none')", "invalid expression: no such column: none"},
        {"SELECT pawl_protect('t', 'who || ')", "invalid expression: "},
        {"SELECT pawl_protect('t', 'who, id')", "invalid expression: "},
        {"SELECT pawl_protect('t', 'who), (id')", "invalid expression: it must be one value"},
        {"SELECT pawl_protect('t', 'who); DROP TABLE t; --')", "invalid expression: "},
        {"SELECT pawl_protect('t', '?1')", "trigger cannot use variables"},
        {"SELECT pawl_protect('t', NULL)", "invalid expression: it must be a text"},
        {"SELECT pawl_protect(NULL, 'who')", "invalid table: it must be a text"},
        {"SELECT pawl_protect('v', '1')", "cannot create AFTER trigger on view"},
    };
    extension_run(f->a, "CREATE VIEW v AS SELECT * FROM t");
    const int64_t version = extension_number(f->b, "PRAGMA schema_version");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        extension_refuses(f->a, rows[i].call, rows[i].start);
        assert_true(sqlite3_get_autocommit(f->a));
        assert_int_equal(extension_number(f->b, "PRAGMA schema_version"), version);
    }
    extension_run(f->a, "UPDATE t SET who = 'me' WHERE id = 1");
    extension_refuses(f->a, "DELETE FROM t WHERE id = 2", "unclaimed: ");
}

static void row_whose_resource_is_no_name_is_refused(void **state)
{
    struct extension_fixture *f = *state;
    extension_run(f->a, BY_OWNER);
    extension_refuses(f->a, "INSERT INTO t VALUES (1, NULL)", "invalid resource");
    extension_refuses(f->a, "INSERT INTO t VALUES (1, 'a b')", "invalid resource");
    extension_run(f->a, "SELECT pawl_protect('t', 'id')");
    extension_refuses(f->a, "INSERT INTO t VALUES (1, 'a')", "invalid resource");
}

static const struct CMUnitTest cases[] = {
    EXTENSION_CASE(row_is_judged_as_it_was_and_as_it_becomes),
    EXTENSION_CASE(row_that_a_replace_deletes_has_to_be_claimed),
    EXTENSION_CASE(row_that_the_schema_writes_has_to_be_claimed),
    EXTENSION_CASE(writer_without_recursive_triggers_is_refused),
    EXTENSION_CASE(upsert_is_judged_as_what_it_does),
    EXTENSION_CASE(refused_statement_leaves_no_row_in_a_transaction_that_commits),
    EXTENSION_CASE(key_that_sqlite_chooses_is_known_to_the_expression),
    EXTENSION_CASE(connection_without_the_extension_is_closed_out),
    EXTENSION_CASE(function_of_the_name_that_answers_nothing_opens_no_row),
    EXTENSION_CASE(triggers_run_whether_the_schema_is_trusted_or_not),
    EXTENSION_CASE(claim_that_a_savepoint_took_back_opens_no_row),
    EXTENSION_CASE(connection_forgets_the_oldest_claim_beyond_its_bound),
    EXTENSION_CASE(next_user_of_a_connection_has_no_claims_after_forget),
    EXTENSION_CASE(extension_that_is_loaded_again_has_no_claims),
    EXTENSION_CASE(attached_table_is_judged_by_the_guard_beside_it),
    EXTENSION_CASE(names_with_quotes_and_spaces_are_names),
    EXTENSION_CASE(table_may_change_after_it_is_protected),
    EXTENSION_CASE(table_that_is_protected_again_has_the_new_expression),
    EXTENSION_CASE(table_of_an_old_name_is_protected_beside_the_renamed_one),
    EXTENSION_CASE(row_of_the_guard_is_not_lowered_or_deleted_by_hand),
    EXTENSION_CASE(wrong_table_or_expression_leaves_all_as_it_was),
    EXTENSION_CASE(row_whose_resource_is_no_name_is_refused),
};

CASE_MAIN(cases, NULL, NULL)
