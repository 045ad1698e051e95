#include "fence/core/quorum_answers.h"

#include "fence/core/output.h"
#include "fence/core/waiting.h"
#include "fence/protocol/lease.h"

#include <assert.h>
#include <string.h>

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
    case FENCE_VERDICT_BROKEN:
        return FENCE_EBROKEN;
    default:
        return fence_quorum_call_error(&call->vote);
    }
}

/* What was acquired again stands for as long as was found, also where it could not be extended. */
static bool stands_anew(const struct fence_core *core, const struct call *call,
                        enum fence_verdict verdict)
{
    return verdict == FENCE_VERDICT_UNKNOWN && call->extend.regrant_us > core->now_us;
}

/* By the master that counted most; -1: none did of a lock with the token as its number. */
static int64_t extensions_left(const struct call *call)
{
    const struct fence_quorum_call *vote = &call->vote;
    if (vote->extensions == 0)
        return -1;
    return vote->extensions < vote->extensions_max ? vote->extensions_max - vote->extensions : 0;
}

/* If the lock is lost, the locks of a minority stay: another round may be extending them, through
 * another server. */
static void answer_extend(struct fence_core *core, const struct call *call,
                          enum fence_verdict verdict)
{
    bool stands = stands_anew(core, call, verdict);
    int error = stands ? 0 : extend_error(core, call, verdict);
    struct fence_answer *answer = core_answer(core, call, error);
    answer->granted = fence_tally_count(&call->vote.tally, FENCE_PART_GRANTED);
    answer->token = call->token;
    answer->anew = !error && call->extend.regrant_us > 0;
    answer->owner = error == FENCE_EBROKEN ? call->vote.owner : call->owner;
    if (stands) {
        answer->granted = call->extend.regranted;
        answer->validity_ms = (call->extend.regrant_us - core->now_us) / 1000;
    } else if (!error) {
        answer->extensions_left = extensions_left(call);
        answer->validity_ms =
            (uint64_t)fence_validity_us(call->ttl_ms, call->arrived_us, core->now_us) / 1000;
    }
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
    const struct core_wait_queue *queue = core_wait_queues_find(&core->queues, call->resource);
    struct fence_answer *answer = core_answer(core, call, error_of(call, verdict));
    answer->waiters = queue ? queue->length : 0;
    if (verdict != FENCE_VERDICT_YES)
        return;
    unsigned agreeing = fence_quorum_call_agreeing(&call->vote);
    answer->held = true;
    answer->owner = call->vote.holders.owner;
    answer->token = fence_holders_token(&call->vote.holders, agreeing);
    answer->remaining_ms = fence_holders_remaining_ms(&call->vote.holders, agreeing);
}

void core_quorum_answer(struct fence_core *core, const struct call *call,
                        enum fence_verdict verdict)
{
    assert(verdict != FENCE_VERDICT_OPEN);
    unsigned at = core->effects->count;
    if (call->kind == FENCE_CALL_EXTEND)
        answer_extend(core, call, verdict);
    else if (call->kind == FENCE_CALL_RELEASE)
        answer_release(core, call, verdict);
    else
        answer_inspect(core, call, verdict);
    struct fence_answer *answer = &core->effects->items[at].answer;
    memcpy(answer->parts, call->vote.tally.parts, sizeof(answer->parts));
}
