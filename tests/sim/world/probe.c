#include "tests/sim/world/probe.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>

enum {
    WAIT_MS = 20 * 1000,  /* for groups: longer than all others take together */
    AGAIN_US = 10 * 1000, /* after the first grant, when no TAKE is on its way any more */
};

static struct sim_call *ask(struct sim_world *world, unsigned s, unsigned client,
                            enum fence_call_kind kind, const struct sim_set *set)
{
    struct sim_call *call = sim_check_new_call(&world->check);
    if (!call)
        return NULL;
    call->kind = kind;
    call->client = client;
    call->server = s;
    call->set = *set;
    call->lock = (uint32_t)(call - world->check.calls);
    call->ttl_ms = world->plan.ttl_high_ms;
    if (kind == FENCE_CALL_ACQUIRE && world->plan.seats)
        call->seats = world->plan.resources;
    return call;
}

static struct sim_set one(uint32_t resource)
{
    return (struct sim_set){.count = 1, .resource = {resource}};
}

void sim_probe_nudge(struct sim_world *world, unsigned s)
{
    struct sim_set any = one(0);
    struct sim_call *call = ask(world, s, SIM_NUDGE, FENCE_CALL_INSPECT, &any);
    if (call)
        sim_server_call(world, s, call);
}

/* ---- one at a time, under its own lock id ------------------------------------------------- */

void sim_probe_one(struct sim_world *world, uint32_t resource)
{
    struct sim_probe *probe = &world->probes[0];
    unsigned s = resource % world->plan.servers;
    *probe = (struct sim_probe){.set = one(resource)};
    struct sim_call *call = ask(world, s, SIM_PROBE, FENCE_CALL_ACQUIRE, &probe->set);
    if (!call)
        return;
    probe->lock = call->lock;
    call->idempotent = true;
    sim_server_call(world, s, call);
}

void sim_probe_again(struct sim_world *world, uint32_t resource)
{
    struct sim_probe *probe = &world->probes[0];
    unsigned s = (resource + 1) % world->plan.servers;
    struct sim_call *call = ask(world, s, SIM_PROBE, FENCE_CALL_ACQUIRE, &probe->set);
    if (!call)
        return;
    probe->has_found = true;
    call->lock = probe->lock;
    call->idempotent = true;
    sim_server_call(world, s, call);
    SIM_SAY(world, "lock %" PRIu32 " of r%" PRIu32 " is asked for again at server %u", call->lock,
            resource, s);
}

/* ---- several, everywhere ------------------------------------------------------------------ */

/* Each shares one with the next. */
static struct sim_set overlapping(const struct sim_plan *plan, unsigned p)
{
    struct sim_set set = {.count = p + 1 < plan->servers ? 2 : plan->resources};
    for (unsigned k = 0; k < set.count; k++)
        set.resource[k] = (p + k) % plan->resources;
    return set;
}

void sim_probe_groups(struct sim_world *world)
{
    for (unsigned s = 0; s < world->plan.servers; s++) {
        struct sim_probe *probe = &world->probes[s];
        *probe = (struct sim_probe){.set = overlapping(&world->plan, s)};
        struct sim_call *call = ask(world, s, SIM_PROBE + s, FENCE_CALL_ACQUIRE, &probe->set);
        if (!call)
            return;
        probe->lock = call->lock;
        call->idempotent = s % 2 == 1;
        call->wait_ms = WAIT_MS;
        sim_server_call(world, s, call);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

static void release_next(struct sim_world *world, unsigned p)
{
    struct sim_probe *probe = &world->probes[p];
    if (probe->at == probe->set.count)
        return;
    uint32_t resource = probe->set.resource[probe->at++];
    struct sim_set set = one(resource);
    unsigned s = p % world->plan.servers;
    struct sim_call *call = ask(world, s, SIM_PROBE + p, FENCE_CALL_RELEASE, &set);
    if (!call)
        return;
    call->lock = probe->lock;
    sim_grants_given_up(&world->check, resource, probe->lock, world->now_us);
    struct sim_event event = {
        .kind = SIM_EVENT_CALL,
        .server = (uint8_t)s,
        .id = (uint32_t)(call - world->check.calls),
    };
    sim_world_schedule(world, 1, &event);
}

static void ask_again_soon(struct sim_world *world, uint32_t resource)
{
    struct sim_event event = {.kind = SIM_EVENT_PROBE_AGAIN, .id = resource};
    sim_world_schedule(world, AGAIN_US, &event);
}

/* Reports whether a retry asks the masters that have it: no others, and none that a machine was
 * replaced of.
 */
static bool all_ask_the_same(const struct sim_world *world)
{
    return world->plan.ask == FENCE_ASK_ALL && sim_plan_remembers(&world->plan);
}

static void acquired(struct sim_world *world, unsigned p, const struct sim_call *call)
{
    struct sim_probe *probe = &world->probes[p];
    char set[SIM_SET_TEXT_MAX];
    sim_set_text(&call->set, set);
    if (!call->error && call->seats > 0 && !probe->has_found)
        probe->set = call->set;
    if (call->error && probe->has_found)
        sim_check_fail(&world->check,
                       "P3: all is well again, but lock %" PRIu32 " does not find its %s: %s",
                       call->lock, set, fence_strerror(call->error));
    else if (call->error)
        sim_check_fail(&world->check, "P3: all is well again, but %s is not free: %s", set,
                       fence_strerror(call->error));
    else if (probe->has_found && !call->found && all_ask_the_same(world))
        sim_check_fail(&world->check, "P3: all is well, but lock %" PRIu32 " took %s anew",
                       call->lock, set);
    else if (probe->has_found && call->set.resource[0] != probe->set.resource[0])
        sim_check_fail(&world->check,
                       "P3: lock %" PRIu32 " has a seat, but took %s when it asked again",
                       call->lock, set);
    else if (call->set.count == 1 && !probe->has_found)
        ask_again_soon(world, call->set.resource[0]);
    else
        release_next(world, p);
}

void sim_probe_answered(struct sim_world *world, const struct sim_call *call)
{
    if (call->client < SIM_PROBE)
        return;
    if (call->kind == FENCE_CALL_ACQUIRE)
        acquired(world, call->client - SIM_PROBE, call);
    else if (call->error)
        sim_check_fail(&world->check, "P3: all is well again, but a lock is not released: %s",
                       fence_strerror(call->error));
    else
        release_next(world, call->client - SIM_PROBE);
}
