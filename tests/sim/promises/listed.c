#include "tests/sim/promises/listed.h"

#include "fence/base/set.h"
#include "fence/protocol/lease.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

static const struct sim_lock *lock_at(const struct sim_world *world, unsigned machine,
                                      uint32_t resource)
{
    return &world->machines[machine].memory.locks[resource];
}

static uint64_t local_us(const struct sim_world *world, unsigned machine)
{
    return sim_clock_read(&world->machines[machine].clock, world->now_us);
}

/* Reports whether the lock that was there is there still. One that was lost and taken again under
 * the same lock id was counted again; so was one that is being confirmed, which is not meant. */
static bool is_same(const struct sim_world *world, unsigned machine, const struct sim_seen *seen,
                    const struct sim_lock *lock)
{
    return seen->present && lock->present && seen->lock == lock->lock &&
           seen->number == lock->number && seen->expires_us > local_us(world, machine);
}

void sim_listed_note(struct sim_world *world, unsigned machine, uint32_t resource)
{
    struct sim_listed *listed = &world->listing.listed;
    if (!listed->under_way)
        return;
    struct sim_seen *seen = &listed->seen[machine][resource];
    const struct sim_lock *lock = lock_at(world, machine, resource);
    if (!is_same(world, machine, seen, lock)) {
        seen->kept = false;
        if (lock->present)
            listed->gained[lock->lock] |= (uint8_t)(1U << resource);
    }
    if (lock->present)
        listed->had[resource][lock->lock] |= (uint16_t)(1U << world->machines[machine].member);
    seen->present = lock->present;
    seen->lock = lock->lock;
    seen->number = lock->number;
    seen->expires_us = lock->expires_us;
}

static void note_all(struct sim_world *world)
{
    for (unsigned m = 0; m < world->machines_count; m++)
        for (uint32_t r = 0; r < world->plan.resources; r++)
            sim_listed_note(world, m, r);
}

/* ---- beginning ------------------------------------------------------------------------------- */

void sim_listed_begin(struct sim_world *world)
{
    struct sim_listed *listed = &world->listing.listed;
    memset(listed, 0, sizeof(*listed));
    listed->under_way = true;
    listed->steady = (UINT32_C(1) << world->plan.masters) - 1;
    memcpy(listed->machine, world->address, sizeof(listed->machine));
    note_all(world);
    memset(listed->gained, 0, sizeof(listed->gained));
    for (unsigned m = 0; m < world->machines_count; m++)
        for (uint32_t r = 0; r < world->plan.resources; r++)
            listed->seen[m][r].kept = listed->seen[m][r].present;
}

void sim_listed_page_begins(struct sim_world *world, unsigned s)
{
    struct sim_listed *listed = &world->listing.listed;
    memset(listed->had, 0, sizeof(listed->had));
    memset(listed->unheard, 0, sizeof(listed->unheard));
    note_all(world);
    for (unsigned i = 0; i < world->plan.masters; i++) {
        const struct sim_link *link = sim_link_of(world, s, i);
        if (link->state != SIM_LINK_CLOSED && link->machine != listed->machine[i])
            listed->steady &= ~(UINT32_C(1) << i);
    }
}

void sim_listed_connected(struct sim_world *world, unsigned i)
{
    struct sim_listed *listed = &world->listing.listed;
    if (listed->under_way && world->address[i] != listed->machine[i])
        listed->steady &= ~(UINT32_C(1) << i);
}

/* ---- L2 -------------------------------------------------------------------------------------- */

void sim_listed_inspected(struct sim_world *world, uint32_t resource, unsigned unheard)
{
    struct sim_listed *listed = &world->listing.listed;
    if (listed->unheard[resource] < unheard)
        listed->unheard[resource] = unheard;
}

void sim_listed_page(struct sim_world *world, const struct fence_listing_answer *page)
{
    struct sim_listed *listed = &world->listing.listed;
    const unsigned majority = fence_majority(world->plan.masters);
    note_all(world);
    for (size_t k = 0; k < page->count; k++) {
        const char *owner = page->locks[k].owner;
        uint32_t resource = sim_resource_number(page->locks[k].resource);
        uint32_t lock = owner[0] ? sim_owner_number(owner) : SIM_TOMBSTONE;
        unsigned had = (unsigned)__builtin_popcount(listed->had[resource][lock]);
        if (had == 0 || had + listed->unheard[resource] < majority)
            sim_check_fail(&world->check,
                           "L2: r%" PRIu32 " is listed as held by lock %" PRIu32
                           ", which no majority had",
                           resource, lock);
        listed->listed[lock] |= (uint8_t)(1U << resource);
        world->stats.locks_listed++;
    }
}

/* ---- L1 -------------------------------------------------------------------------------------- */

/* Reports whether master @i has had the lock of @resource under one lock id all the time. */
static bool is_kept(const struct sim_world *world, unsigned i, uint32_t resource,
                    uint32_t *ret_lock)
{
    const struct sim_listed *listed = &world->listing.listed;
    unsigned machine = listed->machine[i];
    const struct sim_seen *seen = &listed->seen[machine][resource];
    if (!(listed->steady >> i & 1) || !seen->kept || seen->expires_us <= local_us(world, machine))
        return false;
    *ret_lock = seen->lock;
    return true;
}

static void check_listed(struct sim_world *world, uint32_t resource)
{
    const struct sim_listed *listed = &world->listing.listed;
    unsigned votes[FENCE_MASTERS_MAX] = {0};
    if (listed->steady != fence_set_below(world->plan.masters))
        return; /* a step on a machine counts as walked on the one in its place */
    for (unsigned i = 0; i < world->plan.masters; i++) {
        uint32_t lock = 0;
        uint32_t other = 0;
        if (!is_kept(world, i, resource, &lock))
            continue;
        for (unsigned j = 0; j < world->plan.masters; j++)
            votes[i] += is_kept(world, j, resource, &other) && other == lock;
        bool promised = votes[i] >= fence_majority(world->plan.masters) && lock != SIM_TOMBSTONE &&
                        !(listed->gained[lock] >> resource & 1);
        if (!promised)
            continue;
        world->stats.locks_promised++;
        if (!(listed->listed[lock] >> resource & 1))
            sim_check_fail(&world->check,
                           "L1: r%" PRIu32 " is not listed, although lock %" PRIu32
                           " held it from before the first page until after the last page",
                           resource, lock);
        return;
    }
}

void sim_listed_end(struct sim_world *world)
{
    for (uint32_t r = 0; r < world->plan.resources; r++)
        check_listed(world, r);
    world->listing.listed.under_way = false;
}

void sim_listed_give_up(struct sim_world *world)
{
    world->listing.listed.under_way = false;
}
