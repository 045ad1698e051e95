#include "fence/core/quorum_calls.h"

#include "fence/base/set.h"
#include "fence/core/attempts.h"
#include "fence/core/call_move.h"
#include "fence/core/calls.h"
#include "fence/core/cleanup.h"
#include "fence/core/output.h"
#include "fence/core/quorum_answers.h"
#include "fence/core/reacquire.h"
#include "fence/core/rounds.h"
#include "fence/protocol/lease.h"

#include <assert.h>

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

static uint64_t timeout_us(const struct fence_core *core, const struct call *call)
{
    return call->kind == FENCE_CALL_EXTEND
               ? fence_round_timeout_us(core->fleet.deadline_us, call->ttl_ms)
               : core->fleet.deadline_us;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void ask_masters(struct fence_core *core, const struct call *call, uint32_t set)
{
    struct fence_request request = {
        .kind = request_for(call->kind),
        .token = call->token,
        .ttl_ms = call->ttl_ms,
        .extensions = core_extensions_max(core),
    };
    if (set)
        core_ask(core, call, set, &request);
}

/* What they answer from here on says nothing of how long they take. */
static void join_masters(struct fence_core *core, struct call *call, uint32_t set)
{
    const struct fence_quorum_call *vote = &call->vote;
    if (set == 0)
        return;
    core_copy_text(call->owner, sizeof(call->owner), vote->owner);
    call->round.first &= ~set;
    core_round_asked_again(core, call);
    struct fence_request request = {
        .kind = FENCE_REQUEST_JOIN,
        .attempt = call->extend.join_tag,
        .token = call->token,
        .ttl_ms = call->ttl_ms,
        .extensions = core_extensions_max(core),
        .extended = (uint32_t)vote->extensions,
    };
    core_ask(core, call, set, &request);
}

/* What a round joined is the holder's only if the round succeeds. It goes by the tag of the round:
 * by the lock id it would take what another round extended. */
static void undo_joins(struct fence_core *core, const struct call *call, uint32_t masters)
{
    const struct fence_taken taken = {
        .resource = call->resource,
        .lock_id = call->lock_id,
        .attempt = call->extend.join_tag,
        .ttl_ms = call->ttl_ms,
        .masters = masters,
    };
    if (taken.masters)
        core_undo(core, &taken);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Others than those of the first majority may have it, too: by an extension, a retry or an import.
 * Nobody waits for their answers. */
static void release_the_rest(struct fence_core *core, const struct call *call)
{
    if (call->vote.adopted || core->now_us < core->copied_until_us)
        ask_masters(core, call, call->vote.tally.spare);
}

static void conclude_round(struct fence_core *core, struct call *call)
{
    enum fence_verdict verdict = fence_quorum_call_verdict(&call->vote);
    if (verdict == FENCE_VERDICT_OPEN)
        return;
    bool extends = call->kind == FENCE_CALL_EXTEND;
    if (extends) /* of a round that succeeded, what is still on its way */
        undo_joins(core, call,
                   verdict == FENCE_VERDICT_YES ? call->vote.joined & call->vote.tally.open
                                                : call->vote.joined);
    if (extends && verdict == FENCE_VERDICT_UNKNOWN && core_reacquire_helps(call)) {
        core_reacquire_begin(core, call);
        return;
    }
    if (call->kind == FENCE_CALL_RELEASE)
        release_the_rest(core, call);
    core_quorum_answer(core, call, verdict);
    core_finish(core, call);
}

static uint32_t first_asked(struct fence_core *core, const struct call *call, uint32_t *ret_spare)
{
    const struct fence_round_masters masters = core_round_masters(core);
    *ret_spare = 0;
    return call->kind == FENCE_CALL_INSPECT ? fence_fleet_active(&core->fleet)
                                            : fence_round_first(&masters, call->slot, ret_spare);
}

void core_quorum_call_admitted(struct fence_core *core, struct call *call)
{
    assert(call->kind != FENCE_CALL_ACQUIRE);
    uint32_t spare = 0;
    uint32_t first = first_asked(core, call, &spare);
    core_call_move(call, CALL_VOTING);
    fence_quorum_call_begin(&call->vote, call->kind, core->fleet.n, first, spare);
    call->vote.extensions_max = core_extensions_max(core);
    core_round_new(core, call);
    const uint64_t join_tag = core_random(core);
    if (call->kind == FENCE_CALL_EXTEND)
        call->extend.join_tag = join_tag;
    ask_masters(core, call, first);
    core_round_begin(core, call, first, spare != 0 || call->kind == FENCE_CALL_EXTEND,
                     timeout_us(core, call));
    conclude_round(core, call); /* at once, if too few can be asked */
}

static void begin_anew(struct fence_core *core, struct call *call)
{
    undo_joins(core, call, call->vote.joined);
    core_quorum_call_admitted(core, call);
}

/* ---- the way through a round ----------------------------------------------------------------- */

static struct fence_tally *vote_tally(struct call *call)
{
    return &call->vote.tally;
}

/* An extension keeps to one view, so it begins anew. Answers of others to a release or an
 * inspection stand. */
static bool vote_view_refused(struct fence_core *core, struct call *call, unsigned i)
{
    uint32_t again = fence_fleet_active(&core->fleet) & fence_set_of(i);
    if (call->tries++ >= FENCE_TRIES_MAX)
        return false;
    if (call->kind == FENCE_CALL_EXTEND)
        begin_anew(core, call);
    else
        ask_masters(core, call, again);
    return call->kind == FENCE_CALL_EXTEND || again != 0;
}

static bool extend_view_ended(struct fence_core *core, struct call *call, uint32_t set)
{
    if ((set == 0 && call->vote.joinable == 0) || call->tries++ >= FENCE_TRIES_MAX)
        return false;
    begin_anew(core, call);
    return true;
}

static void count_vote(struct fence_core *core, struct call *call, unsigned i,
                       const struct fence_reply *reply)
{
    (void)core;
    fence_quorum_call_reply(&call->vote, i, reply);
}

static bool vote_wants_more(const struct call *call)
{
    return fence_quorum_call_wants_more(&call->vote);
}

static void ask_and_join(struct fence_core *core, struct call *call, uint32_t set, uint32_t active)
{
    ask_masters(core, call, set);
    join_masters(core, call, fence_quorum_call_join(&call->vote, call->round.late, active));
}

static void give_up_vote(struct call *call)
{
    fence_quorum_call_give_up(&call->vote);
}

const struct core_round_kind core_extend_round = {
    .tally = vote_tally,
    .view_refused = vote_view_refused,
    .count = count_vote,
    .wants_more = vote_wants_more,
    .view_ended = extend_view_ended,
    .ask = ask_and_join,
    .give_up = give_up_vote,
    .conclude = conclude_round,
};

const struct core_round_kind core_plain_round = {
    .tally = vote_tally,
    .view_refused = vote_view_refused,
    .count = count_vote,
    .wants_more = vote_wants_more,
    .ask = ask_and_join,
    .give_up = give_up_vote,
    .conclude = conclude_round,
};

static void conclude_reacquired(struct fence_core *core, struct call *call)
{
    if (core_reacquire_over(core, call))
        core_quorum_call_admitted(core, call);
}

const struct core_round_kind core_reacquire_round = {
    .tally = core_attempt_tally,
    .count = core_attempt_count,
    .wants_more = core_attempt_wants_more,
    .view_ended = core_attempt_view_ended,
    .ask = core_attempt_ask,
    .give_up = core_attempt_give_up,
    .conclude = conclude_reacquired,
};
