/* The columns of a table, as parts of the text of a trigger. */
#ifndef STORAGE_GUARD_EXTENSION_ROW_H
#define STORAGE_GUARD_EXTENSION_ROW_H

#include "fence/protocol/error.h"
#include "storage/guard/extension/api.h"

/* Appends the query for one row with the columns of @table, from NEW, from OLD, or (@of NULL) all
 * of them NULL. A name in an expression over that row then finds a column, and nothing else. The
 * column @chosen (NULL: none) has the key that SQLite chooses next. As storage_sql_error(). */
FENCE_CHECKED int storage_row_append(sqlite3_str *text, sqlite3 *db, const char *table,
                                     const char *of, const char *chosen, unsigned *ret_columns);

/* Appends the condition under which a BEFORE UPDATE trigger knows what @expression gives for NEW
 * as it will be stored. A NULL where NOT NULL is asked for becomes the default of the column, in
 * a REPLACE. As storage_sql_error(). */
FENCE_CHECKED int storage_row_append_known(sqlite3_str *text, sqlite3 *db, const char *table,
                                           const char *expression);

/* The same of a BEFORE INSERT trigger, where two more cases are open: SQLite has yet to choose the
 * INTEGER PRIMARY KEY, which reads as -1; and a row with the same key is there, so that the
 * statement may go on as an UPDATE, or write nothing. As storage_sql_error(). */
FENCE_CHECKED int storage_row_append_inserted(sqlite3_str *text, sqlite3 *db, const char *table,
                                              const char *expression);

/* The same where SQLite has yet to choose @key. As storage_sql_error(). */
FENCE_CHECKED int storage_row_append_chosen(sqlite3_str *text, sqlite3 *db, const char *table,
                                            const char *expression, const char *key);

/* The INTEGER PRIMARY KEY of @table, if @expression reads it, and if SQLite chooses the greatest
 * key plus 1: not where it is AUTOINCREMENT. NULL: there is none. The caller frees it with
 * sqlite3_free(). As storage_sql_error(). */
FENCE_CHECKED int storage_row_key(sqlite3 *db, const char *table, const char *expression,
                                  char **ret_key);

#endif
