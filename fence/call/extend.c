#include "fence/call/extend.h"

#include "fence/call/attempts.h"
#include "fence/call/calls.h"
#include "fence/call/cleanup.h"
#include "fence/call/reacquire.h"
#include "fence/call/votes.h"
#include "fence/protocol/lease.h"
#include "fence/state/output.h"

#include <assert.h>

/* ---- asking ---------------------------------------------------------------------------------- */

static void ask_to_extend(struct fence_core *core, const struct call *call, uint32_t set)
{
    const struct fence_request request = {
        .kind = FENCE_REQUEST_EXTEND,
        .token = call->token,
        .ttl_ms = call->ttl_ms,
        .extend.extensions_max = core_extensions_max(core),
    };
    if (set)
        core_ask(core, call, set, &request);
}

/* Later answers say nothing of how long they take. */
static void join_masters(struct fence_core *core, struct call *call, uint32_t set)
{
    const struct fence_quorum_call *vote = &call->vote;
    if (set == 0)
        return;
    core_extend_as(core, call, vote->owner);
    call->round.first &= ~set;
    core_round_asked_again(core, call);
    struct fence_request request = {
        .kind = FENCE_REQUEST_JOIN,
        .attempt = call->extend.join_tag,
        .token = call->token,
        .ttl_ms = call->ttl_ms + call->delay_ms,
        .extend.extensions_max = core_extensions_max(core),
        .extend.extended = (uint32_t)vote->extensions,
    };
    core_ask(core, call, set, &request);
}

/* A lock that joined in a round is the holder's only if the round succeeds. It goes by the tag of
 * the round: by the lock id it would take what another round extended. */
static void undo_joins(struct fence_core *core, const struct call *call, uint32_t masters)
{
    const struct fence_taken taken = {
        .resource = call->resource,
        .lock_id = call->lock_id,
        .attempt = call->extend.join_tag,
        .ttl_ms = call->ttl_ms + call->delay_ms,
        .masters = masters,
    };
    if (taken.masters)
        core_undo(core, &taken);
}

/* ---- answering ------------------------------------------------------------------------------- */

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

/* A lock that was acquired again stands for as long as was found, also where it could not be
 * extended. */
static bool stands_anew(const struct fence_core *core, const struct call *call,
                        enum fence_verdict verdict)
{
    return verdict == FENCE_VERDICT_UNKNOWN && call->extend.regrant_us > core->now_us;
}

/* The most extensions that a master counted; -1: no master has the lock under the token. */
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
    struct fence_answer *answer = core_vote_answer(core, call, error);
    answer->lease.granted = fence_tally_count(&call->vote.tally, FENCE_PART_GRANTED);
    answer->token = call->token;
    answer->extend.anew = !error && call->extend.regrant_us > 0;
    answer->owner = error == FENCE_EBROKEN ? call->vote.owner : call->owner;
    if (stands) {
        answer->lease.granted = call->extend.regranted;
        answer->lease.validity_ms = (call->extend.regrant_us - core->now_us) / 1000;
    } else if (!error) {
        answer->lease.extensions_left = extensions_left(call);
        answer->lease.validity_ms =
            (uint64_t)fence_validity_us(call->ttl_ms, call->arrived_us, core->now_us) / 1000;
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void conclude_extend(struct fence_core *core, struct call *call)
{
    const struct fence_quorum_call *vote = &call->vote;
    enum fence_verdict verdict = fence_quorum_call_verdict(vote);
    if (verdict == FENCE_VERDICT_OPEN)
        return;
    /* For a round that succeeded, what is still on its way. */
    undo_joins(core, call,
               verdict == FENCE_VERDICT_YES ? vote->joined & vote->tally.open : vote->joined);
    if (verdict == FENCE_VERDICT_UNKNOWN && core_reacquire_helps(call)) {
        core_reacquire_begin(core, call);
        return;
    }
    answer_extend(core, call, verdict);
    core_finish(core, call);
}

void core_extend_admitted(struct fence_core *core, struct call *call)
{
    assert(call->kind == FENCE_CALL_EXTEND);
    uint32_t spare = 0;
    const uint32_t first = core_vote_begin_majority(core, call, &spare);
    call->vote.extensions_max = core_extensions_max(core);
    call->extend.join_tag = core_random(core);
    ask_to_extend(core, call, first);
    core_round_begin(core, call, first, true,
                     fence_round_timeout_us(core->fleet.deadline_us, call->ttl_ms));
    conclude_extend(core, call); /* at once, if too few can be asked */
}

/* An extension keeps to one view. */
static void extend_anew(struct fence_core *core, struct call *call)
{
    undo_joins(core, call, call->vote.joined);
    core_extend_admitted(core, call);
}

/* ---- the way through a round ----------------------------------------------------------------- */

static bool extend_view_refused(struct fence_core *core, struct call *call, unsigned i)
{
    (void)i;
    if (call->tries++ >= FENCE_TRIES_MAX)
        return false;
    extend_anew(core, call);
    return true;
}

static bool extend_view_ended(struct fence_core *core, struct call *call, uint32_t set)
{
    if ((set == 0 && call->vote.joinable == 0) || call->tries++ >= FENCE_TRIES_MAX)
        return false;
    extend_anew(core, call);
    return true;
}

static void extend_more(struct fence_core *core, struct call *call, uint32_t set, uint32_t active)
{
    ask_to_extend(core, call, set);
    join_masters(core, call, fence_quorum_call_join(&call->vote, call->round.late, active));
}

const struct core_round_kind core_extend_round = {
    .tally = core_vote_tally,
    .view_refused = extend_view_refused,
    .count = core_vote_count,
    .wants_more = core_vote_wants_more,
    .view_ended = extend_view_ended,
    .ask = extend_more,
    .give_up = core_vote_give_up,
    .conclude = conclude_extend,
};

static void conclude_reacquired(struct fence_core *core, struct call *call)
{
    if (core_reacquire_over(core, call))
        core_extend_admitted(core, call);
}

const struct core_round_kind core_reacquire_round = {
    CORE_ATTEMPT_STEPS,
    .conclude = conclude_reacquired,
};
