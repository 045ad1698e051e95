/* Making the masters of a fleet: the only place that knows of which kind they are. */
#ifndef SERVER_LOOP_MASTERS_H
#define SERVER_LOOP_MASTERS_H

#include "storage/master.h"

#include <stdbool.h>

#include <uv.h>

struct storage_redis_url;
struct storage_sqlite_store;

/* The places of the masters of a fleet, as members 0 .. n - 1. Nothing of it is owned. */
struct server_addresses {
    unsigned n;
    const struct storage_redis_url *urls; /* NULL: */
    struct storage_sqlite_store *store;   /* a file of this process's own, and @n is 1 */
    bool refuses_module; /* scripts carry requests, also where a master has the module */
};

/* The keys that make a master a member of a fleet, for people. */
#define SERVER_MASTERS_MARKER "the key pawl:fleet"

/* Reports whether requests are to be held back for a moment, so that more of them share a call
 * (server/loop/batch_delay.h). A store needs no such help: what waits for it goes together. */
static inline bool server_masters_fill_batches(const struct server_addresses *addresses)
{
    return !addresses->store;
}

/* Makes the masters at @addresses (its URLs are copied), each probed every @probe_ms (0: as often
 * as is usual). A store outlives them. FENCE_ENOMEM: those made until then are in @ret_masters. */
FENCE_CHECKED int server_masters_new(uv_loop_t *loop, const struct server_addresses *addresses,
                                     unsigned probe_ms, const struct storage_master_events *events,
                                     struct storage_master *ret_masters[]);

#endif
