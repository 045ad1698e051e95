#include "fence/call/votes.h"

#include "fence/call/call_move.h"
#include "fence/state/output.h"

#include <string.h>

void core_vote_begin(struct fence_core *core, struct call *call, enum fence_call_kind kind,
                     uint32_t first, uint32_t spare)
{
    core_call_move(call, CALL_VOTING);
    fence_quorum_call_begin(&call->vote, kind, core->fleet.n, first, spare);
    core_round_new(core, call);
}

uint32_t core_vote_begin_majority(struct fence_core *core, struct call *call, uint32_t *ret_spare)
{
    const struct fence_round_masters masters = core_round_masters(core);
    const uint32_t first = fence_round_first(&masters, call->slot, ret_spare);
    core_vote_begin(core, call, call->kind, first, *ret_spare);
    return first;
}

struct fence_tally *core_vote_tally(struct call *call)
{
    return &call->vote.tally;
}

void core_vote_count(struct fence_core *core, struct call *call, unsigned i,
                     const struct fence_reply *reply)
{
    (void)core;
    fence_quorum_call_reply(&call->vote, i, reply);
}

bool core_vote_wants_more(const struct call *call)
{
    return fence_quorum_call_wants_more(&call->vote);
}

void core_vote_give_up(struct call *call)
{
    fence_quorum_call_give_up(&call->vote);
}

struct fence_answer *core_vote_answer(struct fence_core *core, const struct call *call, int error)
{
    struct fence_answer *answer = core_answer(core, call, error);
    memcpy(answer->parts, call->vote.tally.parts, sizeof(answer->parts));
    return answer;
}

int core_vote_error(const struct call *call, enum fence_verdict verdict)
{
    return verdict == FENCE_VERDICT_UNKNOWN ? fence_quorum_call_error(&call->vote) : 0;
}
