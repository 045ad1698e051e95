/* Protected tables. Triggers call pawl_claimed() with the resource of each row that is written. A
 * connection without the extension lacks this function, and cannot write. */
#ifndef STORAGE_GUARD_EXTENSION_PROTECT_H
#define STORAGE_GUARD_EXTENSION_PROTECT_H

#include "fence/protocol/error.h"
#include "storage/guard/extension/api.h"

/* pawl_protect(table, expression): the expression gives the resource of a row. A caller that writes
 * a row must have claimed that resource: the resource of the row before the write, and after it. A
 * table that is already protected gets the new expression. If a call fails, nothing changes.
 * Answers NULL. */
void storage_protect(sqlite3_context *context, int count, sqlite3_value **values);

/* pawl_unprotect(table): removes the protection. Answers how many ways to write were guarded: 3, or
 * 0. */
void storage_unprotect(sqlite3_context *context, int count, sqlite3_value **values);

/* Creates the table that pawl_check.sql reads, if it is missing. Errors as storage_sql_error(). */
FENCE_CHECKED int storage_protect_install(sqlite3 *db);

#endif
