#include "tests/sim/world/maintain.h"

#include "fence/protocol/lease.h"
#include "tests/sim/world/faults.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>

enum {
    EXTENSIONS_A_LEASE = 5,
    TRIES_MAX = 8,
    UNKNOWN_MAX = 2, /* then the lease is about to end */
};

static struct sim_call *ask(struct sim_world *world, enum fence_call_kind kind)
{
    struct sim_maintain *maintain = &world->maintain;
    struct sim_call *call = sim_check_new_call(&world->check);
    if (!call) { /* the world has had enough */
        maintain->over = true;
        return NULL;
    }
    call->kind = kind;
    call->client = SIM_MAINTAIN;
    call->server = maintain->turns++ % world->plan.servers;
    call->set = maintain->set;
    call->lock =
        kind == FENCE_CALL_ACQUIRE ? (uint32_t)(call - world->check.calls) : maintain->lock;
    call->ttl_ms = world->plan.ttl_high_ms;
    return call;
}

static void go_on_soon(struct sim_world *world)
{
    struct sim_event event = {.kind = SIM_EVENT_MAINTAIN};
    uint64_t lease_us = world->plan.ttl_high_ms * UINT64_C(1000);
    sim_world_schedule(world, lease_us / EXTENSIONS_A_LEASE, &event);
}

static void acquire(struct sim_world *world)
{
    struct sim_maintain *maintain = &world->maintain;
    struct sim_call *call = ask(world, FENCE_CALL_ACQUIRE);
    if (!call)
        return;
    maintain->lock = call->lock;
    sim_server_call(world, call->server, call);
}

void sim_maintain_begin(struct sim_world *world)
{
    world->maintain = (struct sim_maintain){.set = {.count = 1, .resource = {0}}};
    acquire(world);
}

static bool majority_has_it(const struct sim_world *world)
{
    const struct sim_maintain *maintain = &world->maintain;
    unsigned count = 0;
    for (unsigned i = 0; i < world->plan.masters; i++) {
        const struct sim_lock *lock = &world->machines[world->address[i]].memory.locks[0];
        count +=
            lock->present && lock->lock == maintain->lock && lock->number <= maintain->set.token[0];
    }
    return count >= fence_majority(world->plan.masters);
}

/* Reports whether a server is connected to a machine that was replaced, and keeps the lock on too
 * few. */
static bool some_are_misled(struct sim_world *world)
{
    for (unsigned s = 0; s < world->plan.servers; s++)
        for (unsigned i = 0; i < world->plan.masters; i++)
            if (sim_link_of(world, s, i)->machine != world->address[i])
                return true;
    return false;
}

static bool all_active(const struct sim_world *world)
{
    for (unsigned s = 0; s < world->plan.servers; s++)
        if (fence_fleet_active_count(fence_core_fleet(world->servers[s].core)) <
            world->plan.masters)
            return false;
    return true;
}

static void release(struct sim_world *world)
{
    sim_grants_given_up(&world->check, 0, world->maintain.lock, world->now_us);
    struct sim_call *call = ask(world, FENCE_CALL_RELEASE);
    if (call)
        sim_server_call(world, call->server, call);
}

void sim_maintain_go_on(struct sim_world *world)
{
    struct sim_maintain *maintain = &world->maintain;
    if (maintain->over)
        return;
    maintain->agreed = maintain->agreed || majority_has_it(world);
    if (!maintain->agreed || some_are_misled(world)) {
        maintain->over = ++maintain->tries >= TRIES_MAX;
        release(world);
        return;
    }
    if (all_active(world) && maintain->next == world->plan.masters) {
        maintain->over = true;
        world->stats.maintained++;
        release(world);
        return;
    }
    if (all_active(world) && maintain->unknown == 0)
        sim_faults_restart_empty(world, maintain->next++);
    struct sim_call *call = ask(world, FENCE_CALL_EXTEND);
    if (call)
        sim_server_call(world, call->server, call);
}

/* If clocks run as they like, a lease may end on one master before the next extension. */
static bool may_fail(const struct sim_world *world, const struct sim_call *call)
{
    return !world->plan.sane && call->kind == FENCE_CALL_EXTEND;
}

void sim_maintain_answered(struct sim_world *world, const struct sim_call *call)
{
    struct sim_maintain *maintain = &world->maintain;
    if (call->error && may_fail(world, call)) {
        maintain->over = true;
        return;
    }
    bool unknown = call->kind == FENCE_CALL_EXTEND &&
                   (call->error == FENCE_ENOQUORUM || call->error == FENCE_ETOOSLOW);
    maintain->unknown = unknown ? maintain->unknown + 1 : 0;
    if (call->error && (!unknown || maintain->unknown > UNKNOWN_MAX))
        sim_check_fail(&world->check,
                       "P3: lock %" PRIu32 " is not kept while masters are replaced: %s",
                       call->lock, fence_strerror(call->error));
    if (call->kind == FENCE_CALL_ACQUIRE || call->anew)
        maintain->set = call->set;
    if (call->kind == FENCE_CALL_RELEASE && !maintain->over)
        acquire(world);
    else if (call->kind != FENCE_CALL_RELEASE)
        go_on_soon(world);
}

void sim_maintain_check(struct sim_world *world)
{
    if (world->plan.maintains && !world->maintain.over)
        sim_check_fail(&world->check, "P3: master %u, which was replaced, is not taken back",
                       world->maintain.next - 1);
}
