/* pawl_check.sql for SQLite: what it tells of a guard and of a table that are intact, and of each
 * way to damage them. */
#include "tests/lib/case.h"
#include "tests/lib/text.h"
#include "tests/unit/storage/guard/extension/extension_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct told {
    const char *of; /* the row that is looked for */
    char resource[EXTENSION_TEXT_MAX], state[EXTENSION_TEXT_MAX], look_at[EXTENSION_TEXT_MAX];
    unsigned rows;
};

static int read_row(void *arg, int count, char **values, char **names)
{
    struct told *told = arg;
    assert_int_equal(count, 4);
    if (strcmp(values[0], told->of) == 0) {
        told->rows++;
        snprintf(told->resource, sizeof(told->resource), "%s", values[1]);
        snprintf(told->state, sizeof(told->state), "%s", values[2]);
        snprintf(told->look_at, sizeof(told->look_at), "%s", values[3]);
    }
    return 0;
}

/* For a connection without the extension. */
static struct told check(const struct extension_fixture *f, const char *of)
{
    struct told told = {.of = of};
    sqlite3 *db = NULL;
    char *text = text_read("storage/guard/sqlite/pawl_check.sql", 0);
    assert_int_equal(sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (sqlite3_exec(db, text, read_row, &told, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
    free(text);
    return told;
}

static void intact_table_is_told_so(void **state)
{
    struct extension_fixture *f = *state;
    extension_run(f->a, "SELECT pawl_protect('t', '''own/'' || who')");
    const struct told guard = check(f, "the guard"), table = check(f, "t");
    assert_string_equal(guard.state, "intact");
    assert_string_equal(table.state, "intact");
    assert_string_equal(table.resource, "'own/' || who");
    assert_string_equal(table.look_at, "");
    extension_run(f->a,
                  "SELECT pawl_protect('t', '''new/'' || who'); ALTER TABLE t RENAME who TO w;"
                  "ALTER TABLE t RENAME TO \"a 't\"; CREATE TRIGGER own AFTER INSERT ON \"a 't\""
                  "  BEGIN SELECT RAISE(FAIL, 'x'); END");
    const struct told renamed = check(f, "a 't");
    assert_string_equal(renamed.state, "intact");
    assert_string_equal(renamed.resource, "'new/' || who");
    assert_string_equal(renamed.look_at, "own");
    extension_run(f->a, "SELECT pawl_unprotect('a ''t')");
    assert_int_equal(check(f, "a 't").rows, 0);
}

/* A trigger of the guard with @from as @to. */
#define WITH(glob, from, to)                                                                       \
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, " from ", " to       \
    ") WHERE name GLOB '" glob "'; PRAGMA writable_schema = RESET"

/* Those of the guard on t, if their text has @words. */
static void drop_triggers(sqlite3 *db, const char *words)
{
    for (;;) {
        sqlite3_stmt *stmt = NULL;
        char text[EXTENSION_TEXT_MAX], name[EXTENSION_TEXT_MAX] = "";
        snprintf(text, sizeof(text),
                 "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 't'"
                 "  AND instr(sql, trim('%s')) > 0",
                 words);
        assert_int_equal(sqlite3_prepare_v2(db, text, -1, &stmt, NULL), SQLITE_OK);
        if (sqlite3_step(stmt) == SQLITE_ROW)
            snprintf(name, sizeof(name), "%s", (const char *)sqlite3_column_text(stmt, 0));
        sqlite3_finalize(stmt);
        if (!*name)
            return;
        snprintf(text, sizeof(text), "DROP TRIGGER \"%.400s\"", name);
        extension_run(db, text);
    }
}

static const struct {
    const char *done, *of, *words;
} rows[] = {
    {"SELECT 1", "t", "intact"},
    {"drop AFTER INSERT", "t", "AFTER INSERT is missing"},
    {"drop BEFORE UPDATE", "t", "BEFORE UPDATE is missing"},
    {"drop AFTER DELETE", "t", "AFTER DELETE is missing"},
    {"drop", "t", "BEFORE INSERT is missing"},
    {WITH("pawl_protect_INSERT*", "' BEGIN '", "' WHEN 0 BEGIN '"), "t",
     "AFTER INSERT is missing or"},
    {WITH("pawl_protect_UPDATE*", "'WHEN 1 THEN'", "'WHEN 0 THEN'"), "t",
     "AFTER UPDATE is missing or"},
    {WITH("pawl_protect_DELETE*", "'IS NOT 1 END'", "'IS NULL END'"), "t",
     "AFTER DELETE is missing or"},
    {WITH("pawl_protect_before_DELETE*", "'ABORT'", "'FAIL'"), "t", "BEFORE DELETE is missing or"},
    {"ALTER TABLE t RENAME TO old; CREATE TABLE t (id)", "t", "AFTER INSERT is missing"},
    {"ALTER TABLE t RENAME TO old", "old", "intact"},
    {"DROP TRIGGER pawl_guard_only_rises", "the guard", "pawl_guard_only_rises is missing"},
    {"DROP TRIGGER pawl_guard_forgets_nothing", "the guard",
     "pawl_guard_forgets_nothing is missing"},
    {"DROP TRIGGER pawl_guard_is_not_renamed", "the guard", "pawl_guard_is_not_renamed is missing"},
    {WITH("pawl_guard_is_not_replaced", "'<'", "'< 0 AND 1 <'"), "the guard",
     "pawl_guard_is_not_replaced"},
    {"DROP TRIGGER pawl_guard_reader_only_rises", "the guard",
     "pawl_guard_reader_only_rises is missing"},
    {"DROP TRIGGER pawl_guard_reader_is_not_replaced", "the guard",
     "pawl_guard_reader_is_not_replaced is missing"},
    {"DROP TRIGGER pawl_guard_writer_is_newer", "the guard",
     "pawl_guard_writer_is_newer is missing"},
    {"DROP TABLE pawl_guard; CREATE TABLE pawl_guard (resource TEXT PRIMARY KEY, highest_token)",
     "the guard", "the table pawl_guard knows no readers"},
    {"CREATE TRIGGER other AFTER UPDATE ON pawl_guard BEGIN SELECT 1; END", "the guard",
     "has the trigger other"},
    {"DROP TABLE pawl_guard; CREATE TABLE pawl_guard (resource, highest_token)", "the guard",
     "another key"},
    {"DROP TABLE pawl_rejection", "the guard", "pawl_rejection is missing"},
};

static void each_damage_is_told(void **state)
{
    struct extension_fixture *f = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        extension_run(f->a,
                      "DROP TABLE IF EXISTS t; DROP TABLE IF EXISTS old; DROP TABLE pawl_guard;"
                      "SELECT pawl_install(); CREATE TABLE t (id INTEGER PRIMARY KEY, who);"
                      "SELECT pawl_protect('t', '''own/'' || who')");
        if (strncmp(rows[i].done, "drop", 4) == 0)
            drop_triggers(f->a, rows[i].done + 4);
        else
            extension_run(f->a, rows[i].done);
        const struct told told = check(f, rows[i].of);
        if (!strstr(told.state, rows[i].words))
            fail_msg("after %s: %s is '%s'", rows[i].done, rows[i].of, told.state);
    }
    print_message("%zu damages\n", sizeof(rows) / sizeof(rows[0]));
}

static const struct CMUnitTest cases[] = {
    EXTENSION_CASE(intact_table_is_told_so),
    EXTENSION_CASE(each_damage_is_told),
};

CASE_MAIN(cases, NULL, NULL)
