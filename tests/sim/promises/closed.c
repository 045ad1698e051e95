#include "tests/sim/promises/closed.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>

enum {
    DRIFT_PERCENT =
        3, /* drift of clocks, at the most: masters and the server that computes a validity */
    LEAST_MS = 20,
    PRIME = 7919, /* spreads numbers of locks */
};

/* A number below @below that belongs to @lock. */
static uint32_t drawn(uint32_t lock, uint32_t salt, uint32_t below)
{
    return (lock + 1) * PRIME * salt % below;
}

uint32_t sim_closed_delay_ms(const struct sim_world *world, uint32_t lock)
{
    const uint32_t room_ms = world->plan.ttl_high_ms / 2;
    if (drawn(lock, 3, 1000) >= world->plan.closes)
        return 0;
    return LEAST_MS + drawn(lock, 5, room_ms - LEAST_MS);
}

uint32_t sim_closed_keep_ms(const struct sim_world *world, uint32_t lock)
{
    if (drawn(lock, 7, 1000) >= world->plan.closes)
        return 0;
    return LEAST_MS + drawn(lock, 11, world->plan.ttl_high_ms);
}

void sim_closed_granted(struct sim_check *check, const struct sim_call *call, uint64_t now_us,
                        uint64_t until_us)
{
    for (unsigned k = 0; k < call->set.count; k++) {
        const uint32_t resource = call->set.resource[k];
        struct sim_closed *closed = &check->closed[resource];
        if (sim_grants_is_given_up(check, resource, call->lock) ||
            sim_broken_is_begun(check, resource, call->lock, call->set.token[k]))
            continue;
        if (check->remembers && closed->until_us > now_us && closed->lock != call->lock)
            sim_check_fail(check,
                           "K1: lock %" PRIu32 " of r%" PRIu32 " is granted, while lock %" PRIu32
                           " keeps the name closed for another %" PRIu64 " us",
                           call->lock, resource, closed->lock, closed->until_us - now_us);
        *closed = (struct sim_closed){.lock = call->lock};
        if (call->delay_ms == 0 || call->declined)
            continue;
        closed->until_us = until_us + call->delay_ms * UINT64_C(1000) * (100 - DRIFT_PERCENT) / 100;
    }
}

void sim_closed_leaves(struct sim_check *check, struct sim_call *call, uint64_t now_us)
{
    const uint32_t resource = call->set.resource[0];
    const struct sim_grants *grants = &check->grants[resource];
    const uint64_t kept_us = now_us + call->keep_ms * UINT64_C(1000) * (100 - DRIFT_PERCENT) / 100;
    if (check->closed[resource].lock == call->lock)
        check->closed[resource].until_us = 0;
    if (call->keep_ms > 0 && grants->holder == call->lock)
        call->closed_until_us = kept_us < grants->held_until_us ? kept_us : grants->held_until_us;
}

void sim_closed_left(struct sim_check *check, const struct sim_call *call)
{
    const uint32_t resource = call->set.resource[0];
    struct sim_closed *closed = &check->closed[resource];
    if (closed->lock == call->lock && check->broken[resource].highest == 0)
        closed->until_us = call->closed_until_us;
}

void sim_closed_opens(struct sim_check *check, uint32_t resource)
{
    check->closed[resource].until_us = 0;
}

void sim_closed_executed(struct sim_world *world, unsigned machine,
                         const struct sim_lock_request *request, const struct sim_reply *reply,
                         const struct sim_lock *before)
{
    const struct sim_master *master = &world->machines[machine];
    const uint32_t resource = request->set.resource[0];
    const struct sim_lock *lock = &master->memory.locks[resource];
    if (request->kind != FENCE_REQUEST_RELEASE || reply->kind != FENCE_REPLY_YES)
        return;
    world->stats.kept += lock->present;
    if (request->keep_ms == 0 && lock->present)
        sim_check_fail(&world->check,
                       "K2: lock %" PRIu32 " of r%" PRIu32 " was released, but is still there",
                       request->lock, resource);
    if (request->keep_ms > 0 && lock->present && lock->expires_us > before->expires_us)
        sim_check_fail(&world->check,
                       "K3: lock %" PRIu32 " of r%" PRIu32 " is kept closed beyond its end",
                       request->lock, resource);
}
