#include "fence/call/writer_gate.h"

#include "fence/base/minmax.h"
#include "fence/call/attempts.h"
#include "fence/call/seating.h"
#include "fence/call/waiting.h"
#include "fence/protocol/lock_id.h"
#include "fence/protocol/seat.h"
#include "fence/state/output.h"

#include <assert.h>
#include <string.h>

/* All seats of the name that @call asks for. */
static void name_seats(const struct fence_core *core, const struct call *call,
                       struct fence_group *ret_group)
{
    ret_group->count = core->fleet.readers;
    for (unsigned k = 0; k < ret_group->count; k++) {
        struct fence_group_lock *lock = &ret_group->locks[k];
        lock->token = 0;
        lock->hint = 0;
        lock->slot = call->slot;
        core_copy_text(lock->resource, sizeof(lock->resource), call->resource);
        fence_seat_write(lock->resource, k);
    }
}

bool core_gate_pass(struct fence_core *core, struct call *call)
{
    struct fence_group seats;
    assert(core_writes(call) && !core_has_gate(call));
    if (core_groups_full(&core->groups))
        return false;
    core_attempt_settle(core, call);
    core_holder_hint_held(core_hint(core, call),
                          core->now_us + core_attempt_lease_ms(call) * UINT64_C(1000),
                          fence_lock_id_hash(call->lock_id), call->owner);
    core_answer_queue(core, call);
    call->acquire.gate_token = call->taking.attempt.votes.each[0].token;
    call->acquire.gate_us = call->taking.attempt.began_us;
    name_seats(core, call, &seats);
    core_step_out(core, call);
    core_seat_drop(call);
    call->group = core_groups_open(&core->groups, &seats, core_index(core, call));
    call->tries = 0;
    return true;
}

static char *gate_name(struct fence_core *core, const char *resource)
{
    char *name = core->seats.gate;
    core_copy_text(name, sizeof(core->seats.gate), resource);
    fence_gate_write(name);
    return name;
}

void core_gate_extend(struct fence_core *core, struct call *call)
{
    const uint64_t part_us = call->ttl_ms * UINT64_C(1000) / FENCE_GATE_PARTS;
    assert(core_has_gate(call));
    if (core->now_us < call->acquire.gate_us + part_us)
        return;
    call->acquire.gate_us = core->now_us;
    const struct fence_request request = {
        .kind = FENCE_REQUEST_EXTEND,
        .resource = gate_name(core, call->resource),
        .lock_id = call->lock_id,
        .owner = "",
        .token = call->acquire.gate_token,
        .ttl_ms = call->ttl_ms,
        .extend.extensions_max = FENCE_EXTENSIONS_CEILING,
        .slot = call->slot,
    };
    core_send(core, fence_fleet_active(&core->fleet), &request);
}

void core_gate_release(struct fence_core *core, const char *resource, const char *lock_id)
{
    const struct fence_request request = {
        .kind = FENCE_REQUEST_RELEASE,
        .resource = gate_name(core, resource),
        .release.covers = true,
        .lock_id = lock_id,
        .owner = "",
    };
    core_send(core, fence_fleet_active(&core->fleet), &request);
}

int64_t core_gate_token(const struct fence_group *seats)
{
    int64_t greatest = 0;
    for (unsigned k = 0; k < seats->count; k++)
        greatest = fence_max_signed(greatest, seats->locks[k].token);
    return greatest;
}
