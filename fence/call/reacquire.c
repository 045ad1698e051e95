#include "fence/call/reacquire.h"

#include "fence/base/minmax.h"
#include "fence/call/attempts.h"
#include "fence/call/call_move.h"
#include "fence/call/calls.h"
#include "fence/call/watch.h"
#include "fence/protocol/lease.h"
#include "fence/protocol/owner.h"
#include "fence/state/output.h"

#include <assert.h>
#include <string.h>

void core_extend_as(const struct fence_core *core, struct call *call, const char *owner)
{
    assert(call->ttl_ms <= core->fleet.ttl_max_ms);
    const uint32_t most_ms = core->fleet.ttl_max_ms - call->ttl_ms;
    const uint32_t delay_ms = fence_owner_delay_ms(owner);
    core_copy_text(call->owner, sizeof(call->owner), owner);
    call->delay_ms = delay_ms < most_ms ? delay_ms : most_ms;
}

bool core_reacquire_helps(const struct call *call)
{
    return call->extend.regrant_us == 0 &&
           (fence_quorum_call_stands(&call->vote) || fence_quorum_call_is_below(&call->vote));
}

/* Nothing is certain: the old validity stands, and the client may ask again. */
static void answer_unknown(struct fence_core *core, struct call *call, int error)
{
    struct fence_answer *answer = core_answer(core, call, error);
    memcpy(answer->parts, call->taking.attempt.tally.parts, sizeof(answer->parts));
    answer->lease.granted = fence_tally_count(&call->taking.attempt.tally, FENCE_PART_GRANTED);
    core_finish(core, call);
}

/* Another attempt may do better where a copy ended in the middle of this one, or views changed. */
static void try_again_or_answer(struct fence_core *core, struct call *call)
{
    unsigned only = 0;
    int error = fence_attempt_error(&call->taking.attempt, &only);
    core_attempt_undo(core, call);
    core->counts.contended += error == FENCE_ECONTENDED;
    if (error == FENCE_ECONTENDED && call->tries++ < FENCE_TRIES_MAX) {
        core_attempt_begin(core, call);
        if (call->taking.attempt.state != FENCE_ATTEMPT_FAILED)
            return;
    }
    answer_unknown(core, call, fence_error_is_obstacle(error) ? error : FENCE_ENOQUORUM);
}

/* A lock that was found may be about to end. The round that follows extends it, or has it join. */
static void keep_reacquired(struct fence_core *core, struct call *call)
{
    assert(call->taking.attempt.state == FENCE_ATTEMPT_WON);
    int64_t validity_us =
        fence_validity_us(core_attempt_lease_ms(call), call->taking.attempt.began_us, core->now_us);
    core_attempt_settle(core, call);
    core_watch_changed(core, call->resource);
    call->token = call->taking.attempt.votes.each[0].token;
    call->extend.regrant_us = core->now_us + (validity_us > 0 ? (uint64_t)validity_us : 0);
    call->extend.regranted = fence_tally_count(&call->taking.attempt.tally, FENCE_PART_GRANTED);
}

void core_reacquire_begin(struct fence_core *core, struct call *call)
{
    assert(call->kind == FENCE_CALL_EXTEND && call->group == FENCE_NOBODY);
    core_call_move(call, CALL_REACQUIRING);
    call->ttl_ms =
        (uint32_t)fence_min(call->ttl_ms, core->fleet.ttl_max_ms); /* created again since */
    core_extend_as(core, call, call->vote.owner);
    call->extend.there = fence_quorum_call_stands_where(&call->vote);
    call->idempotent = true;
    core_attempt_begin(core, call);
    if (call->taking.attempt.state == FENCE_ATTEMPT_FAILED)
        try_again_or_answer(core, call);
}

bool core_reacquire_over(struct fence_core *core, struct call *call)
{
    assert(call->kind == FENCE_CALL_EXTEND && call->state == CALL_REACQUIRING);
    bool won = call->taking.attempt.state == FENCE_ATTEMPT_WON;
    if (won)
        keep_reacquired(core, call);
    else if (call->taking.attempt.state == FENCE_ATTEMPT_FAILED)
        try_again_or_answer(core, call);
    return won;
}
