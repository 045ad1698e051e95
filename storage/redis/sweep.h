/* After a master rejoined, its imported locks get their expiry, a few at a time, so that the master
 * has time for other calls. Several servers may do so at once; the master notes its progress. */
#ifndef STORAGE_REDIS_SWEEP_H
#define STORAGE_REDIS_SWEEP_H

#include "storage/redis/connection.h"

struct storage_sweeper {
    struct storage_connection *connection;
    uv_timer_t timer; /* the next step */
    void (*closed)(void *context);
    void *context;
};

void storage_sweeper_init(struct storage_sweeper *sweeper, struct storage_connection *connection);

/* Ends the sweeper; its memory may be freed when @closed was called. */
void storage_sweeper_fini(struct storage_sweeper *sweeper, void (*closed)(void *context),
                          void *context);

/* Does nothing if a step is already due. */
void storage_sweeper_start(struct storage_sweeper *sweeper);
void storage_sweeper_stop(struct storage_sweeper *sweeper);

#endif
