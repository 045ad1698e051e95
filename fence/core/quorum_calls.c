#include "fence/core/quorum_calls.h"

#include "fence/base/set.h"
#include "fence/core/admit.h"
#include "fence/core/call_move.h"
#include "fence/core/calls.h"
#include "fence/core/output.h"
#include "fence/core/waiting.h"
#include "fence/protocol/lease.h"

#include <assert.h>
#include <string.h>

static enum fence_request_kind request_for(enum fence_call_kind kind)
{
    switch (kind) {
    case FENCE_CALL_EXTEND:
        return FENCE_REQUEST_EXTEND;
    case FENCE_CALL_RELEASE:
        return FENCE_REQUEST_RELEASE;
    default:
        return FENCE_REQUEST_INSPECT;
    }
}

static uint64_t timeout_us(const struct call *call)
{
    return call->kind == FENCE_CALL_EXTEND ? fence_round_timeout_us(call->ttl_ms)
                                           : FENCE_MASTER_DEADLINE_US;
}

static int extend_error(const struct fence_core *core, const struct call *call,
                        enum fence_verdict verdict)
{
    switch (verdict) {
    case FENCE_VERDICT_YES:
        return fence_validity_us(call->ttl_ms, call->arrived_us, core->now_us) > 0 ? 0
                                                                                   : FENCE_ETOOSLOW;
    case FENCE_VERDICT_NO:
        return FENCE_ELOCKLOST;
    case FENCE_VERDICT_EXHAUSTED:
        return FENCE_EEXHAUSTED;
    default:
        return fence_quorum_call_error(&call->vote);
    }
}

/* If the lock is lost, the locks of a minority stay: another round may be extending them, through
 * another server. */
static void answer_extend(struct fence_core *core, const struct call *call,
                          enum fence_verdict verdict)
{
    int error = extend_error(core, call, verdict);
    struct fence_answer *answer = core_answer(core, call, error);
    answer->granted = fence_tally_count(&call->vote.tally, FENCE_PART_GRANTED);
    if (!error)
        answer->validity_ms =
            (uint64_t)fence_validity_us(call->ttl_ms, call->arrived_us, core->now_us) / 1000;
}

/* Of a release or an inspection. */
static int error_of(const struct call *call, enum fence_verdict verdict)
{
    return verdict == FENCE_VERDICT_UNKNOWN ? fence_quorum_call_error(&call->vote) : 0;
}

static void answer_release(struct fence_core *core, const struct call *call,
                           enum fence_verdict verdict)
{
    struct fence_answer *answer = core_answer(core, call, error_of(call, verdict));
    answer->released = verdict == FENCE_VERDICT_YES;
    if (answer->released)
        core_released(core, call->resource, call->lock_id);
}

static void answer_inspect(struct fence_core *core, const struct call *call,
                           enum fence_verdict verdict)
{
    unsigned majority = fence_majority(core->fleet.n);
    const struct core_wait_queue *queue = core_wait_queues_find(&core->queues, call->resource);
    struct fence_answer *answer = core_answer(core, call, error_of(call, verdict));
    answer->waiters = queue ? queue->length : 0;
    if (verdict != FENCE_VERDICT_YES)
        return;
    answer->held = true;
    answer->owner = call->vote.holders.owner;
    answer->token = fence_holders_token(&call->vote.holders, majority);
    answer->remaining_ms = fence_holders_remaining_ms(&call->vote.holders, majority);
}

static void conclude_round(struct fence_core *core, struct call *call)
{
    enum fence_verdict verdict = fence_quorum_call_verdict(&call->vote);
    if (verdict == FENCE_VERDICT_OPEN)
        return;
    unsigned at = core->effects->count;
    if (call->kind == FENCE_CALL_EXTEND)
        answer_extend(core, call, verdict);
    else if (call->kind == FENCE_CALL_RELEASE)
        answer_release(core, call, verdict);
    else
        answer_inspect(core, call, verdict);
    struct fence_answer *answer = &core->effects->items[at].answer;
    memcpy(answer->parts, call->vote.tally.parts, sizeof(answer->parts));
    core_finish(core, call);
}

static void ask_masters(struct fence_core *core, const struct call *call, uint32_t set)
{
    struct fence_request request = {
        .kind = request_for(call->kind),
        .token = call->token,
        .ttl_ms = call->ttl_ms,
        .extensions = core->config.extensions,
    };
    core_ask(core, call, set, &request);
}

void core_quorum_call_begin(struct fence_core *core, struct call *call)
{
    assert(call->kind != FENCE_CALL_ACQUIRE);
    if (core_admit(core, call))
        core_quorum_call_admitted(core, call);
}

void core_quorum_call_admitted(struct fence_core *core, struct call *call)
{
    assert(call->kind != FENCE_CALL_ACQUIRE);
    uint32_t active = fence_fleet_active(&core->fleet);
    core_call_move(call, CALL_VOTING);
    fence_quorum_call_begin(&call->vote, call->kind, core->fleet.n, active);
    core_next_round(core, call);
    ask_masters(core, call, active);
    core_wake_at(core, call, core->now_us + timeout_us(call));
    conclude_round(core, call); /* at once, if too few can be asked */
}

/* Master @i knew a newer view than the one named, which this server has learnt by now. An extension
 * keeps to one view, so it begins anew. Answers of others to a release or an inspection
 * stand. */
static bool ask_again(struct fence_core *core, struct call *call, unsigned i)
{
    uint32_t again = fence_fleet_active(&core->fleet) & fence_set_of(i);
    if (call->tries++ >= FENCE_TRIES_MAX)
        return false;
    if (call->kind == FENCE_CALL_EXTEND)
        core_quorum_call_begin(core, call);
    else
        ask_masters(core, call, again);
    return call->kind == FENCE_CALL_EXTEND || again != 0;
}

void core_quorum_call_reply(struct fence_core *core, struct call *call, unsigned i,
                            const struct fence_reply *reply)
{
    if (reply->kind != FENCE_REPLY_STALE || !ask_again(core, call, i))
        fence_quorum_call_reply(&call->vote, i, reply);
    if (call->state == CALL_VOTING)
        conclude_round(core, call);
}

void core_quorum_call_timer(struct fence_core *core, struct call *call)
{
    if (call->state == CALL_ADMITTING) {
        (void)core_answer(core, call, FENCE_EBUSY);
        core_finish(core, call);
        return;
    }
    fence_tally_give_up(&call->vote.tally);
    assert(fence_quorum_call_verdict(&call->vote) != FENCE_VERDICT_OPEN);
    conclude_round(core, call);
}
