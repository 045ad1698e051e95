#include "fence/call/release.h"

#include "fence/base/set.h"
#include "fence/call/calls.h"
#include "fence/call/votes.h"
#include "fence/call/waiting.h"
#include "fence/state/output.h"

#include <assert.h>

static void ask_to_release(struct fence_core *core, const struct call *call, uint32_t set)
{
    const struct fence_request request = {
        .kind = FENCE_REQUEST_RELEASE,
        .token = call->token,
        .release = {.keep_ms = call->keep_ms, .covers = call->covers},
    };
    if (set)
        core_ask(core, call, set, &request);
}

/* Others than those of the first majority may have it, too: by an extension, a retry or an import.
 * No call waits for their answers. */
static void release_the_rest(struct fence_core *core, const struct call *call)
{
    if (call->vote.adopted || core->now_us < core->copied_until_us)
        ask_to_release(core, call, call->vote.tally.spare);
}

static void conclude_release(struct fence_core *core, struct call *call)
{
    assert(call->kind == FENCE_CALL_RELEASE && call->state == CALL_VOTING);
    enum fence_verdict verdict = fence_quorum_call_verdict(&call->vote);
    if (verdict == FENCE_VERDICT_OPEN)
        return;
    release_the_rest(core, call);
    struct fence_answer *answer = core_vote_answer(core, call, core_vote_error(call, verdict));
    answer->release.released = verdict == FENCE_VERDICT_YES;
    if (answer->release.released)
        core_released(core, call->resource, call->lock_id);
    core_finish(core, call);
}

void core_release_admitted(struct fence_core *core, struct call *call)
{
    assert(call->kind == FENCE_CALL_RELEASE);
    uint32_t spare = 0;
    const uint32_t first = core_vote_begin_majority(core, call, &spare);
    ask_to_release(core, call, first);
    core_round_begin(core, call, first, spare != 0, core->fleet.deadline_us);
    conclude_release(core, call); /* at once, if too few can be asked */
}

/* ---- the way through a round ----------------------------------------------------------------- */

/* Master @i is asked under the view that was learnt from it. The answers of the other masters
 * stand. */
static bool release_view_refused(struct fence_core *core, struct call *call, unsigned i)
{
    const uint32_t again = fence_fleet_active(&core->fleet) & fence_set_of(i);
    if (call->tries++ >= FENCE_TRIES_MAX)
        return false;
    ask_to_release(core, call, again);
    return again != 0;
}

static void release_more(struct fence_core *core, struct call *call, uint32_t set, uint32_t active)
{
    (void)active;
    ask_to_release(core, call, set);
}

const struct core_round_kind core_release_round = {
    .tally = core_vote_tally,
    .view_refused = release_view_refused,
    .count = core_vote_count,
    .wants_more = core_vote_wants_more,
    .ask = release_more,
    .give_up = core_vote_give_up,
    .conclude = conclude_release,
};
