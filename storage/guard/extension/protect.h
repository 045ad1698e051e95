/* Protected tables. Triggers ask pawl_claimed() for the resource of each row that is written. A
 * connection without the extension has no such function, and cannot write at all. */
#ifndef STORAGE_GUARD_EXTENSION_PROTECT_H
#define STORAGE_GUARD_EXTENSION_PROTECT_H

#include "fence/protocol/error.h"
#include "storage/guard/extension/api.h"

/* pawl_protect(table, expression): the expression gives the resource of a row. A caller that writes
 * a row must have claimed that resource, of the row before the write and after it. A table that is
 * protected already gets the new expression. If a call fails, all is as before. Answers NULL. */
void storage_protect(sqlite3_context *context, int count, sqlite3_value **values);

/* pawl_unprotect(table): takes that away. Answers how many ways to write were guarded: 3, or 0. */
void storage_unprotect(sqlite3_context *context, int count, sqlite3_value **values);

/* Creates the table that pawl_check.sql reads where it is not there yet. As storage_sql_error(). */
FENCE_CHECKED int storage_protect_install(sqlite3 *db);

#endif
