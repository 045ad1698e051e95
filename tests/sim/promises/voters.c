#include "tests/sim/promises/voters.h"

#include "fence/protocol/lease.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>

static int64_t own_incarnation(const struct sim_master *machine)
{
    return machine->memory.marker.view.incarnation[machine->member];
}

/* A handshake would call this active, had it no other master to ask. */
static bool looks_active(const struct sim_master *machine)
{
    const struct sim_marker *marker = &machine->memory.marker;
    return marker->present && marker->active && marker->run == machine->run &&
           marker->lineage == machine->lineage;
}

/* The machine that has member @i's vote: of those that look active the one that was admitted last,
 * if it was the last of all; the others can no more find a majority. NULL: none. */
static const struct sim_master *voter(struct sim_world *world, unsigned i)
{
    const struct sim_master *found = NULL;
    for (unsigned m = 0; m < world->machines_count; m++) {
        const struct sim_master *machine = &world->machines[m];
        if (machine->member != i || !looks_active(machine) ||
            own_incarnation(machine) < world->admitted[i])
            continue;
        world->admitted[i] = own_incarnation(machine);
        found = machine;
    }
    return found;
}

void sim_voters_check(struct sim_world *world)
{
    const struct sim_plan *plan = &world->plan;
    for (uint32_t r = 0; r < plan->resources; r++) {
        int64_t token = world->check.grants[r].highest;
        unsigned behind = 0;
        for (unsigned i = 0; i < plan->masters; i++) {
            const struct sim_master *machine = voter(world, i);
            behind += machine && sim_master_counter(machine, sim_master_slot(machine, r)) < token;
        }
        if (behind >= fence_majority(plan->masters))
            sim_check_fail(&world->check,
                           "P1: r%" PRIu32 " had token %" PRId64
                           ", but the counters of %u masters with a vote are lower",
                           r, token, behind);
    }
}

static bool is_superseded(const struct sim_world *world, unsigned i, int64_t incarnation)
{
    for (unsigned m = 0; m < world->machines_count; m++)
        if (world->machines[m].memory.marker.view.incarnation[i] > incarnation)
            return true;
    for (unsigned s = 0; s < world->plan.servers; s++)
        if (fence_core_fleet(world->servers[s].core)->view.incarnation[i] > incarnation)
            return true;
    return false;
}

/* A server that takes a member back may not know that another one did so already, and be about to
 * record a higher incarnation; so may one that still looks at a machine that was replaced, and what
 * is on its way from one that crashed. */
static bool may_be_superseded(const struct sim_world *world, unsigned i)
{
    for (unsigned m = 0; m < world->machines_count; m++)
        if (world->machines[m].member == i && world->machines[m].memory.marker.next != 0)
            return true;
    for (unsigned s = 0; s < world->plan.servers; s++) {
        const struct sim_link *link = &world->links[s][i];
        const struct fence_fleet *fleet = fence_core_fleet(world->servers[s].core);
        if (fleet->master[i].state == FENCE_MASTER_REJOIN)
            return true;
        if (link->state != SIM_LINK_CLOSED && link->machine != world->address[i])
            return true;
    }
    return sim_network_is_recording(&world->network, i);
}

bool sim_voters_is_in(const struct sim_world *world, unsigned i)
{
    const struct sim_master *machine = &world->machines[world->address[i]];
    bool comes_back = world->plan.kind != SIM_BLACKOUT || machine->memory.marker.durable;
    return looks_active(machine) && !sim_master_undurable(machine) && comes_back &&
           !is_superseded(world, i, own_incarnation(machine)) && !may_be_superseded(world, i);
}

bool sim_voters_can_spare(const struct sim_world *world, unsigned i)
{
    unsigned others_in = 0;
    for (unsigned j = 0; j < world->plan.masters; j++)
        others_in += j != i && sim_voters_is_in(world, j);
    return others_in >= fence_majority(world->plan.masters);
}
