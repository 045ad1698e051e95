#include "storage/guard/extension/protect.h"

#include "storage/guard/extension/call.h"
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

/* Adds the query for one row with the columns of @table, from NEW, from OLD, or (@of NULL) all of
 * them NULL. A name in the expression then finds a column, and nothing else. */
static int append_one_row(sqlite3_str *text, sqlite3 *db, const char *table, const char *of,
                          unsigned *ret_columns)
{
    unsigned columns = 0;
    struct storage_sql sql = storage_sql_prepare(
        db, "SELECT name FROM pragma_table_xinfo(?1, 'main') WHERE hidden <> 1");
    storage_sql_bind_text(&sql, 1, table);
    while (storage_sql_row(&sql)) {
        const char *name = (const char *)sqlite3_column_text(sql.stmt, 0);
        if (!name) {
            sql.code = SQLITE_NOMEM;
            break;
        }
        sqlite3_str_appendall(text, columns++ > 0 ? ", " : "SELECT ");
        if (of)
            sqlite3_str_appendf(text, "%s.\"%w\" AS \"%w\"", of, name, name);
        else
            sqlite3_str_appendf(text, "NULL AS \"%w\"", name);
    }
    const int err = storage_sql_finish(&sql);
    if (err)
        return err;
    *ret_columns = columns;
    return 0;
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
        storage_call_fail(context, "invalid expression: it is one value, made of columns");
    return one;
}

/* False: the error has been told. */
static bool fits_table(sqlite3_context *context, const char *table, const char *expression)
{
    sqlite3 *db = sqlite3_context_db_handle(context);
    sqlite3_str *text = sqlite3_str_new(db);
    unsigned columns = 0;
    sqlite3_str_appendf(text, "SELECT (%s\n) FROM (", expression);
    const int err = append_one_row(text, db, table, NULL, &columns);
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

/* The trigger reads the guard of its own database, whatever that is attached as. Only an answer of
 * 1 opens the row, so that another function of the name opens none by accident. */
static int append_question(sqlite3_str *text, sqlite3 *db, const char *table,
                           const char *expression, const char *of)
{
    unsigned columns = 0;
    sqlite3_str_appendf(text,
                        " SELECT RAISE(ABORT, 'unclaimed')"
                        " FROM (SELECT (SELECT (%s\n) FROM (",
                        expression);
    const int err = append_one_row(text, db, table, of, &columns);
    sqlite3_str_appendall(text,
                          ")) AS resource) AS asked"
                          " LEFT JOIN pawl_guard AS guard ON guard.resource = asked.resource"
                          " WHERE pawl_claimed(asked.resource, guard.highest_token) IS NOT 1;");
    return err;
}

struct question {
    const char *event;
    const char *of[2]; /* the rows that are asked about */
};

/* AFTER: an INTEGER PRIMARY KEY that SQLite chooses is not known before. */
static int make_trigger(sqlite3 *db, const char *table, const char *expression,
                        const struct question *question)
{
    int err = 0;
    sqlite3_str *text = sqlite3_str_new(db);
    uint64_t number; /* a table that was renamed keeps triggers with its old name */
    sqlite3_randomness(sizeof number, &number);
    sqlite3_str_appendf(text,
                        "CREATE TRIGGER main.\"pawl_protect_%s_%016llx\" AFTER %s ON \"%w\" BEGIN",
                        question->event, (unsigned long long)number, question->event, table);
    for (size_t i = 0; i < 2 && question->of[i] && !err; i++)
        err = append_question(text, db, table, expression, question->of[i]);
    sqlite3_str_appendall(text, " END");
    if (err) {
        sqlite3_free(sqlite3_str_finish(text));
        return err;
    }
    return run_built(db, text);
}

/* The names of the triggers are read first, one at a time: a schema is not changed while it is
 * read. */
static int drop_triggers(sqlite3 *db, const char *table, unsigned *ret_dropped)
{
    for (unsigned dropped = 0;; dropped++) {
        sqlite3_str *text = sqlite3_str_new(db);
        bool found = false;
        struct storage_sql sql = storage_sql_prepare(
            db, "SELECT name FROM main.sqlite_schema WHERE type = 'trigger'"
                "  AND tbl_name = ?1 COLLATE NOCASE AND name GLOB 'pawl_protect_*' LIMIT 1");
        storage_sql_bind_text(&sql, 1, table);
        if (storage_sql_row(&sql)) {
            found = true;
            sqlite3_str_appendf(text, "DROP TRIGGER main.\"%w\"", sqlite3_column_text(sql.stmt, 0));
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

/* Compiles a statement that the triggers belong to: what is wrong with them shows now. */
static int try_triggers(sqlite3 *db, const char *table)
{
    sqlite3_str *text = sqlite3_str_new(db);
    sqlite3_str_appendf(text, "EXPLAIN DELETE FROM main.\"%w\"", table);
    return run_built(db, text);
}

static int replace_triggers(sqlite3 *db, const char *table, const char *expression)
{
    static const struct question questions[] = {
        {"INSERT", {"NEW"}}, {"UPDATE", {"OLD", "NEW"}}, {"DELETE", {"OLD"}}};
    unsigned dropped = 0;
    int err = drop_triggers(db, table, &dropped);
    for (size_t i = 0; i < sizeof questions / sizeof questions[0] && !err; i++)
        err = make_trigger(db, table, expression, &questions[i]);
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
    if (drop_triggers(db, table, &dropped) != 0) {
        storage_call_fail_as_sqlite(context);
        storage_step_undo(&step);
        return;
    }
    if (storage_step_keep(context, &step))
        sqlite3_result_int64(context, dropped);
}
