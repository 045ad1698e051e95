/* Protected tables of pawl.so beside triggers of the program that end a statement and keep its
 * rows: RAISE(FAIL), RAISE(IGNORE), and a conflict under OR FAIL. A row without a claim is refused
 * before it is written, where that is known. */
#include "tests/lib/case.h"
#include "tests/unit/storage/guard/extension/extension_fixture.h"

#include <stdbool.h>
#include <stdio.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const char *const storages[] = {"", "TEMP"};
static const char *const times[] = {"AFTER", "BEFORE"};
static const char *const events[] = {"INSERT", "UPDATE", "DELETE"};
static const char *const acts[] = {
    "SELECT RAISE(FAIL, 'mine')", "SELECT RAISE(IGNORE)",
    "INSERT INTO log VALUES (1)", /* which is there: the statement's OR FAIL or OR IGNORE rules */
};

/* A row of "me", which the first connection has claimed, and one of "you". */
static void make_rows(struct extension_fixture *f, bool protect_first, const char *triggers)
{
    extension_run(f->a, "DROP TABLE IF EXISTS t; DROP TABLE IF EXISTS log;"
                        "CREATE TABLE log (id INTEGER PRIMARY KEY); INSERT INTO log VALUES (1);"
                        "CREATE TABLE t (id INTEGER PRIMARY KEY, who TEXT UNIQUE);"
                        "INSERT INTO t VALUES (1, 'me'), (2, 'you')");
    if (!protect_first)
        extension_run(f->a, triggers);
    extension_run(f->a, "SELECT pawl_protect('t', '''own/'' || who')");
    if (protect_first)
        extension_run(f->a, triggers);
    extension_run(f->a, "SELECT pawl_claim('own/me', 1)");
}

/* Statements that write a row of "you" or "he". */
static const char *const unclaimed[] = {
    "INSERT INTO t VALUES (3, 'he')",
    "INSERT INTO t (who) VALUES ('he')",
    "INSERT OR FAIL INTO t VALUES (3, 'he')",
    "INSERT OR IGNORE INTO t VALUES (3, 'he')",
    "INSERT OR ROLLBACK INTO t VALUES (3, 'he')",
    "INSERT INTO t SELECT 3, 'he'",
    "REPLACE INTO t VALUES (3, 'he')",
    "REPLACE INTO t VALUES (2, 'he')",
    "REPLACE INTO t VALUES (2, 'me')",
    "INSERT INTO t VALUES (1, 'me') ON CONFLICT (id) DO UPDATE SET who = 'he'",
    "INSERT INTO t VALUES (2, 'x') ON CONFLICT (id) DO UPDATE SET who = 'x'",
    "UPDATE t SET who = 'he' WHERE id = 1",
    "UPDATE t SET who = 'he' WHERE id = 2",
    "UPDATE OR FAIL t SET who = 'he' WHERE id = 1",
    "UPDATE OR FAIL t SET id = 5 WHERE id = 2",
    "UPDATE OR IGNORE t SET id = 5 WHERE id = 2",
    "UPDATE OR REPLACE t SET id = 2 WHERE id = 1",
    "DELETE FROM t WHERE id = 2",
};

/* The program goes on after an error, and commits. Ends the test where the rows of others changed.
 */
static void expect_kept(struct extension_fixture *f, const char *statement, const char *triggers)
{
    extension_run(f->a, "BEGIN IMMEDIATE");
    (void)extension_code(f->a, statement);
    (void)extension_code(f->a, "COMMIT");
    if (extension_number(f->a, "SELECT count(*) FROM t WHERE who = 'you' AND id = 2") != 1 ||
        extension_number(f->a, "SELECT count(*) FROM t WHERE who NOT IN ('me', 'you')") != 0)
        fail_msg("%s leaves what was not claimed, with %s", statement, triggers);
}

