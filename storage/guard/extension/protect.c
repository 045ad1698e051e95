#include "storage/guard/extension/protect.h"

#include "storage/guard/extension/call.h"
#include "storage/guard/extension/row.h"
#include "storage/guard/sqlite/readers.h"
#include "storage/sql/sql.h"

#include <stddef.h>

/* ---- statements ------------------------------------------------------------------------------ */

/* Runs what @text holds, and frees it. 0 or as storage_sql_error(). */
static int run_built(sqlite3 *db, sqlite3_str *text)
{
    char *built = sqlite3_str_finish(text);
    if (!built)
        return FENCE_ENOMEM;
    const int err = storage_sql_exec(db, built);
    sqlite3_free(built);
    return err;
}

/* ---- the expression -------------------------------------------------------------------------- */

/* The newlines end a comment that the expression may end with. */
static bool is_one_expression(sqlite3_context *context, const char *built)
{
    sqlite3 *db = sqlite3_context_db_handle(context);
    sqlite3_stmt *statement = NULL;
    const char *rest = NULL;
    if (sqlite3_prepare_v2(db, built, -1, &statement, &rest) != SQLITE_OK) {
        if (sqlite3_errcode(db) == SQLITE_ERROR)
            storage_call_fail(context, "invalid expression: %s", sqlite3_errmsg(db));
        else
            storage_call_fail_as_sqlite(context); /* a locked database, say */
        return false;
    }
    const bool one = sqlite3_column_count(statement) == 1 && !*rest;
    sqlite3_finalize(statement);
    if (!one)
        storage_call_fail(context, "invalid expression: it must be one value, made of columns");
    return one;
}

/* False: the error has been told. */
static bool fits_table(sqlite3_context *context, const char *table, const char *expression)
{
    sqlite3 *db = sqlite3_context_db_handle(context);
    sqlite3_str *text = sqlite3_str_new(db);
    unsigned columns = 0;
    sqlite3_str_appendf(text, "SELECT (%s\n) FROM (", expression);
    const int err = storage_row_append(text, db, table, NULL, NULL, &columns);
    sqlite3_str_appendall(text, ")");
    char *built = sqlite3_str_finish(text);
    bool fits = false;
    if (err)
        storage_call_fail_as_sqlite(context);
    else if (columns == 0)
        storage_call_fail(context, "invalid table: the main database has no table '%s'", table);
    else if (!built)
        sqlite3_result_error_nomem(context);
    else
        fits = is_one_expression(context, built);
    sqlite3_free(built);
    return fits;
}

/* ---- triggers -------------------------------------------------------------------------------- */

/* Each way to write has a trigger before the write, and one after it. The trigger before stops an
 * unclaimed write: otherwise a trigger of the program could end the statement with FAIL or IGNORE,
 * and the row would stay. The trigger after judges the row as it is stored. */
struct question {
    const char *when, *event;
    const char *of[2]; /* the rows that are asked about */
    int (*append_known)(sqlite3_str *text, sqlite3 *db, const char *table, const char *expression);
};

static const struct question questions[] = {
    {"", "INSERT", {"NEW"}, NULL},
    {"", "UPDATE", {"OLD", "NEW"}, NULL},
    {"", "DELETE", {"OLD"}, NULL},
    {"before_", "INSERT", {"NEW"}, storage_row_append_inserted},
    {"before_", "UPDATE", {"OLD", "NEW"}, storage_row_append_known},
    {"before_", "DELETE", {"OLD"}, NULL},
};

/* Appends the resource of a row. @chosen is of storage_row_append(). */
static int append_resource(sqlite3_str *text, sqlite3 *db, const char *table,
                           const char *expression, const char *of, const char *chosen)
{
    unsigned columns = 0;
    sqlite3_str_appendf(text, "(SELECT (%s\n) FROM (", expression);
    const int err = storage_row_append(text, db, table, of, chosen, &columns);
    sqlite3_str_appendall(text, "))");
    return err;
}

