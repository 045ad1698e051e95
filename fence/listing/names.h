/* The names that one step of a scan found, and which of them were listed already. The memory is
 * the owner's. */
#ifndef FENCE_LISTING_NAMES_H
#define FENCE_LISTING_NAMES_H

#include "fence/protocol/error.h"
#include "fence/protocol/listing_message.h"

enum {
    FENCE_LISTING_NAMES_MAX = 16384, /* that a step may find; a step is asked for
                                      * FENCE_SCAN_KEYS_MAX keys, and gives a few more */
};

struct fence_listing_names {
    size_t count;
    struct fence_lock_name *name;
    struct fence_listing_holders {
        uint64_t on[FENCE_MASTERS_MAX]; /* fence_found.holders; 0: none, or not known */
    } * holder;                         /* holder of each name */
};

/* Takes the names out of what a scan found, in their order, each once; without a holder yet. @names
 * has room for found->count names and holders, unless these are too many. FENCE_EIO: they are. */
FENCE_CHECKED int fence_listing_names_take(struct fence_listing_names *names,
                                           const struct fence_found *found);

/* Drops those up to @name, itself included. */
void fence_listing_names_drop_through(struct fence_listing_names *names, const char *name);

/* Drops each name for which a master of the set @walked reports the same holder as master @walking.
 */
void fence_listing_names_drop_known(struct fence_listing_names *names, uint32_t walked,
                                    unsigned walking);

#endif
