#include "fence/call/inspect_seats.h"

#include "fence/call/call_move.h"
#include "fence/call/calls.h"
#include "fence/call/seating.h"
#include "fence/state/output.h"

#include <assert.h>
#include <string.h>

static struct core_seats_shown *shown_of(struct fence_core *core, const struct call *call)
{
    assert(core->seats.shown && call->show.index < core->seats.shown_pool.capacity);
    return &core->seats.shown[call->show.index];
}

static void begin_show(struct fence_core *core, struct call *call)
{
    const uint32_t active = fence_fleet_active(&core->fleet);
    struct core_seats_shown *shown = shown_of(core, call);
    core_call_move(call, CALL_SURVEYING);
    for (unsigned k = 0; k < call->seats; k++)
        fence_quorum_call_begin(&shown->votes[k], call->kind, core->fleet.n, active, 0);
    call->show.votes = shown->votes;
    core_round_new(core, call);
    core_seats_ask(core, call, active);
    core_round_begin(core, call, active, false, core->fleet.deadline_us);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void note_held(struct fence_seats_shown *told, unsigned seat,
                      const struct fence_quorum_call *vote)
{
    const unsigned agreeing = fence_quorum_call_agreeing(vote);
    told->held[told->count++] = (struct fence_seat_shown){
        .seat = seat,
        .token = fence_holders_token(&vote->holders, agreeing),
        .holder = fence_holders_top(&vote->holders),
        .owner = vote->holders.owner,
        .remaining_ms = fence_holders_remaining_ms(&vote->holders, agreeing),
        .kept = fence_holders_kept(&vote->holders),
    };
}

static void answer_shown(struct fence_core *core, struct call *call,
                         const struct fence_quorum_call *unknown)
{
    struct core_seats_shown *shown = shown_of(core, call);
    const struct core_wait_queue *queue = core_queue_for(core, call->resource);
    struct fence_answer *answer =
        core_answer(core, call, unknown ? fence_quorum_call_error(unknown) : 0);
    const struct fence_quorum_call *vote = unknown ? unknown : &shown->votes[0];
    memcpy(answer->parts, vote->tally.parts, sizeof(answer->parts));
    shown->told.count = 0;
    for (unsigned k = 0; !unknown && k < call->seats; k++)
        if (fence_quorum_call_verdict(&shown->votes[k]) == FENCE_VERDICT_YES)
            note_held(&shown->told, k, &shown->votes[k]);
    answer->inspect.shown = &shown->told;
    answer->inspect.waiters = queue ? queue->length : 0;
    if (call->mode != FENCE_MODE_PLAIN)
        answer->inspect.waiters += core_writers_waiting(core, call->resource);
    core_seats_end_show(&core->seats, call->show.index);
    core_finish(core, call);
    core_seat_drop(call);
}

static void conclude_show(struct fence_core *core, struct call *call)
{
    const struct core_seats_shown *shown = shown_of(core, call);
    const struct fence_quorum_call *unknown = NULL;
    for (unsigned k = 0; k < call->seats; k++) {
        const enum fence_verdict verdict = fence_quorum_call_verdict(&shown->votes[k]);
        if (verdict == FENCE_VERDICT_OPEN)
            return;
        if (verdict == FENCE_VERDICT_UNKNOWN && !unknown)
            unknown = &shown->votes[k];
    }
    const bool outdated = call->round.generation != core->fleet.generation;
    if (unknown && outdated && call->tries++ < FENCE_TRIES_MAX)
        begin_show(core, call);
    else
        answer_shown(core, call, unknown);
}

void core_show_admitted(struct fence_core *core, struct call *call)
{
    assert(call->kind == FENCE_CALL_INSPECT && core_wants_seat(call));
    if (!core_seats_begin_show(&core->seats, &call->show.index)) {
        (void)core_answer(core, call, FENCE_EBUSY);
        core_finish(core, call);
        core_seat_drop(call);
        return;
    }
    begin_show(core, call);
    conclude_show(core, call); /* at once, if too few can be asked */
}

/* ---- the round ------------------------------------------------------------------------------- */

/* All seats are asked of the same masters. */
static struct fence_tally *show_tally(struct call *call)
{
    return &call->show.votes[0].tally;
}

static void show_count(struct fence_core *core, struct call *call, unsigned i,
                       const struct fence_reply *reply)
{
    (void)core;
    fence_quorum_call_reply(&call->show.votes[core_seat_of_reply(call, reply)], i, reply);
}

static void show_give_up(struct call *call)
{
    for (unsigned k = 0; k < call->seats; k++)
        fence_quorum_call_give_up(&call->show.votes[k]);
}

const struct core_round_kind core_show_round = {
    .tally = show_tally,
    .count = show_count,
    .give_up = show_give_up,
    .conclude = conclude_show,
};
