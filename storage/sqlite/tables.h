/* The tables of pawl.db: creates them, and reads the facts about the file. */
#ifndef STORAGE_SQLITE_TABLES_H
#define STORAGE_SQLITE_TABLES_H

#include "storage/sql/sql.h"
#include "storage/sqlite/detect_restored_file.h"

/* Returns the answer to a question for one number; 0: there is no row. An error goes to
 * *@ret_error, which a success does not change. */
int64_t storage_tables_number(sqlite3 *db, const char *question, int *ret_error);

/* Reports whether the application id of a database is pawld's. */
bool storage_tables_are_ours(int64_t application);

/* Reads what the database says of itself. An error goes to *@ret_error, as above. */
void storage_tables_read(sqlite3 *db, struct storage_identity *identity, int *ret_error);

/* Reads how many commits the database at @path has without its log. If this is unknown, as in a
 * database without tables, base_known stays false. FENCE_EIO: the system does not allow reading it;
 * FENCE_ENOMEM. */
FENCE_CHECKED int storage_tables_read_base(const char *path, struct storage_identity *identity);

struct storage_opening {
    const char *file_id;
    const char *clock_id; /* the clock that leases count on from now on */
    bool makes_tables;
    bool takes_over;
};

/* Counts an opening, and creates missing tables, in one transaction. Errors as storage_sql_error();
 * then nothing was changed. */
FENCE_CHECKED int storage_tables_open(sqlite3 *db, const struct storage_opening *opening);

#endif
