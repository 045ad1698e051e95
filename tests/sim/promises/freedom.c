#include "tests/sim/promises/freedom.h"

#include "fence/protocol/lease.h"
#include "tests/sim/world/world.h"

static uint64_t sooner(uint64_t a_us, uint64_t b_us)
{
    return a_us < b_us ? a_us : b_us;
}

static uint64_t held_until_us(const struct sim_world *world, unsigned machine, uint32_t resource)
{
    const struct sim_master *master = &world->machines[machine];
    const struct sim_lock *lock = &master->memory.locks[resource];
    if (lock->present)
        return sim_clock_when(&master->clock, lock->expires_us);
    return sooner(world->freedom.held_until_us[machine][resource], world->now_us);
}

void sim_freedom_note(struct sim_world *world, unsigned machine, uint32_t resource)
{
    world->freedom.held_until_us[machine][resource] = held_until_us(world, machine, resource);
    sim_listed_note(world, machine, resource);
    sim_watched_note(world, machine, resource);
}

void sim_freedom_note_all(struct sim_world *world, unsigned machine)
{
    for (uint32_t r = 0; r < SIM_RESOURCES_MAX; r++)
        sim_freedom_note(world, machine, r);
}

bool sim_freedom_is_held(const struct sim_world *world, unsigned machine, uint32_t resource)
{
    return held_until_us(world, machine, resource) > world->now_us;
}

/* Keeps the first @count of @sorted in order. */
static void insert(uint64_t *sorted, unsigned count, uint64_t us)
{
    unsigned k = count;
    for (; k > 0 && sorted[k - 1] > us; k--)
        sorted[k] = sorted[k - 1];
    sorted[k] = us;
}

uint64_t sim_freedom_since_us(const struct sim_world *world, unsigned s, uint32_t resource)
{
    uint32_t active = fence_fleet_active(fence_core_fleet(world->servers[s].core));
    uint64_t free_us[FENCE_MASTERS_MAX] = {0};
    unsigned count = 0;
    for (unsigned i = 0; i < world->plan.masters; i++) {
        const struct sim_link *link = &world->links[s][i];
        if (!(active >> i & 1) || link->state != SIM_LINK_OPEN)
            continue;
        uint64_t us = held_until_us(world, link->machine, resource);
        if (us <= world->now_us)
            insert(free_us, count++, us);
    }
    unsigned majority = fence_majority(world->plan.masters);
    return count < majority ? FENCE_NEVER : free_us[majority - 1];
}
