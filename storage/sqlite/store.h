/* The store of embedded masters: one file, and the one thread that reads and writes it. The loops
 * of a process submit jobs. All waiting jobs are done in one transaction, so that one fsync serves
 * all of them, and no loop ever waits for a disk.
 *
 * A process has one store, and a master for each loop (storage/sqlite/master.h). */
#ifndef STORAGE_SQLITE_STORE_H
#define STORAGE_SQLITE_STORE_H

#include "fence/protocol/error.h"
#include "storage/sqlite/file.h"

#include <stdbool.h>

struct storage_sqlite_store;

/* Opens the file and starts the thread. Errors as storage_file_open(). */
FENCE_CHECKED int storage_sqlite_store_open(const struct storage_file_config *config,
                                            struct storage_sqlite_store **ret_store,
                                            char ret_why[static STORAGE_WHY_MAX]);

/* Returns the file: its state at the opening, and its place. Its witness and its log belong to the
 * thread. */
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

/* Until storage_sqlite_store_detach() returns, @told is called on the store's thread. Borrowed
 * until then. */
void storage_sqlite_store_attach(struct storage_sqlite_store *store,
                                 const struct storage_told *told);
void storage_sqlite_store_detach(struct storage_sqlite_store *store,
                                 const struct storage_told *told);

/* Submits a job, and wakes the thread. The job returns through its done(). */
void storage_sqlite_store_submit(struct storage_sqlite_store *store, struct storage_job *job);

#endif
