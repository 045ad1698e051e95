/* The guard and its statements, compiled once more. Their calls of sqlite3_* go to the SQLite of
 * the program that loads the extension, and not to one that the linker finds. */
#include "storage/guard/extension/api.h"
#include "storage/guard/sqlite/guard.c"
#include "storage/guard/sqlite/readers.c"
#include "storage/guard/sqlite/rejection.c"
#include "storage/sql/sql.c"