static unsigned play(struct extension_fixture *f, const char *triggers)
{
    for (size_t i = 0; i < COUNT(unclaimed); i++) {
        make_rows(f, i % 2 == 0, triggers);
        expect_kept(f, unclaimed[i], triggers);
        make_rows(f, i % 2 != 0, triggers);
        expect_kept(f, unclaimed[i], triggers);
    }
    return 2 * COUNT(unclaimed);
}

static void row_without_a_claim_does_not_stay_where_a_trigger_ends_the_statement(void **state)
{
    struct extension_fixture *f = *state;
    unsigned played = 0;
    for (size_t i = 0; i < COUNT(storages) * COUNT(times) * COUNT(acts); i++) {
        char triggers[2 * EXTENSION_TEXT_MAX] = "";
        size_t used = 0;
        for (size_t j = 0; j < COUNT(events); j++)
            used += (size_t)snprintf(triggers + used, sizeof(triggers) - used,
                                     "CREATE %s TRIGGER own_%zu %s %s ON t BEGIN %s; END;",
                                     storages[i % 2], j, times[i / 2 % 2], events[j], acts[i / 4]);
        played += play(f, triggers);
    }
    print_message("%u statements\n", played);
}

/* The first row is the holder's, and stays: it was claimed. */
static void statement_that_fails_later_keeps_claimed_rows_only(void **state)
{
    struct extension_fixture *f = *state;
    make_rows(f, true,
              "CREATE TEMP TRIGGER own AFTER UPDATE ON t WHEN NEW.who <> 'me'"
              "  BEGIN SELECT RAISE(FAIL, 'mine'); END");
    extension_run(f->a, "BEGIN");
    extension_refuses(f->a, "UPDATE OR FAIL t SET id = id + 10", "unclaimed: ");
    extension_run(f->a, "COMMIT");
    assert_int_equal(extension_number(f->a, "SELECT sum(id) FROM t"), 3);
}

/* Before the write each of these looks like a row that was not claimed. */
static void row_that_changes_until_it_is_stored_is_judged_as_stored(void **state)
{
    struct extension_fixture *f = *state;
    static const char *const made[] = {
        "CREATE TABLE k (id INTEGER PRIMARY KEY, v); SELECT pawl_protect('k', '''own/'' || id');"
        "INSERT INTO k (v) VALUES (1); INSERT INTO k VALUES (NULL, 2); REPLACE INTO k VALUES (1, "
        "3)",
        "CREATE TABLE k (id INTEGER PRIMARY KEY, v); SELECT pawl_protect('k', '''own/'' || "
        "\"id\"');"
        "INSERT INTO k (v) VALUES (1)",
        "CREATE TABLE k (id INTEGER PRIMARY KEY, v);"
        "SELECT pawl_protect('k', '''own/'' || abs(id)'); INSERT INTO k VALUES (2, 1), (-1, 3)",
        "CREATE TABLE k (id INTEGER PRIMARY KEY AUTOINCREMENT, v);"
        "INSERT INTO k VALUES (1, 0); DELETE FROM k; SELECT pawl_protect('k', '''own/'' || id');"
        "INSERT INTO k (v) VALUES (1)",
        "CREATE TABLE k (id INTEGER PRIMARY KEY, g AS (id + 0));"
        "SELECT pawl_protect('k', '''own/'' || g'); INSERT INTO k DEFAULT VALUES",
        "CREATE TABLE k (id INTEGER PRIMARY KEY, who NOT NULL DEFAULT '1');"
        "SELECT pawl_protect('k', '''own/'' || coalesce(who, ''none'')');"
        "REPLACE INTO k VALUES (7, NULL); UPDATE OR REPLACE k SET who = NULL",
        "CREATE TABLE k (id INTEGER PRIMARY KEY, who); CREATE UNIQUE INDEX one ON k (who COLLATE "
        "NOCASE);"
        "SELECT pawl_protect('k', '''own/'' || id'); INSERT INTO k VALUES (1, 'a');"
        "INSERT INTO k VALUES (9, 'A') ON CONFLICT DO UPDATE SET who = 'b';"
        "INSERT OR IGNORE INTO k VALUES (9, 'B')",
        "CREATE TABLE k (a, b, v, PRIMARY KEY (b, a)) WITHOUT ROWID;"
        "SELECT pawl_protect('k', '''own/'' || v'); INSERT INTO k VALUES (1, 2, 1);"
        "INSERT INTO k VALUES (1, 2, 9) ON CONFLICT DO UPDATE SET v = 2",
    };
    extension_run(f->a, "SELECT pawl_claim('own/1', 1); SELECT pawl_claim('own/2', 1)");
    for (size_t i = 0; i < COUNT(made); i++) {
        extension_run(f->a, made[i]);
        extension_run(f->a, "DROP TABLE k");
    }
}

