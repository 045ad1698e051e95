#include "fence/bootstrap/closing.h"

#include "fence/base/set.h"
#include "fence/bootstrap/survivors.h"
#include "fence/protocol/lease.h"

#include <string.h>

/* Reports whether an earlier run has closed it. The fleet that follows may have claimed it since.
 */
static bool is_closed(const struct fence_facts *facts)
{
    return facts->closed && !facts->marked_active;
}

static bool take_closed(struct fence_bootstrap *bootstrap, unsigned i)
{
    const struct fence_facts *facts = &bootstrap->seen[i];
    if (bootstrap->closed > 0 && strcmp(bootstrap->fleet_id, facts->closed_fleet_id) != 0)
        return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_OTHER_FLEET, i);
    if (bootstrap->params.until == FENCE_BOOTSTRAP_ALL_DONE &&
        strcmp(bootstrap->params.fleet_id, facts->closed_for) != 0)
        return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_OTHER_MOVE, i);
    memcpy(bootstrap->closed_for, facts->closed_for, sizeof(bootstrap->closed_for));
    memcpy(bootstrap->fleet_id, facts->closed_fleet_id, sizeof(bootstrap->fleet_id));
    bootstrap->ttl_max_ms = facts->closed_ttl_max_ms;
    bootstrap->readers = facts->closed_readers;
    bootstrap->extensions_max = facts->closed_extensions_max;
    if (bootstrap->highest < facts->closed_floor)
        bootstrap->highest = facts->closed_floor;
    bootstrap->closed++;
    bootstrap->skips |= fence_set_of(i);
    return true;
}

/* One that forgot is left as it is. So is one that votes in the fleet that follows. */
static bool take_open(struct fence_bootstrap *bootstrap, unsigned i)
{
    const struct fence_facts *facts = &bootstrap->seen[i];
    bool made_over = bootstrap->closed > 0 && strcmp(bootstrap->fleet_id, facts->fleet_id) != 0;
    if (!fence_bootstrap_is_blank(bootstrap, i) && !made_over)
        return fence_bootstrap_take_survivor(bootstrap, i);
    bootstrap->skips |= fence_set_of(i);
    return true;
}

static bool take_all(struct fence_bootstrap *bootstrap)
{
    for (unsigned i = 0; i < bootstrap->params.n; i++)
        if (is_closed(&bootstrap->seen[i]) && !take_closed(bootstrap, i))
            return false;
    for (unsigned i = 0; i < bootstrap->params.n; i++)
        if (!is_closed(&bootstrap->seen[i]) && !take_open(bootstrap, i))
            return false;
    return true;
}

/* One that an earlier run has claimed remembers, if it did so then. */
static void note_who_remembers(struct fence_bootstrap *bootstrap)
{
    bootstrap->keeps = fence_bootstrap_who_remembers(bootstrap);
    for (unsigned i = 0; i < bootstrap->params.n; i++) {
        const struct fence_facts *facts = &bootstrap->seen[i];
        if (facts->issued && facts->intact && (bootstrap->skips & fence_set_of(i)) == 0)
            bootstrap->keeps |= fence_set_of(i);
    }
}

bool fence_bootstrap_judge_closing(struct fence_bootstrap *bootstrap)
{
    if (!fence_bootstrap_judge_servers(bootstrap) || !take_all(bootstrap))
        return false;
    if (bootstrap->closed + bootstrap->survivors == 0)
        return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_NO_FLEET, 0);
    note_who_remembers(bootstrap);
    fence_bootstrap_note_predecessors(bootstrap);
    bootstrap->outcome.count = fence_set_count(bootstrap->keeps);
    if (bootstrap->closed == 0 && !bootstrap->params.is_known &&
        bootstrap->outcome.count < fence_majority(bootstrap->params.n))
        return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_FORGOTTEN, 0);
    return fence_bootstrap_set_closing_floor(bootstrap) && fence_bootstrap_set_view(bootstrap);
}

bool fence_bootstrap_knows_all_leases(const struct fence_bootstrap *bootstrap)
{
    return fence_set_count(bootstrap->keeps) == bootstrap->params.n;
}

void fence_bootstrap_note_lease(struct fence_bootstrap *bootstrap, uint32_t left_ms,
                                uint64_t now_us)
{
    const uint64_t until_us = now_us + fence_quarantine_us(left_ms);
    if (bootstrap->until_us < until_us)
        bootstrap->until_us = until_us;
}

bool fence_bootstrap_set_closing_floor(struct fence_bootstrap *bootstrap)
{
    if (!fence_bootstrap_set_floor(bootstrap, bootstrap->highest))
        return false;
    bootstrap->floor = bootstrap->outcome.seen; /* the fleet that follows adds the margin */
    return true;
}
