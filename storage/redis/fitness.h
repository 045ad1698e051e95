/* Judges whether a Redis is fit to be a master, and finds faults of one that is. The words name the
 * settings of Redis. */
#ifndef STORAGE_REDIS_FITNESS_H
#define STORAGE_REDIS_FITNESS_H

#include "fence/fleet/fleet.h"

#include <stdbool.h>
#include <stdint.h>

/* Bits of fence_facts.findings, fewer than FENCE_FINDINGS_OF_SERVER. */
enum storage_finding {
    STORAGE_FINDING_PERSISTENCE_UNKNOWN, /* CONFIG is refused */
    STORAGE_FINDING_NO_AOF,              /* appendonly no */
    STORAGE_FINDING_FSYNC,               /* appendfsync everysec or no */
    STORAGE_FINDING_REWRITE,             /* no-appendfsync-on-rewrite yes */
    STORAGE_FINDING_EVICTION,            /* it may drop keys to make room */
    STORAGE_FINDING_MEMORY,              /* it has no room for another lock */
};

/* The facts of INFO about the server itself. */
struct storage_server {
    uint32_t version; /* major x 10000 + minor x 100 + patch */
    bool cluster;     /* cluster mode */
    bool evicts;      /* maxmemory is set, and its policy may drop keys */
};

/* Why such a server may not vote; NULL: it may. Static. */
const struct fence_words *storage_redis_unfit(const struct storage_server *server, bool replica);

/* Sets @facts' findings, once all else in them is known. */
void storage_redis_find(struct fence_facts *facts, const struct storage_server *server);

#endif
