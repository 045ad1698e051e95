/* Leases that this worker granted or extended, and that did not end through it. With them an event
 * can tell whose lock ended, and when a lease expired. Their number is bounded: a later lease
 * replaces the neighbouring lease that ends first. For events only: no decision may use it. */
#ifndef SERVER_LOOP_LEASES_H
#define SERVER_LOOP_LEASES_H

#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SERVER_LEASES = 4096,       /* places, a power of 2, */
    SERVER_LEASES_BESIDE = 8,   /* places for one key, a power of 2 */
    SERVER_LEASES_LOOK_MS = 10, /* from one look for leases that ended to the next */
};

struct server_lease {
    int64_t token;
    char resource[FENCE_RESOURCE_MAX + 1];
    char owner[FENCE_OWNER_MAX + 1]; /* the label; "": none, or not known */
};

/* All zero to begin with. */
struct server_leases {
    uint64_t look_us;                /* when to look for ended leases next */
    uint64_t keys[SERVER_LEASES];    /* hashes of lock id and resource; 0: free */
    uint64_t ends_us[SERVER_LEASES]; /* CLOCK_BOOTTIME */
    struct server_lease each[SERVER_LEASES];
};

/* The known terms of a lease. */
struct server_lease_terms {
    int64_t token;
    const char *owner; /* "": not known, the old label stays */
    uint64_t ends_us;
};

/* Stores a lease that was granted or extended. */
void server_leases_put(struct server_leases *leases, const char *lock_id, const char *resource,
                       const struct server_lease_terms *terms);

/* Returns NULL if the lease is not known. */
const struct server_lease *server_leases_find(const struct server_leases *leases,
                                              const char *lock_id, const char *resource);

/* Returns the same, and removes the lease. Valid until the next put. */
const struct server_lease *server_leases_take(struct server_leases *leases, const char *lock_id,
                                              const char *resource);

/* Calls @ended for each lease that has ended by @now_us, and removes it. */
void server_leases_end(struct server_leases *leases, uint64_t now_us,
                       void (*ended)(void *context, const struct server_lease *lease),
                       void *context);

#endif
