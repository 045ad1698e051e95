/* Which masters a listing walks: its way from master to master, and from step to step. */
#ifndef FENCE_LISTING_WALK_H
#define FENCE_LISTING_WALK_H

#include "fence/fleet/fleet.h"
#include "fence/listing/cursor.h"

/* Goes to the first name of a master that was not walked yet. FENCE_ENOQUORUM: none can be asked.
 */
FENCE_CHECKED int fence_listing_walk_begin(struct fence_listing_cursor *at,
                                           const struct fence_fleet *fleet);

/* The step at @at is over, and the next one of that master begins at its scan cursor @next; 0: all
 * its names were gone through. FENCE_ENOQUORUM: no other master can be asked. */
FENCE_CHECKED int fence_listing_walk_on(struct fence_listing_cursor *at,
                                        const struct fence_fleet *fleet, uint64_t next);

/* Reports whether the masters walked so far have every lock that a majority of @n holds. */
bool fence_listing_walk_is_over(const struct fence_listing_cursor *at, unsigned n);

/* To be called before each step. If the master being walked went down, another takes its turn.
 * FENCE_EINVAL: it is another process than it was. FENCE_ENOQUORUM. */
FENCE_CHECKED int fence_listing_walk_check(struct fence_listing_cursor *at,
                                           const struct fence_fleet *fleet);

#endif
