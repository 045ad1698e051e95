#include "fence/fleet/majority_lost_data.h"

#include "fence/protocol/lease.h"

/* Each of them votes again only once a majority of others is active. */
static bool has_forgotten(const struct fence_master *master)
{
    switch (master->reason) {
    case FENCE_REASON_BLANK:
    case FENCE_REASON_MALFORMED:
    case FENCE_REASON_FORGOT:
    case FENCE_REASON_ROLLED_BACK:
    case FENCE_REASON_JOINING:
        return true;
    default:
        return false;
    }
}

bool fence_fleet_lost_memory(const struct fence_fleet *fleet)
{
    unsigned left = fleet->n;
    for (unsigned i = 0; i < fleet->n; i++)
        left -= has_forgotten(&fleet->master[i]);
    return left < fence_majority(fleet->n);
}
