/* The names that one step of a listing found, and which of them were listed already. Pure but for
 * the allocation. */
#ifndef SERVER_LOOP_LISTING_NAMES_H
#define SERVER_LOOP_LISTING_NAMES_H

#include "fence/protocol/limits.h"
#include "storage/master.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SERVER_LISTING_NAMES_MAX = 16384, /* that a step may find; far beyond what Redis' SCAN gives */
};

struct server_listing_names {
    size_t count;
    struct fence_lock_name *name;
    struct server_listing_holders {
        uint64_t on[FENCE_MASTERS_MAX]; /* fence_found.holders; 0: nobody, or not known */
    } * holder;                         /* of each name */
};

/* Takes the names out of what a scan found, in their order, each once; nobody's yet. @names is
 * empty before. FENCE_ENOMEM; FENCE_EIO: too many. */
FENCE_CHECKED int server_listing_names_take(struct server_listing_names *names,
                                            const struct fence_found *found);

/* Empties it, and gives its memory back. */
void server_listing_names_clear(struct server_listing_names *names);

/* Drops those up to @name, itself included. */
void server_listing_names_drop_through(struct server_listing_names *names, const char *name);

/* Drops those that a master in the set @walked names the same holder for as master @walking. */
void server_listing_names_drop_known(struct server_listing_names *names, uint32_t walked,
                                     unsigned walking);

#endif
