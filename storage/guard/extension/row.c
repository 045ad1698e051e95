#include "storage/guard/extension/row.h"

#include "storage/sql/sql.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* ---- a row as a query ------------------------------------------------------------------------ */

/* SQLite's text of a column of @sql. NULL: out of memory, which the finish tells. */
static const char *name_of(struct storage_sql *sql, int column)
{
    assert(column >= 0 && column < sqlite3_column_count(sql->stmt));
    const char *name = (const char *)sqlite3_column_text(sql->stmt, column);
    if (!name)
        sql->code = SQLITE_NOMEM;
    return name;
}

int storage_row_append(sqlite3_str *text, sqlite3 *db, const char *table, const char *of,
                       const char *chosen, unsigned *ret_columns)
{
    assert(text && table && ret_columns);
    unsigned columns = 0;
    struct storage_sql sql = storage_sql_prepare(
        db, "SELECT name FROM pragma_table_xinfo(?1, 'main') WHERE hidden <> 1");
    storage_sql_bind_text(&sql, 1, table);
    while (storage_sql_row(&sql)) {
        const char *name = name_of(&sql, 0);
        if (!name)
            break;
        sqlite3_str_appendall(text, columns++ > 0 ? ", " : "SELECT ");
        if (chosen && strcmp(chosen, name) == 0)
            sqlite3_str_appendf(text, "(SELECT coalesce(max(\"%w\") + 1, 1) FROM \"%w\") AS \"%w\"",
                                name, table, name);
        else if (of)
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

/* ---- which columns an expression reads ------------------------------------------------------- */

/* A second source of the same name makes the name ambiguous, so an expression that reads the column
 * does not compile. Without the column a name in double quotes would compile, as a text. */
static int reads_column(sqlite3 *db, const char *table, const char *expression, const char *column,
                        bool *ret_reads)
{
    assert(table && expression && column && ret_reads);
    unsigned columns = 0;
    sqlite3_stmt *statement = NULL;
    sqlite3_str *text = sqlite3_str_new(db);
    sqlite3_str_appendf(text, "SELECT (%s\n) FROM (", expression);
    const int err = storage_row_append(text, db, table, NULL, NULL, &columns);
    sqlite3_str_appendf(text, "), (SELECT NULL AS \"%w\")", column);
    char *built = sqlite3_str_finish(text);
    if (err || !built) {
        sqlite3_free(built);
        return err ? err : FENCE_ENOMEM;
    }
    const int code = sqlite3_prepare_v2(db, built, -1, &statement, NULL);
    sqlite3_finalize(statement);
    sqlite3_free(built);
    if (code != SQLITE_OK && code != SQLITE_ERROR)
        return storage_sql_error(code);
    *ret_reads = code == SQLITE_ERROR;
    return 0;
}

/* A generated column may be made of any other. */
static int reads_generated(sqlite3 *db, const char *table, const char *expression, bool *ret_reads)
{
    assert(table && expression && ret_reads);
    bool reads = false;
    int err = 0;
    struct storage_sql sql = storage_sql_prepare(
        db, "SELECT name FROM pragma_table_xinfo(?1, 'main') WHERE hidden IN (2, 3)");
    storage_sql_bind_text(&sql, 1, table);
    while (!reads && !err && storage_sql_row(&sql)) {
        const char *name = name_of(&sql, 0);
        if (!name)
            break;
        err = reads_column(db, table, expression, name, &reads);
    }
    const int finished = storage_sql_finish(&sql);
    if (err || finished)
        return err ? err : finished;
    *ret_reads = reads;
    return 0;
}

/* ---- what is known --------------------------------------------------------------------------- */

/* Appends @format, which takes the name, for each column of @columns that @expression reads. */
static int append_of_columns(sqlite3_str *text, sqlite3 *db, const char *table,
                             const char *expression, const char *columns, const char *format)
{
    assert(text && table && expression);
    bool any = false;
    int err = reads_generated(db, table, expression, &any);
    if (err)
        return err;
    struct storage_sql sql = storage_sql_prepare(db, columns);
    storage_sql_bind_text(&sql, 1, table);
    while (!err && storage_sql_row(&sql)) {
        bool reads = any;
        const char *name = name_of(&sql, 0);
        if (!name)
            break;
        if (!any)
            err = reads_column(db, table, expression, name, &reads);
        if (!err && reads)
            sqlite3_str_appendf(text, format, name);
    }
    const int finished = storage_sql_finish(&sql);
    return err ? err : finished;
}

#define ROW_KEY                                                                                    \
    "SELECT name FROM pragma_table_xinfo(?1, 'main') WHERE pk = 1 AND type = 'INTEGER' COLLATE "   \
    "NOCASE AND 1 = (SELECT count(*) FROM pragma_table_xinfo(?1, 'main') WHERE pk > 0)"

int storage_row_append_known(sqlite3_str *text, sqlite3 *db, const char *table,
                             const char *expression)
{
    sqlite3_str_appendall(text, "1");
    return append_of_columns(text, db, table, expression,
                             "SELECT name FROM pragma_table_xinfo(?1, 'main')"
                             "  WHERE \"notnull\" AND hidden = 0",
                             " AND NEW.\"%w\" IS NOT NULL");
}

/* ---- rows with the same key ------------------------------------------------------------------ */

/* Rows that would conflict at an index of expressions, or of a part of the table, are not looked
 * for: there an upsert is judged by the row that it would insert, too. */
static int append_conflicts(sqlite3_str *text, sqlite3 *db, const char *table)
{
    assert(text && table);
    int64_t last = -1;
    struct storage_sql sql = storage_sql_prepare(
        db, "SELECT list.seq, part.name, part.coll FROM pragma_index_list(?1, 'main') AS list"
            "  JOIN pragma_index_xinfo(list.name, 'main') AS part"
            "  WHERE list.\"unique\" AND NOT list.partial AND part.key AND NOT EXISTS ("
            "    SELECT 1 FROM pragma_index_xinfo(list.name, 'main') WHERE key AND name IS NULL)"
            "  UNION ALL SELECT 1000000, name, 'BINARY' FROM (" ROW_KEY ")"
            "  ORDER BY 1");
    storage_sql_bind_text(&sql, 1, table);
    while (storage_sql_row(&sql)) {
        const int64_t index = sqlite3_column_int64(sql.stmt, 0);
        const char *name = name_of(&sql, 1), *collation = name_of(&sql, 2);
        if (!name || !collation)
            break;
        if (index != last)
            sqlite3_str_appendf(text, "%s AND NOT EXISTS (SELECT 1 FROM \"%w\" AS there WHERE 1",
                                last < 0 ? "" : ")", table);
        sqlite3_str_appendf(text, " AND there.\"%w\" = NEW.\"%w\" COLLATE \"%w\"", name, name,
                            collation);
        last = index;
    }
    if (last >= 0)
        sqlite3_str_appendall(text, ")");
    return storage_sql_finish(&sql);
}

int storage_row_append_inserted(sqlite3_str *text, sqlite3 *db, const char *table,
                                const char *expression)
{
    int err = storage_row_append_known(text, db, table, expression);
    if (!err)
        err = append_of_columns(text, db, table, expression, ROW_KEY, " AND NEW.\"%w\" IS NOT -1");
    return err ? err : append_conflicts(text, db, table);
}

/* ---- a key that SQLite chooses --------------------------------------------------------------- */

int storage_row_append_chosen(sqlite3_str *text, sqlite3 *db, const char *table,
                              const char *expression, const char *key)
{
    assert(key);
    const int err = storage_row_append_known(text, db, table, expression);
    sqlite3_str_appendf(text, " AND NEW.\"%w\" IS -1", key);
    return err ? err : append_conflicts(text, db, table);
}

#define ROW_NO_SEQUENCE                                                                            \
    "NOT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table'"                            \
    "  AND name = ?1 COLLATE NOCASE AND sql LIKE '%autoincrement%')"

int storage_row_key(sqlite3 *db, const char *table, const char *expression, char **ret_key)
{
    assert(table && expression && ret_key);
    char *key = NULL;
    bool generated = false, reads = false;
    int err = reads_generated(db, table, expression, &generated);
    struct storage_sql sql = storage_sql_prepare(db, ROW_KEY " AND " ROW_NO_SEQUENCE);
    storage_sql_bind_text(&sql, 1, table);
    if (!err && !generated && storage_sql_row(&sql)) {
        const char *name = name_of(&sql, 0);
        if (name)
            err = reads_column(db, table, expression, name, &reads);
        if (!err && reads) {
            key = sqlite3_mprintf("%s", name);
            err = key ? 0 : FENCE_ENOMEM;
        }
    }
    const int finished = storage_sql_finish(&sql);
    if (err || finished) {
        sqlite3_free(key);
        return err ? err : finished;
    }
    *ret_key = key;
    return 0;
}
