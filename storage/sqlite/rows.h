/* The rows of a file as what the rules of a master read and write (fence/master/store.h). The
 * context is the struct storage_state, within its turn. */
#ifndef STORAGE_SQLITE_ROWS_H
#define STORAGE_SQLITE_ROWS_H

#include "storage/sqlite/state.h"

extern const struct fence_master_store storage_rows;

/* The lock in the current row of STORAGE_LOCK_READ or STORAGE_PAGE_LOCKS. */
void storage_rows_read_lock(struct storage_sql *sql, struct fence_stored_lock *ret_lock);

#endif
