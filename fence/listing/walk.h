/* The walk of a listing: its way from master to master, and from step to step. */
#ifndef FENCE_LISTING_WALK_H
#define FENCE_LISTING_WALK_H

#include "fence/fleet/fleet.h"
#include "fence/listing/cursor.h"

/* Goes to the first name of a master that was not walked yet. FENCE_ENOQUORUM: no such master can
 * be asked. */
FENCE_CHECKED int fence_listing_walk_begin(struct fence_listing_cursor *at,
                                           const struct fence_fleet *fleet);

/* Ends the step at @at. The next step of that master begins at the scan cursor @next; 0: all names
 * of that master were walked. FENCE_ENOQUORUM: no other master can be asked. */
FENCE_CHECKED int fence_listing_walk_on(struct fence_listing_cursor *at,
                                        const struct fence_fleet *fleet, uint64_t next);

/* Reports whether the finished masters have every lock that a majority of @n holds. */
bool fence_listing_walk_is_over(const struct fence_listing_cursor *at, unsigned n);

/* Checks the current master; call it before each step. If that master went down, another takes its
 * turn. FENCE_EINVAL: the master is another process than before. FENCE_ENOQUORUM. */
FENCE_CHECKED int fence_listing_walk_check(struct fence_listing_cursor *at,
                                           const struct fence_fleet *fleet);

#endif
