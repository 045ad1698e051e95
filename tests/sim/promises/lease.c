#include "tests/sim/promises/lease.h"

#include "fence/protocol/lease.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>

static bool has_until(const struct sim_master *master, uint32_t resource, uint32_t id,
                      uint64_t until_us)
{
    const struct sim_lock *lock = &master->memory.locks[resource];
    return lock->present && lock->lock == id &&
           sim_clock_when(&master->clock, lock->expires_us) >= until_us;
}

void sim_lease_check(struct sim_world *world, const struct sim_call *call, uint64_t until_us)
{
    if (call->error || !sim_plan_remembers(&world->plan))
        return;
    for (unsigned k = 0; k < call->set.count; k++) {
        uint32_t resource = call->set.resource[k];
        unsigned masters = 0;
        for (unsigned i = 0; i < world->plan.masters; i++)
            masters += has_until(&world->machines[i], resource, call->lock, until_us);
        if (masters < fence_majority(world->plan.masters) &&
            !sim_grants_is_given_up(&world->check, resource, call->lock) &&
            !sim_broken_is_begun(&world->check, resource, call->lock, call->set.token[k]))
            sim_check_fail(&world->check,
                           "P2: lock %" PRIu32 " of r%" PRIu32
                           " is valid beyond its lease: %u masters have it so long",
                           call->lock, resource, masters);
    }
}
