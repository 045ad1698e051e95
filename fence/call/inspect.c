#include "fence/call/inspect.h"

#include "fence/base/set.h"
#include "fence/call/calls.h"
#include "fence/call/inspect_seats.h"
#include "fence/call/seating.h"
#include "fence/call/votes.h"
#include "fence/state/output.h"

#include <assert.h>

static void ask_to_inspect(struct fence_core *core, const struct call *call, uint32_t set)
{
    const struct fence_request request = {.kind = FENCE_REQUEST_INSPECT};
    if (set)
        core_ask(core, call, set, &request);
}

static void answer_inspect(struct fence_core *core, const struct call *call,
                           enum fence_verdict verdict)
{
    const struct core_wait_queue *queue = core_queue_for(core, call->resource);
    struct fence_answer *answer = core_vote_answer(core, call, core_vote_error(call, verdict));
    answer->inspect.waiters = queue ? queue->length : 0;
    if (verdict != FENCE_VERDICT_YES)
        return;
    unsigned agreeing = fence_quorum_call_agreeing(&call->vote);
    answer->inspect.held = true;
    answer->inspect.kept = fence_holders_kept(&call->vote.holders);
    answer->owner = call->vote.holders.owner;
    answer->token = fence_holders_token(&call->vote.holders, agreeing);
    answer->remaining_ms = fence_holders_remaining_ms(&call->vote.holders, agreeing);
}

static void conclude_inspect(struct fence_core *core, struct call *call)
{
    assert(call->kind == FENCE_CALL_INSPECT && call->state == CALL_VOTING);
    enum fence_verdict verdict = fence_quorum_call_verdict(&call->vote);
    if (verdict == FENCE_VERDICT_OPEN)
        return;
    answer_inspect(core, call, verdict);
    core_finish(core, call);
}

void core_inspect_look(struct fence_core *core, struct call *call)
{
    const uint32_t active = fence_fleet_active(&core->fleet);
    call->tries = 0;
    core_vote_begin(core, call, FENCE_CALL_INSPECT, active, 0);
    ask_to_inspect(core, call, active);
    core_round_begin(core, call, active, false, core->fleet.deadline_us);
}

void core_inspect_admitted(struct fence_core *core, struct call *call)
{
    assert(call->kind == FENCE_CALL_INSPECT);
    if (call->seats > 0) {
        core_show_admitted(core, call);
        return;
    }
    core_inspect_look(core, call);
    conclude_inspect(core, call); /* at once, if too few can be asked */
}

/* Master @i is asked under the view that was learnt from it. The answers of the other masters
 * stand. */
bool core_inspect_view_refused(struct fence_core *core, struct call *call, unsigned i)
{
    const uint32_t again = fence_fleet_active(&core->fleet) & fence_set_of(i);
    if (call->tries++ >= FENCE_TRIES_MAX)
        return false;
    ask_to_inspect(core, call, again);
    return again != 0;
}

const struct core_round_kind core_inspect_round = {
    .tally = core_vote_tally,
    .view_refused = core_inspect_view_refused,
    .count = core_vote_count,
    .give_up = core_vote_give_up,
    .conclude = conclude_inspect,
};