/* The trigger reads the guard of its own database, under any attached name. Only an answer of 1
 * opens the row, so that another function of the name opens none by accident. CASE evaluates in
 * this order, which AND does not guarantee. */
static int append_question(sqlite3_str *text, sqlite3 *db, const char *table,
                           const char *expression, const struct question *question, const char *of)
{
    sqlite3_str_appendall(text, " SELECT RAISE(ABORT, 'unclaimed') FROM (SELECT ");
    int err = append_resource(text, db, table, expression, of, NULL);
    sqlite3_str_appendall(text, " AS resource) AS asked LEFT JOIN pawl_guard AS guard"
                                " ON guard.resource = asked.resource WHERE CASE WHEN ");
    if (!err && question->append_known && *of == 'N')
        err = question->append_known(text, db, table, expression);
    else
        sqlite3_str_appendall(text, "1");
    sqlite3_str_appendall(text, " THEN pawl_claimed(asked.resource, " STORAGE_READERS_TERM
                                ") IS NOT 1 END;");
    return err;
}

/* The same for a key that SQLite has yet to choose. A trigger of the program may insert other rows
 * first, so the next key is only likely. The write is refused only if no holder has ever claimed
 * the resource of that key, nor the resource of the key -1, which looks the same. */
static int append_question_of_key(sqlite3_str *text, sqlite3 *db, const char *table,
                                  const char *expression)
{
    char *key = NULL;
    int err = storage_row_key(db, table, expression, &key);
    if (err || !key)
        return err;
    sqlite3_str_appendall(text, " SELECT RAISE(ABORT, 'unclaimed') FROM (SELECT ");
    err = append_resource(text, db, table, expression, "NEW", key);
    sqlite3_str_appendall(text, " AS resource) AS asked WHERE CASE WHEN ");
    if (!err)
        err = storage_row_append_chosen(text, db, table, expression, key);
    sqlite3_str_appendall(text, " AND NOT EXISTS (SELECT 1 FROM pawl_guard WHERE resource IN"
                                " (asked.resource, ");
    if (!err)
        err = append_resource(text, db, table, expression, "NEW", NULL);
    sqlite3_str_appendall(text, ")) THEN pawl_claimed(asked.resource, NULL) IS NOT 1 END;");
    sqlite3_free(key);
    return err;
}

/* A renamed table keeps triggers with its old name, so @mark separates the triggers of two
 * tables. */
static int make_trigger(sqlite3 *db, const char *table, const char *expression,
                        const struct question *question, uint64_t mark)
{
    int err = 0;
    sqlite3_str *text = sqlite3_str_new(db);
    sqlite3_str_appendf(text,
                        "CREATE TRIGGER main.\"pawl_protect_%s%s_%016llx\" %s %s ON \"%w\" BEGIN",
                        question->when, question->event, (unsigned long long)mark,
                        *question->when ? "BEFORE" : "AFTER", question->event, table);
    for (size_t i = 0; i < 2 && question->of[i] && !err; i++)
        err = append_question(text, db, table, expression, question, question->of[i]);
    if (!err && question->append_known == storage_row_append_inserted)
        err = append_question_of_key(text, db, table, expression);
    sqlite3_str_appendall(text, " END");
    if (err) {
        sqlite3_free(sqlite3_str_finish(text));
        return err;
    }
    return run_built(db, text);
}

/* Reads the names of the triggers first, one at a time: a schema cannot change while it is read.
 * Triggers before a write are not counted. */
