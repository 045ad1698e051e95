#include "fence/call/break.h"

#include "fence/call/call_move.h"
#include "fence/call/calls.h"
#include "fence/call/rounds.h"
#include "fence/call/waiting.h"
#include "fence/state/output.h"

#include <assert.h>
#include <string.h>

/* ---- answering ------------------------------------------------------------------------------- */

static int break_error(const struct fence_breaking *breaking, enum fence_break_verdict verdict)
{
    switch (verdict) {
    case FENCE_BREAK_MISMATCH:
        return FENCE_EMISMATCH;
    case FENCE_BREAK_WRITERS:
        return FENCE_EWRITERS;
    case FENCE_BREAK_UNKNOWN:
        return fence_breaking_error(breaking);
    default:
        return 0;
    }
}

/* No answer contains the lock id. */
static void answer_break(struct fence_core *core, struct call *call,
                         enum fence_break_verdict verdict)
{
    assert(call->state == CALL_BREAKING && verdict != FENCE_BREAK_OPEN);
    struct fence_breaking *breaking = &call->breaking;
    struct fence_answer *answer = core_answer(core, call, break_error(breaking, verdict));
    answer->lock_id = "";
    answer->token =
        verdict == FENCE_BREAK_MISMATCH ? fence_breaking_token_now(breaking) : call->token;
    answer->breaks.released = verdict == FENCE_BREAK_DONE;
    answer->breaks.sent = breaking->breaks ? fence_breaking_tally(breaking)->asked : 0;
    memcpy(answer->parts, fence_breaking_tally(breaking)->parts, sizeof(answer->parts));
    if (answer->breaks.released) {
        answer->breaks.lock_id = breaking->lock_id;
        core_released(core, call->resource, breaking->lock_id);
    }
    core_finish(core, call);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void ask(struct fence_core *core, struct call *call, enum fence_request_kind kind,
                uint32_t set)
{
    const struct fence_request request = {
        .kind = kind,
        .token = call->token,
        .ttl_ms = core->fleet.ttl_max_ms,
    };
    core_round_new(core, call);
    if (set)
        core_ask(core, call, set, &request);
    core_round_begin(core, call, set, false, core->fleet.deadline_us);
}

/* All masters are asked in one step. So all of them are named one view. */
static void begin_second_round(struct fence_core *core, struct call *call)
{
    assert(!call->breaking.breaks);
    uint32_t active = fence_fleet_active(&core->fleet);
    fence_breaking_break(&call->breaking, active);
    core_copy_text(call->lock_id, sizeof(call->lock_id), call->breaking.lock_id);
    ask(core, call, FENCE_REQUEST_BREAK, active);
}

static void conclude_break(struct fence_core *core, struct call *call)
{
    enum fence_break_verdict verdict = fence_breaking_verdict(&call->breaking);
    if (verdict == FENCE_BREAK_FOUND) {
        begin_second_round(core, call);
        verdict = fence_breaking_verdict(&call->breaking); /* at once, if too few can be asked */
    }
    if (verdict != FENCE_BREAK_OPEN)
        answer_break(core, call, verdict);
}

void core_break_admitted(struct fence_core *core, struct call *call)
{
    assert(call->kind == FENCE_CALL_BREAK);
    uint32_t active = fence_fleet_active(&core->fleet);
    core_call_move(call, CALL_BREAKING);
    call->lock_id[0] = '\0';
    fence_breaking_begin(&call->breaking, call->token, call->covers, core->fleet.n, active);
    ask(core, call, FENCE_REQUEST_INSPECT, active);
    conclude_break(core, call);
}

/* ---- the way through a round ----------------------------------------------------------------- */

static struct fence_tally *break_tally(struct call *call)
{
    return fence_breaking_tally(&call->breaking);
}

/* All that count have to act under one view, which is the one that was learnt from master @i. */
static bool break_view_refused(struct fence_core *core, struct call *call, unsigned i)
{
    (void)i;
    if (call->tries++ >= FENCE_TRIES_MAX)
        return false;
    core_break_admitted(core, call);
    return true;
}

static void count_break(struct fence_core *core, struct call *call, unsigned i,
                        const struct fence_reply *reply)
{
    assert(call->state == CALL_BREAKING);
    (void)core;
    fence_breaking_reply(&call->breaking, i, reply);
}

static void give_up_break(struct call *call)
{
    fence_breaking_give_up(&call->breaking);
}

/* It asks all masters first. */
const struct core_round_kind core_break_round = {
    .tally = break_tally,
    .view_refused = break_view_refused,
    .count = count_break,
    .give_up = give_up_break,
    .conclude = conclude_break,
};
