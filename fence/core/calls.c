#include "fence/core/calls.h"

#include "fence/core/admit.h"
#include "fence/core/call_move.h"
#include "fence/core/output.h"
#include "fence/protocol/name.h"

#include <assert.h>
#include <string.h>

struct call *core_open(struct fence_core *core, const struct fence_call *asked)
{
    uint32_t index = fence_pool_take(&core->pool);
    assert(index != FENCE_POOL_NONE);
    struct call *call = &core->calls[index];
    call->kind = asked->kind;
    call->origin = asked->origin;
    call->client = asked->client;
    call->arrived_us = core->now_us;
    call->wait_until_us = asked->wait_ms ? core->now_us + asked->wait_ms * UINT64_C(1000) : 0;
    call->ttl_ms = asked->ttl_ms;
    call->token = asked->token;
    call->group = FENCE_NOBODY;
    call->place = FENCE_NOBODY;
    call->idempotent = asked->idempotent;
    call->count = asked->count;
    call->hint = 0;
    call->tries = 0;
    call->waited = false;
    call->confirmed = false;
    call->regrant_us = 0;
    call->soon = 0;
    call->soon_holder = 0;
    call->unbacked = 0;
    call->slot = (uint16_t)fence_slot(asked->resource, strlen(asked->resource));
    core_copy_text(call->resource, sizeof(call->resource), asked->resource);
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