static int drop_triggers(sqlite3 *db, const char *table, unsigned *ret_dropped)
{
    unsigned dropped = 0;
    for (;;) {
        sqlite3_str *text = sqlite3_str_new(db);
        bool found = false;
        struct storage_sql sql = storage_sql_prepare(
            db, "SELECT name FROM main.sqlite_schema WHERE type = 'trigger'"
                "  AND tbl_name = ?1 COLLATE NOCASE AND name GLOB 'pawl_protect_*' LIMIT 1");
        storage_sql_bind_text(&sql, 1, table);
        if (storage_sql_row(&sql)) {
            const char *name = (const char *)sqlite3_column_text(sql.stmt, 0);
            found = true;
            if (sqlite3_strglob("pawl_protect_before_*", name) != 0)
                dropped++;
            sqlite3_str_appendf(text,
                                "DROP TRIGGER main.\"%w\"; DELETE FROM main.pawl_protected"
                                "  WHERE mark = substr('%q', -16)",
                                name, name);
        }
        int err = storage_sql_finish(&sql);
        if (err || !found) {
            sqlite3_free(sqlite3_str_finish(text));
            *ret_dropped = dropped;
            return err;
        }
        err = run_built(db, text);
        if (err)
            return err;
    }
}

/* Compiles a statement with these triggers, so that an error in them shows now. */
static int try_triggers(sqlite3 *db, const char *table)
{
    sqlite3_str *text = sqlite3_str_new(db);
    sqlite3_str_appendf(text, "EXPLAIN DELETE FROM main.\"%w\"", table);
    return run_built(db, text);
}

/* ---- what was protected ---------------------------------------------------------------------- */

int storage_protect_install(sqlite3 *db)
{
    return storage_sql_exec(db, "CREATE TABLE IF NOT EXISTS main.pawl_protected ("
                                "  mark TEXT PRIMARY KEY,"
                                "  name TEXT NOT NULL,"
                                "  expression TEXT NOT NULL) STRICT, WITHOUT ROWID");
}

/* For pawl_check.sql, which reports a table whose triggers are missing. */
static int forget(sqlite3 *db, const char *table)
{
    sqlite3_str *text = sqlite3_str_new(db);
    sqlite3_str_appendf(text, "DELETE FROM main.pawl_protected WHERE name = '%q' COLLATE NOCASE",
                        table);
    return run_built(db, text);
}

static int remember(sqlite3 *db, const char *table, const char *expression, uint64_t mark)
{
    sqlite3_str *text = sqlite3_str_new(db);
    sqlite3_str_appendf(text, "INSERT INTO main.pawl_protected VALUES ('%016llx', '%q', '%q')",
                        (unsigned long long)mark, table, expression);
    const int err = forget(db, table); /* triggers that an earlier table of this name left */
    if (err) {
        sqlite3_free(sqlite3_str_finish(text));
        return err;
    }
    return run_built(db, text);
}

static int replace_triggers(sqlite3 *db, const char *table, const char *expression)
{
    unsigned dropped = 0;
    uint64_t mark;
    sqlite3_randomness(sizeof mark, &mark);
    int err = storage_protect_install(db);
    if (!err)
        err = drop_triggers(db, table, &dropped);
    for (size_t i = 0; i < sizeof questions / sizeof questions[0] && !err; i++)
        err = make_trigger(db, table, expression, &questions[i], mark);
    if (!err)
        err = remember(db, table, expression, mark);
    return err ? err : try_triggers(db, table);
}

void storage_protect(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    sqlite3 *db = sqlite3_context_db_handle(context);
    struct storage_step step;
    const char *table = storage_call_text(context, values[0], "table");
    const char *expression = table ? storage_call_text(context, values[1], "expression") : NULL;
    if (!expression || !fits_table(context, table, expression) ||
        !storage_step_begin(context, &step))
        return;
    if (replace_triggers(db, table, expression) != 0) {
        storage_call_fail_as_sqlite(context);
        storage_step_undo(&step);
        return;
    }
    (void)storage_step_keep(context, &step);
}

void storage_unprotect(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    sqlite3 *db = sqlite3_context_db_handle(context);
    struct storage_step step;
    unsigned dropped = 0;
    const char *table = storage_call_text(context, values[0], "table");
    if (!table || !storage_step_begin(context, &step))
        return;
    if (storage_protect_install(db) != 0 || drop_triggers(db, table, &dropped) != 0 ||
        forget(db, table) != 0) {
        storage_call_fail_as_sqlite(context);
        storage_step_undo(&step);
        return;
    }
    if (storage_step_keep(context, &step))
        sqlite3_result_int64(context, dropped);
}
