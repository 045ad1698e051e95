/* SQLite in the words of this project: statements whose first error sticks, transactions, and
 * FENCE_E... codes. A statement reads straight down, and is judged once, at its end:
 *
 *     struct storage_sql sql = storage_sql_prepare(db, "SELECT sum FROM account WHERE id = ?1");
 *
 *     storage_sql_bind_text(&sql, 1, id);
 *
 *     if (storage_sql_row(&sql)) sum = sqlite3_column_int64(sql.stmt, 0);
 *
 *     int error = storage_sql_finish(&sql);
 *
 * A connection belongs to one thread at a time. */
#ifndef STORAGE_SQL_SQL_H
#define STORAGE_SQL_SQL_H

#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

struct storage_sql {
    sqlite3_stmt *stmt;
    int code; /* SQLite's code of the first failure; SQLITE_OK until then */
};

/* Never fails: an error makes the following calls do nothing, and storage_sql_finish() returns it.
 * Each statement must be finished. */
struct storage_sql storage_sql_prepare(sqlite3 *db, const char *text);

/* Parameters are numbered from 1. @text is borrowed until the finish. */
void storage_sql_bind_text(struct storage_sql *sql, int parameter, const char *text);
void storage_sql_bind_int(struct storage_sql *sql, int parameter, int64_t value);

/* Steps: true if there is a row to read, false at the end or after an error. */
bool storage_sql_row(struct storage_sql *sql);

/* Copies the text of a column of the current row, terminated, to @buffer. A value that does not fit
 * is an error of the database (FENCE_EIO at the finish), never a silent cut. */
void storage_sql_column_text(struct storage_sql *sql, int column, char *buffer, size_t size);

/* Ends the statement. Returns 0, or an error as storage_sql_error(). */
FENCE_CHECKED int storage_sql_finish(struct storage_sql *sql);

/* Runs a statement that answers no rows to its end, and finishes it. */
FENCE_CHECKED int storage_sql_run(struct storage_sql *sql);

/* Runs statements without parameters, one or several. */
FENCE_CHECKED int storage_sql_exec(sqlite3 *db, const char *text);

/* Returns the error for an SQLite code. FENCE_EBUSY: another connection locked the database for
 * longer than the busy timeout; roll back, try again. FENCE_ENOMEM. FENCE_EIO: any other failure,
 * such as a full disk, a damaged file, no database; roll back, tell the operator.
 * sqlite3_errmsg(db) has the text: copy it before the next call on @db, even a rollback. */
FENCE_CHECKED int storage_sql_error(int code);

#endif
