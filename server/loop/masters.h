/* Makes the masters of a fleet: only this file knows the kind of the masters. */
#ifndef SERVER_LOOP_MASTERS_H
#define SERVER_LOOP_MASTERS_H

#include "storage/master.h"

#include <stdbool.h>

#include <uv.h>

struct storage_redis_url;
struct storage_sqlite_store;

/* The addresses of the masters of a fleet, as members 0 .. n - 1. It owns nothing. */
struct server_addresses {
    unsigned n;
    const struct storage_redis_url *urls; /* NULL: the fleet is a file */
    struct storage_sqlite_store *store;   /* a file of this process; @n is 1 */
    bool refuses_module; /* scripts carry requests, even if a master has the module */
};

/* The data that make a master a member of a fleet, as messages for people name them. */
#define SERVER_MASTERS_MARKER "the key pawl:fleet"

/* Reports whether requests are to be held back for a moment, so that more of them share a call
 * (server/loop/batch_delay.h). A store does not need this: it handles all waiting requests
 * together. */
static inline bool server_masters_fill_batches(const struct server_addresses *addresses)
{
    return !addresses->store;
}

/* Makes the masters at @addresses (its URLs are copied), each probed every @probe_ms (0: the
 * default). A store must outlive them. FENCE_ENOMEM: @ret_masters has the masters made before. */
FENCE_CHECKED int server_masters_new(uv_loop_t *loop, const struct server_addresses *addresses,
                                     unsigned probe_ms, const struct storage_master_events *events,
                                     struct storage_master *ret_masters[]);

#endif
