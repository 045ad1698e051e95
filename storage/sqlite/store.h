/* The store of embedded masters: one file, and the one thread that reads and writes it. The loops
 * of a process hand it jobs. All that wait are done in one transaction, so that one fsync serves
 * them all, and no loop ever waits for a disk.
 *
 * A process has one store, and a master for each loop (storage/sqlite/master.h). */
#ifndef STORAGE_SQLITE_STORE_H
#define STORAGE_SQLITE_STORE_H

#include "fence/protocol/error.h"
#include "storage/sqlite/file.h"

#include <stdbool.h>

struct storage_sqlite_store;

/* Opens the file, as storage_file_open() says with the same errors, and starts the thread. */
FENCE_CHECKED int storage_sqlite_store_open(const struct storage_file_config *config,
                                            struct storage_sqlite_store **ret_store,
                                            char ret_why[static STORAGE_WHY_MAX]);

/* The file: what it was when it was opened, and where it is. Its witness and its log are the
 * thread's. */
const struct storage_file *storage_sqlite_store_file(const struct storage_sqlite_store *store);

/* Ends the thread. All masters must have been freed, and their loops run until they were empty.
 * NULL is fine. */
void storage_sqlite_store_close(struct storage_sqlite_store *store);

/* ---- for masters ----------------------------------------------------------------------------- */

struct storage_job;

/* Receivers of locks that were released, and waited for. */
struct storage_told {
    void *context;
    void (*notices)(void *context, const struct storage_notice *notices, size_t count);
};

/* From here on, and until storage_sqlite_store_detach() returns, @told is called on the store's
 * thread. Borrowed until then. */
void storage_sqlite_store_attach(struct storage_sqlite_store *store,
                                 const struct storage_told *told);
void storage_sqlite_store_detach(struct storage_sqlite_store *store,
                                 const struct storage_told *told);

/* Hands over a job, and wakes the thread. It comes back by its own done(). */
void storage_sqlite_store_submit(struct storage_sqlite_store *store, struct storage_job *job);

#endif
