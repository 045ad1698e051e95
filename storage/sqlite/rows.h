/* The rows of a file as what the rules of a master read and write (fence/master/store.h). The
 * context is the struct storage_state, within its turn. */
#ifndef STORAGE_SQLITE_ROWS_H
#define STORAGE_SQLITE_ROWS_H

#include "storage/sqlite/state.h"

extern const struct fence_master_store storage_rows;

#endif
