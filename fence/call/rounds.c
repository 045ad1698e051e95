#include "fence/call/rounds.h"

#include "fence/base/set.h"
#include "fence/round/hedge.h"
#include "fence/state/output.h"

#include <assert.h>

void core_round_new(struct fence_core *core, struct call *call)
{
    core_next_round(core, call);
    call->round.generation = core->fleet.generation;
}

void core_round_begin(struct fence_core *core, struct call *call, uint32_t first, bool hedged,
                      uint64_t timeout_us)
{
    assert(call->round.serial != 0);
    const struct fence_round_masters masters = core_round_masters(core);
    core_wake_at(core, call, fence_round_begin(&call->round, &masters, first, hedged, timeout_us));
}

void core_round_asked_again(struct fence_core *core, struct call *call)
{
    const struct fence_round_masters masters = core_round_masters(core);
    core_wake_at(core, call, fence_round_hedge_us(&call->round, &masters));
}

static bool is_outdated(struct fence_core *core, const struct call *call)
{
    const struct fence_round_masters masters = core_round_masters(core);
    return fence_round_outdated(&call->round, &masters);
}

/* The spare masters in @set are to be asked. False: the call restarted instead. */
static bool ask_more(struct fence_core *core, struct call *call, const struct core_round_kind *kind,
                     uint32_t set)
{
    uint32_t active = fence_fleet_active(&core->fleet);
    if (kind->view_ended && is_outdated(core, call)) {
        core_trace_call(core, FENCE_TRACE_OUTDATED, call, 0, 0);
        if (kind->view_ended(core, call, set))
            return false;
        active = 0;
    }
    struct fence_tally *tally = kind->tally(call);
    fence_tally_drop(tally, set & ~active);
    fence_tally_ask(tally, set & active);
    if (kind->ask)
        kind->ask(core, call, set & active, active);
    return true;
}

void core_round_reply(struct fence_core *core, struct call *call,
                      const struct core_round_kind *kind, unsigned i,
                      const struct fence_reply *reply)
{
    assert(i < core->fleet.n && call->round.serial != 0);
    const struct fence_round_masters masters = core_round_masters(core);
    if (reply->kind == FENCE_REPLY_STALE && kind->view_refused && kind->view_refused(core, call, i))
        return;
    fence_round_answered(&call->round, &masters, i, reply->kind);
    kind->count(core, call, i, reply);
    const bool settles = kind->wants_more && kind->wants_more(call);
    if (ask_more(core, call, kind, settles ? kind->tally(call)->spare : 0))
        kind->conclude(core, call);
}

void core_round_timer(struct fence_core *core, struct call *call,
                      const struct core_round_kind *kind)
{
    assert(call->round.serial != 0);
    const struct fence_round_masters masters = core_round_masters(core);
    if (core->now_us >= call->round.ends_us) {
        kind->give_up(call);
        kind->conclude(core, call);
        return;
    }
    uint64_t due_us = 0;
    const uint32_t set =
        fence_round_hedge(&call->round, &masters, kind->tally(call), call->slot, &due_us);
    core->counts.hedges += fence_set_count(set);
    if (set != 0)
        core_trace_call(core, FENCE_TRACE_HEDGED, call, set, 0);
    core_wake_at(core, call, due_us);
    if (ask_more(core, call, kind, set))
        kind->conclude(core, call);
}
