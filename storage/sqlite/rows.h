/* The rows of a file, as the store of a master's rules (fence/master/store.h). The context is the
 * struct storage_state, within its turn. */
#ifndef STORAGE_SQLITE_ROWS_H
#define STORAGE_SQLITE_ROWS_H

#include "storage/sqlite/state.h"

extern const struct fence_master_store storage_rows;

#endif
