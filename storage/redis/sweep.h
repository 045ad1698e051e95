/* After a master rejoined, its imported locks get their expiry. That is done for a few at a
 * time, so that it has time for others in between. Several servers may do so at once; the master
 * notes how far it is. */
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

/* Its memory may go when @closed was called. */
void storage_sweeper_fini(struct storage_sweeper *sweeper, void (*closed)(void *context),
                          void *context);

/* Does nothing where a step is due already. */
void storage_sweeper_start(struct storage_sweeper *sweeper);
void storage_sweeper_stop(struct storage_sweeper *sweeper);

#endif
