/* The batches of requests of a master: gathered, under way, or abandoned but still under way. A
 * batch that returns is reused, so that no request allocates one. */
#ifndef STORAGE_SQLITE_BATCHES_H
#define STORAGE_SQLITE_BATCHES_H

#include "storage/sqlite/store_job.h"

enum {
    STORAGE_BATCHES = 8,
};

struct storage_batches {
    struct storage_job *jobs[STORAGE_BATCHES];
    bool out[STORAGE_BATCHES]; /* in use; else spare */
};

/* Makes all batches for @master. FENCE_ENOMEM: storage_batches_fini() frees what is there. */
FENCE_CHECKED int storage_batches_init(struct storage_batches *batches,
                                       struct storage_sqlite_master *master);
void storage_batches_fini(struct storage_batches *batches);

/* Returns a spare batch for connection @epoch; NULL if all are in use, by abandoned connections. */
struct storage_job *storage_batches_take(struct storage_batches *batches, unsigned epoch);

/* Empties @job, which is in use, and makes it spare. */
void storage_batches_give(struct storage_batches *batches, struct storage_job *job);

#endif
