/* Looks at a master on the connection that stands: at once after each handshake, then every
 * STORAGE_LOOK_INTERVAL_MS. The questions wait their turn behind the requests on their way, and
 * hold up those behind them for less than a millisecond. What a look finds goes to the owner
 * (storage_master_events.looked). Where the marker is gone, the connection is given up: the next
 * handshake says so. */
#ifndef STORAGE_REDIS_MASTER_LOOK_H
#define STORAGE_REDIS_MASTER_LOOK_H

#include "storage/redis_master.h"

enum {
    STORAGE_LOOK_INTERVAL_MS = 5000,
};

/* Has the master's marker say that it is not durable, if it is still the marker that the handshake
 * found (storage/lua/undurable.lua). Asked for again after the next look, where this one's answer
 * does not come. To be called from the owner's looked(); the loop's thread. */
void storage_redis_master_disclaim(struct storage_redis_master *master);

#endif
