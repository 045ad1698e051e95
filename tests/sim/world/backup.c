#include "tests/sim/world/backup.h"

#include "tests/sim/promises/voters.h"
#include "tests/sim/world/world.h"

static struct sim_master *master_at(struct sim_world *world, unsigned i)
{
    return &world->machines[world->address[i]];
}

/* Reports whether each server counts on all masters now, and may. A fleet that does not could trust
 * the disk of one that comes back, where it should ask the others: for want of them. */
static bool all_are_active(const struct sim_world *world)
{
    uint32_t all = (UINT32_C(1) << world->plan.masters) - 1;
    for (unsigned i = 0; i < world->plan.masters; i++)
        if (!sim_voters_is_in(world, i))
            return false;
    for (unsigned s = 0; s < world->plan.servers; s++)
        if (fence_fleet_active(fence_core_fleet(world->servers[s].core)) != all)
            return false;
    return true;
}

static struct fence_position position_of_copy(struct sim_world *world, unsigned i)
{
    const struct sim_marker *copy = &master_at(world, i)->copy.marker;
    return (struct fence_position){
        .incarnation = copy->active ? copy->view.incarnation[i] : copy->next,
        .writes = copy->writes,
    };
}

/* Reports whether each other master was told of writes that the copy of master @i lacks. Then
 * a server that has to believe its disk for want of others hears of them, as it asks one of
 * those. */
static bool all_were_told(struct sim_world *world, unsigned i)
{
    for (unsigned j = 0; j < world->plan.masters; j++)
        if (j != i && !fence_position_is_behind(position_of_copy(world, i),
                                                master_at(world, j)->memory.marker.heard.of[i]))
            return false;
    return true;
}

/* Reports whether a server knows of such writes, and nothing keeps it from telling. */
static bool one_can_tell(struct sim_world *world, unsigned i)
{
    static const enum sim_fault hindrances[] = {
        SIM_FAULT_BREAK, SIM_FAULT_HALF_OPEN, SIM_FAULT_SERVER_CRASH, SIM_FAULT_SERVER_PAUSE,
        SIM_FAULT_CUT,   SIM_FAULT_SLOW,      SIM_FAULT_CLOCK_JUMP};
    for (unsigned f = 0; f < sizeof(hindrances) / sizeof(hindrances[0]); f++)
        if (world->plan.permille[hindrances[f]] > 0)
            return false;
    for (unsigned s = 0; s < world->plan.servers; s++)
        if (world->plan.sane &&
            fence_position_is_behind(position_of_copy(world, i),
                                     fence_core_fleet(world->servers[s].core)->known.of[i]))
            return true;
    return false;
}

/* Reports whether no server and no master knows of a write that the copy lacks: what was lost was
 * seen by no server. Then its disk may be believed. A server that crashed may have seen a write,
 * granted on it, and died before it told anybody: no client can know then. */
static bool nobody_saw(struct sim_world *world, unsigned i)
{
    const struct fence_position copy = position_of_copy(world, i);
    if (!world->plan.sane || world->plan.permille[SIM_FAULT_SERVER_CRASH] > 0)
        return false;
    for (unsigned s = 0; s < world->plan.servers; s++)
        if (fence_position_is_behind(copy, fence_core_fleet(world->servers[s].core)->known.of[i]))
            return false;
    for (unsigned j = 0; j < world->plan.masters; j++)
        if (fence_position_is_behind(copy, master_at(world, j)->memory.marker.heard.of[i]))
            return false;
    return true;
}

bool sim_backup_may_return(struct sim_world *world, unsigned i)
{
    if (world->plan.kind != SIM_OLD_DISK)
        return all_are_active(world);
    return master_at(world, i)->copy.marker.present &&
           (all_were_told(world, i) || one_can_tell(world, i) || nobody_saw(world, i));
}
