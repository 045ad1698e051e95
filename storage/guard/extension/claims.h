/* The claims of one connection: the token for each resource. A claim in memory alone opens no row:
 * a protected table compares it with the guard's table, so a claim that was rolled back does not
 * count.
 *
 * The SQL functions of a connection share one memory. Each holds a reference, since SQLite may free
 * them in any order. One thread at a time, as for the connection. */
#ifndef STORAGE_GUARD_EXTENSION_CLAIMS_H
#define STORAGE_GUARD_EXTENSION_CLAIMS_H

#include "fence/protocol/error.h"

#include <stdint.h>

enum {
    STORAGE_CLAIMS_MAX = 1000, /* resources; beyond that the oldest claim is forgotten */
};

struct storage_claims;

/* With one reference, of the caller's. NULL: out of memory. */
struct storage_claims *storage_claims_new(void);

void storage_claims_ref(struct storage_claims *claims);

/* The last reference frees it. The parameter has the type that SQLite's destructors have. */
void storage_claims_unref(void *claims);

/* Remembers that @resource was claimed with @token just now. FENCE_ENOMEM. */
FENCE_CHECKED int storage_claims_put(struct storage_claims *claims, const char *resource,
                                     int64_t token);

/* Forgets all. */
void storage_claims_clear(struct storage_claims *claims);

/* Returns the token of the last claim of @resource. 0: none is remembered. */
int64_t storage_claims_get(const struct storage_claims *claims, const char *resource);

#endif