#define ENDS_INSERT "CREATE TRIGGER own AFTER INSERT ON k BEGIN SELECT RAISE(FAIL, 'mine'); END;"

struct ended {
    const char *made, *statement;
};

/* Plays @row on a new table, whose trigger ends each INSERT. Returns how many rows "x" stay. */
static int64_t rows_left(struct extension_fixture *f, const struct ended *row)
{
    extension_run(f->a, "DROP TABLE IF EXISTS k;"
                        "CREATE TABLE k (id INTEGER PRIMARY KEY, who NOT NULL DEFAULT 'x')");
    extension_run(f->a, row->made);
    extension_run(f->a, ENDS_INSERT);
    if (extension_code(f->a, row->statement) == 0)
        fail_msg("%s is not refused", row->statement);
    return extension_number(f->a, "SELECT count(*) FROM k WHERE who = 'x'");
}

#define BY_KEY "SELECT pawl_protect('k', '''own/'' || id');"
#define BY_WHO "SELECT pawl_protect('k', '''own/'' || who');"

static void key_that_nobody_claimed_is_refused_before_sqlite_chooses_it(void **state)
{
    struct extension_fixture *f = *state;
    static const struct ended rows[] = {
        {BY_KEY, "INSERT INTO k (who) VALUES ('x')"},
        {BY_KEY, "INSERT INTO k VALUES (NULL, 'x')"},
        {BY_KEY, "INSERT INTO k DEFAULT VALUES"},
        {BY_KEY, "INSERT INTO k VALUES (-1, 'x')"},
        {"INSERT INTO k VALUES (-9, 'me');" BY_KEY, "INSERT INTO k (who) VALUES ('x')"},
    };
    extension_run(f->a, "SELECT pawl_claim('own/me', 1)");
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(rows_left(f, &rows[i]), 0);
}

/* The page names each of them: before the write it looks like a write that is fine. */
static void what_the_page_says_is_left_is_left(void **state)
{
    struct extension_fixture *f = *state;
    static const struct ended rows[] = {
        {BY_KEY "SELECT pawl_claim('own/1', 2); SELECT pawl_forget()",
         "INSERT INTO k (who) VALUES ('x')"},
        {"INSERT INTO k VALUES (1, 'me');" BY_WHO "SELECT pawl_claim('own/me', 1)",
         "REPLACE INTO k VALUES (1, 'x')"},
        {BY_WHO, "INSERT OR REPLACE INTO k VALUES (1, NULL)"},
        {"DROP TABLE k; CREATE TABLE k (id INTEGER PRIMARY KEY AUTOINCREMENT, who);" BY_KEY,
         "INSERT INTO k (who) VALUES ('x')"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(rows_left(f, &rows[i]), 1);
}

static const struct CMUnitTest cases[] = {
    EXTENSION_CASE(row_without_a_claim_does_not_stay_where_a_trigger_ends_the_statement),
    EXTENSION_CASE(statement_that_fails_later_keeps_claimed_rows_only),
    EXTENSION_CASE(row_that_changes_until_it_is_stored_is_judged_as_stored),
    EXTENSION_CASE(key_that_nobody_claimed_is_refused_before_sqlite_chooses_it),
    EXTENSION_CASE(what_the_page_says_is_left_is_left),
};

CASE_MAIN(cases, NULL, NULL)
