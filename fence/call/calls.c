#include "fence/call/calls.h"

#include "fence/call/admit.h"
#include "fence/call/call_move.h"
#include "fence/protocol/name.h"
#include "fence/protocol/owner.h"
#include "fence/protocol/seat.h"
#include "fence/state/output.h"

#include <assert.h>
#include <string.h>

/* A writer asks for the gate first. It is shown by its seats. */
static unsigned seats_of(const struct fence_core *core, const struct fence_call *asked)
{
    switch (asked->mode) {
    case FENCE_MODE_READ:
        return core->fleet.readers;
    case FENCE_MODE_WRITE:
        return asked->kind == FENCE_CALL_INSPECT ? core->fleet.readers : 0;
    default:
        return asked->seats;
    }
}

/* The queue for the seats of a name has the '#', as a lock of that name may have a queue, too. */
static void name_queue(struct call *call)
{
    const char mark[] = {FENCE_SEAT_MARK, '\0'};
    const size_t len = strlen(call->resource);
    assert(len <= FENCE_SEATS_NAME_MAX);
    memcpy(call->resource + len, mark, sizeof(mark));
}

struct call *core_open(struct fence_core *core, const struct fence_call *asked)
{
    uint32_t index = fence_pool_take(&core->pool);
    assert(index != FENCE_POOL_NONE);
    struct call *call = &core->calls[index];
    assert(call->state == CALL_FREE);
    *call = (struct call){
        .state = CALL_FREE,
        .kind = asked->kind,
        .origin = asked->origin,
        .slot = (uint16_t)fence_slot(asked->resource, strlen(asked->resource)),
        .seats = (uint8_t)seats_of(core, asked),
        .mode = asked->mode,
        .ttl_ms = asked->ttl_ms,
        .delay_ms = fence_owner_delay_ms(asked->owner),
        .keep_ms = asked->keep_ms,
        .token = asked->token,
        .client = asked->client,
        .arrived_us = core->now_us,
        .wait_until_us = asked->wait_ms ? core->now_us + asked->wait_ms * UINT64_C(1000) : 0,
        .group = FENCE_NOBODY,
        .idempotent = asked->idempotent,
        .covers = asked->covers,
    };
    if (call->kind == FENCE_CALL_ACQUIRE)
        call->acquire.place = FENCE_NOBODY;
    if (call->kind == FENCE_CALL_COUNT)
        call->count.values = asked->count;
    core_copy_text(call->resource, sizeof(call->resource), asked->resource);
    if (call->seats > 0)
        name_queue(call);
    else if (call->mode == FENCE_MODE_WRITE)
        fence_gate_write(call->resource);
    core_copy_text(call->lock_id, sizeof(call->lock_id), asked->lock_id);
    core_copy_text(call->owner, sizeof(call->owner), asked->owner);
    return call;
}

void core_finish(struct fence_core *core, struct call *call)
{
    assert(call->state != CALL_FREE);
    core_wake_at(core, call, FENCE_NEVER);
    if (call->state == CALL_ADMITTING)
        core_admit_leave(core, call);
    core_call_move(call, CALL_FREE);
    fence_pool_give(&core->pool, core_index(core, call));
}
