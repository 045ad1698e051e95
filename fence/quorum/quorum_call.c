#include "fence/quorum/quorum_call.h"

#include "fence/protocol/lease.h"

#include <assert.h>

void fence_quorum_call_begin(struct fence_quorum_call *vote, enum fence_call_kind kind, unsigned n,
                             uint32_t active)
{
    assert(kind != FENCE_CALL_ACQUIRE);
    vote->kind = kind;
    vote->exhausted = 0;
    vote->superseded = 0;
    fence_holders_begin(&vote->holders);
    fence_obstacles_begin(&vote->obstacles);
    fence_tally_begin(&vote->tally, n, active);
}

void fence_quorum_call_reply(struct fence_quorum_call *vote, unsigned i,
                             const struct fence_reply *reply)
{
    assert(i < vote->tally.n);
    if (!fence_tally_record(&vote->tally, i, fence_part_of_reply(reply->kind)))
        return;
    if (reply->kind == FENCE_REPLY_HELD)
        fence_holders_record(&vote->holders, i, reply);
    vote->exhausted += reply->kind == FENCE_REPLY_EXHAUSTED;
    vote->superseded += reply->kind == FENCE_REPLY_SUPERSEDED;
    fence_obstacles_record(&vote->obstacles, reply);
}

/* A reading: one holder at a majority, or certainly none. A silent master may name any holder. */
static enum fence_verdict reading(const struct fence_quorum_call *vote)
{
    const struct fence_tally *tally = &vote->tally;
    unsigned majority = fence_majority(tally->n);
    unsigned open = fence_tally_open(tally);
    unsigned unheard = fence_tally_unknown(tally) + fence_tally_count(tally, FENCE_PART_REFUSED);
    if (vote->holders.votes >= majority)
        return FENCE_VERDICT_YES;
    if (vote->holders.votes + open + unheard < majority)
        return FENCE_VERDICT_NO;
    /* Masters still open may settle it either way, unless the silent ones leave it in doubt anyway.
     */
    bool may_be_held = vote->holders.votes + open >= majority;
    bool may_be_free = vote->holders.votes + unheard < majority;
    return open > 0 && (may_be_held || may_be_free) ? FENCE_VERDICT_OPEN : FENCE_VERDICT_UNKNOWN;
}

enum fence_verdict fence_quorum_call_verdict(const struct fence_quorum_call *vote)
{
    if (vote->kind == FENCE_CALL_INSPECT)
        return reading(vote);

    const struct fence_tally *tally = &vote->tally;
    unsigned majority = fence_majority(tally->n);
    unsigned blocking = fence_blocking(tally->n);
    unsigned open = fence_tally_open(tally);
    unsigned yes = fence_tally_count(tally, FENCE_PART_GRANTED);
    unsigned no = fence_tally_count(tally, FENCE_PART_FREE);
    if (yes >= majority)
        return FENCE_VERDICT_YES;
    if (no >= blocking || vote->superseded >= majority)
        return FENCE_VERDICT_NO;
    if (vote->exhausted > 0 && vote->exhausted + no >= blocking)
        return FENCE_VERDICT_EXHAUSTED;
    bool settled = yes + open < majority && no + vote->exhausted + open < blocking &&
                   vote->superseded + open < majority;
    return settled ? FENCE_VERDICT_UNKNOWN : FENCE_VERDICT_OPEN;
}

int fence_quorum_call_error(const struct fence_quorum_call *vote)
{
    unsigned only = 0;
    return fence_obstacles_error(&vote->obstacles, &vote->tally, &only);
}
