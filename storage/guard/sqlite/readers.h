/* The parts of the guard of a database for readers, and what one that an earlier Pawl made has not:
 * a column, triggers that keep it, and triggers of protected tables that ask for it. */
#ifndef STORAGE_GUARD_SQLITE_READERS_H
#define STORAGE_GUARD_SQLITE_READERS_H

#include "fence/protocol/error.h"

#include <stdbool.h>

#include <sqlite3.h>

/* The words of a trigger of a protected table to pawl_claimed(): the highest writer's token, or,
 * where a reader has ended its right, minus the highest reader's. NULL: no claim came. An
 * extension of an earlier Pawl takes the second for a guard that has seen less than was claimed,
 * and refuses.
 */
#define STORAGE_READERS_TERM                                                                       \
    "CASE WHEN guard.highest_token > guard.reader_token THEN guard.highest_token"                  \
    " ELSE -guard.reader_token END"

/* Reports whether nothing is missing. As storage_sql_error(). */
FENCE_CHECKED int storage_readers_known(sqlite3 *db, bool *ret_known);

/* Adds what is missing, within a write transaction. As storage_sql_error(). */
FENCE_CHECKED int storage_readers_learn(sqlite3 *db);

#endif
