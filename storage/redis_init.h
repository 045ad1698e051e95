/* Making a fleet: the marker on each of its masters. Blocking, for a program that does this and
 * exits. */
#ifndef STORAGE_REDIS_INIT_H
#define STORAGE_REDIS_INIT_H

#include "fence/error.h"
#include "fence/limits.h"
#include "storage/redis_url.h"

enum {
    STORAGE_INIT_DEADLINE_S = 2, /* for each master to connect, and for each of its answers */
    STORAGE_WHY_MAX = 512,       /* bytes of a reason */
};

struct storage_redis_init {
    const struct storage_redis_url *masters;
    unsigned n; /* odd, at most FENCE_MASTERS_MAX */
    uint32_t ttl_max_ms;
};

/* Makes a new fleet that never issued a token: all of its masters are reachable, none is marked,
 * none is a replica or the same server as another. Everything is looked at before anything is
 * written. Sets @ret_fleet_id. On failure a sentence that says what to do is in @ret_why:
 * FENCE_ECONFLICT  a master is marked, or unfit to be one
 * FENCE_EIO        a master cannot be reached, or failed half-way; the sentence says which were
 * marked FENCE_EINVAL     the number of masters is even or too large, or the TTL is out of bounds
 */
FENCE_CHECKED int storage_redis_init_new(const struct storage_redis_init *init,
                                         char ret_fleet_id[static FENCE_ID_HEX_LEN + 1],
                                         char ret_why[static STORAGE_WHY_MAX]);

#endif
