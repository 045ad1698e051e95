/* SQLite as the program has it that loads the extension. Each file of this room includes this
 * header: its calls of sqlite3_* then go through the table that the program hands over. */
#ifndef STORAGE_GUARD_EXTENSION_API_H
#define STORAGE_GUARD_EXTENSION_API_H

#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT3

enum {
    STORAGE_EXTENSION_SQLITE_MIN = 3037000, /* the first SQLite with STRICT tables */
};

#endif
