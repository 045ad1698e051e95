#include "fence/listing/walk.h"

#include "fence/base/set.h"
#include "fence/protocol/lease.h"
#include "fence/protocol/name.h"

#include <string.h>

static uint64_t process_of(const struct fence_fleet *fleet, unsigned i)
{
    const char *server_id = fleet->master[i].facts.server_id;
    return fence_hash(server_id, strlen(server_id), 0);
}

static void go_to(struct fence_listing_cursor *at, uint64_t from)
{
    at->from = from;
    at->to = 0;
    at->after[0] = '\0';
}

int fence_listing_walk_begin(struct fence_listing_cursor *at, const struct fence_fleet *fleet)
{
    uint32_t left = fence_fleet_active(fleet) & ~at->walked;
    if (left == 0)
        return FENCE_ENOQUORUM;
    at->walking = fence_set_first(left);
    at->process = process_of(fleet, at->walking);
    go_to(at, 0);
    return 0;
}

bool fence_listing_walk_is_over(const struct fence_listing_cursor *at, unsigned n)
{
    return fence_set_count(at->walked) >= fence_blocking(n);
}

int fence_listing_walk_on(struct fence_listing_cursor *at, const struct fence_fleet *fleet,
                          uint64_t next)
{
    go_to(at, next);
    if (next != 0)
        return 0;
    at->walked |= fence_set_of(at->walking);
    return fence_listing_walk_is_over(at, fleet->n) ? 0 : fence_listing_walk_begin(at, fleet);
}

int fence_listing_walk_check(struct fence_listing_cursor *at, const struct fence_fleet *fleet)
{
    if (!fence_fleet_ready(fleet))
        return FENCE_ENOQUORUM;
    /* Starts at the first name of the other master: some names of the previous master are listed
     * again. */
    if (!(fence_fleet_active(fleet) >> at->walking & 1))
        return fence_listing_walk_begin(at, fleet);
    return process_of(fleet, at->walking) == at->process ? 0 : FENCE_EINVAL;
}
