#include "tests/sim/promises/attempts.h"

#include "fence/protocol/lease.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>

struct sim_call *sim_attempts_call(struct sim_world *world, const struct fence_request *request)
{
    return &world->check.calls[sim_owner_number(request->owner)];
}

bool sim_attempts_is_of_acquire(const struct fence_request *request)
{
    return sim_owner_is_calls(request->owner);
}

/* Masters that were told of the attempt on a connection that still stands, and are active: at any
 * time since a clean-up could have gone to them. */
static unsigned reachable(struct sim_world *world, const struct sim_call *call)
{
    uint32_t active = fence_fleet_active(fence_core_fleet(world->servers[call->server].core));
    unsigned count = 0;
    for (unsigned i = 0; i < world->plan.masters; i++)
        count += (call->sent & active) >> i & 1 &&
                 sim_link_of(world, call->server, i)->generation == call->generation[i];
    return count;
}

static void check_cleaned_up(struct sim_world *world, const struct sim_call *call)
{
    if (call->attempt != 0 && reachable(world, call) >= fence_majority(world->plan.masters))
        sim_check_fail(&world->check,
                       "P3: lock %" PRIu32 " does not take its attempt %04x back before it goes on",
                       call->lock, (unsigned)(call->attempt & 0xffff));
}

static void begin(struct sim_world *world, unsigned s, const struct fence_request *request,
                  uint32_t masters)
{
    struct sim_call *call = sim_attempts_call(world, request);
    bool hedges = call->attempt == request->attempt;
    if (call->mode == FENCE_MODE_WRITE && request->group && !call->passed) {
        call->passed = true;
        call->attempt = 0; /* it has the gate, and keeps it */
    }
    if (!hedges)
        check_cleaned_up(world, call);
    call->attempt = request->attempt;
    world->stats.hedges += hedges;
    call->sent = hedges ? call->sent | masters : masters;
    for (unsigned i = 0; i < world->plan.masters; i++)
        if (masters >> i & 1)
            call->generation[i] = sim_link_of(world, s, i)->generation;
    for (unsigned i = 0; i < FENCE_MASTERS_MAX && !hedges; i++)
        call->named[i] = SIM_NO_LOCK;
}

/* Of an attempt that won, masters that do not count are told alone. */
static void end(struct sim_world *world, const struct fence_request *request, uint32_t masters)
{
    for (uint32_t id = sim_lock_number(request->lock_id); id < world->check.calls_count; id++) {
        struct sim_call *call = &world->check.calls[id];
        if (call->attempt != request->attempt)
            continue;
        uint32_t active = fence_fleet_active(fence_core_fleet(world->servers[call->server].core));
        call->sent &= ~masters;
        if ((call->sent & active) == 0)
            call->attempt = 0;
    }
}

void sim_attempts_sent(struct sim_world *world, unsigned s, const struct fence_request *request,
                       uint32_t masters)
{
    if (request->kind == FENCE_REQUEST_TAKE && sim_attempts_is_of_acquire(request))
        begin(world, s, request, masters);
    else if (request->kind == FENCE_REQUEST_UNDO)
        end(world, request, masters);
}

void sim_attempts_answered(struct sim_world *world, struct sim_call *call)
{
    /* A writer whose wait ends as it gets the gate keeps the gate for its next step, or releases it
     * by its lock id. */
    const bool has_gate =
        call->mode == FENCE_MODE_WRITE && !call->passed && call->error == FENCE_EWAITTIMEOUT;
    if (call->error && !has_gate)
        check_cleaned_up(world, call);
    call->attempt = 0;
}
