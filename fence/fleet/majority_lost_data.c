#include "fence/fleet/majority_lost_data.h"

#include "fence/protocol/lease.h"

static bool has_forgotten(const struct fence_master *master)
{
    return master->reason == FENCE_REASON_BLANK || master->reason == FENCE_REASON_FORGOT ||
           master->reason == FENCE_REASON_JOINING;
}

bool fence_fleet_lost_memory(const struct fence_fleet *fleet)
{
    unsigned left = fleet->n;
    for (unsigned i = 0; i < fleet->n; i++)
        left -= has_forgotten(&fleet->master[i]);
    return left < fence_majority(fleet->n);
}
