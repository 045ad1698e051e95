/* The names that one step of a scan found, without the names that were listed already. The owner
 * provides the memory. */
#ifndef FENCE_LISTING_NAMES_H
#define FENCE_LISTING_NAMES_H

#include "fence/protocol/error.h"
#include "fence/protocol/listing_message.h"

enum {
    FENCE_LISTING_NAMES_MAX = 16384, /* names that a step may find; the listing asks for
                                      * FENCE_SCAN_KEYS_MAX keys, and a step returns a few more */
};

struct fence_listing_names {
    size_t count;
    struct fence_lock_name *name;
    struct fence_listing_holders {
        uint64_t on[FENCE_MASTERS_MAX]; /* fence_found.holders; 0: none, or not known */
    } * holder;                         /* holder of each name */
};

/* Copies the names of a scan, sorted, each once, without a holder yet. @names has room for
 * found->count names and holders, unless there are too many: FENCE_EIO. */
FENCE_CHECKED int fence_listing_names_take(struct fence_listing_names *names,
                                           const struct fence_found *found);

/* Drops the names up to and including @name. */
void fence_listing_names_drop_through(struct fence_listing_names *names, const char *name);

/* Drops each name for which a master of the set @walked reports the same holder as master @walking.
 */
void fence_listing_names_drop_known(struct fence_listing_names *names, uint32_t walked,
                                    unsigned walking);

#endif
