#include "fence/core/hedge.h"

#include "fence/base/set.h"
#include "fence/protocol/lease.h"

#include <assert.h>

/* The first @count masters of @set, from @from on, in a ring. */
static uint32_t ring(const struct fence_core *core, uint32_t set, unsigned from, unsigned count)
{
    uint32_t first = 0;
    for (unsigned k = 0; k < core->fleet.n && count > 0; k++) {
        unsigned i = (from + k) % core->fleet.n;
        if (!fence_set_has(set, i))
            continue;
        first |= fence_set_of(i);
        count--;
    }
    return first;
}

static unsigned ring_from(const struct fence_core *core, uint16_t slot)
{
    return core->config.ask == FENCE_ASK_SPREAD ? slot % core->fleet.n : 0;
}

uint32_t core_hedge_first(const struct fence_core *core, uint16_t slot, uint32_t *ret_spare)
{
    uint32_t active = fence_fleet_active(&core->fleet);
    unsigned majority = fence_majority(core->fleet.n);
    unsigned from = ring_from(core, slot);
    *ret_spare = 0;
    if (core->config.ask == FENCE_ASK_ALL)
        return active;
    uint32_t slow = active & fence_latency_slow(core->latencies, core->fleet.n);
    uint32_t first = ring(core, active & ~slow, from, majority);
    first |= ring(core, slow, from, majority - fence_set_count(first));
    *ret_spare = active & ~first;
    return first;
}

uint32_t core_hedge_tries(struct fence_core *core, uint32_t spare)
{
    uint32_t tries = 0;
    for (unsigned i = 0; i < core->fleet.n; i++)
        if (fence_set_has(spare, i) && fence_latency_try(&core->latencies[i], core->now_us))
            tries |= fence_set_of(i);
    return tries;
}

void core_hedge_try(struct fence_core *core, uint32_t tries, uint64_t round)
{
    for (unsigned i = 0; i < core->fleet.n; i++)
        if (fence_set_has(tries, i))
            core->latencies[i].tried_round = round;
}

void core_hedge_tried(struct fence_core *core, unsigned i, uint64_t round,
                      enum fence_reply_kind kind)
{
    struct fence_latency *latency = &core->latencies[i];
    if (round == 0 || latency->tried_round != round || kind == FENCE_REPLY_LOST)
        return;
    fence_latency_tried(
        latency, core->now_us - latency->tried_us,
        fence_latency_hedge_us(core->latencies, core->fleet.n, core->fleet.deadline_us),
        core->now_us);
}

static uint64_t hedge_due_us(const struct fence_core *core, const struct call *call)
{
    uint64_t hedge_us =
        fence_latency_hedge_us(core->latencies, core->fleet.n, core->fleet.deadline_us);
    uint64_t part_us = call->timeout_us / FENCE_HEDGE_ROUND_PART;
    uint64_t due_us = core->now_us + (hedge_us < part_us ? hedge_us : part_us);
    return due_us < call->round_ends_us ? due_us : call->round_ends_us;
}

void core_hedge_begin(struct fence_core *core, struct call *call, uint32_t first, bool hedged,
                      uint64_t timeout_us)
{
    call->first = first;
    call->late = call->spares = 0;
    call->hedged = hedged;
    call->asked_us = core->now_us;
    call->timeout_us = timeout_us;
    call->round_ends_us = core->now_us + timeout_us;
    core_wake_at(core, call, hedged ? hedge_due_us(core, call) : call->round_ends_us);
}

/* Those asked first may have been slow from the start. Then only the spares tell what is usual. */
static void spare_answered(struct fence_core *core, const struct call *call, unsigned i)
{
    uint64_t took_us = core->now_us - call->spares_us;
    if (took_us <= fence_latency_hedge_us(core->latencies, core->fleet.n, core->fleet.deadline_us))
        fence_latency_answered(&core->latencies[i], took_us, core->now_us);
    else
        fence_latency_answered_late(&core->latencies[i], took_us, core->now_us);
}

void core_hedge_answered(struct fence_core *core, const struct call *call, unsigned i,
                         enum fence_reply_kind kind)
{
    assert(i < core->fleet.n);
    if (kind == FENCE_REPLY_LOST)
        return;
    if (fence_set_has(call->spares, i))
        spare_answered(core, call, i);
    if (!fence_set_has(call->first, i))
        return;
    uint64_t took_us = core->now_us - call->asked_us;
    /* Without a hedge nothing says what would have been late. */
    if (!call->hedged || fence_set_has(call->late, i))
        fence_latency_answered_late(&core->latencies[i], took_us, core->now_us);
    else
        fence_latency_answered(&core->latencies[i], took_us, core->now_us);
}

void core_hedge_again(struct fence_core *core, const struct call *call)
{
    core_wake_at(core, call, hedge_due_us(core, call));
}

bool core_hedge_timer(struct fence_core *core, struct call *call, struct fence_tally *tally,
                      uint32_t *ret_set)
{
    if (core->now_us >= call->round_ends_us)
        return true;
    assert(core->fleet.n > 0);
    uint32_t late = tally->open & ~call->late;
    for (unsigned i = 0; i < core->fleet.n; i++)
        if (fence_set_has(late & call->first, i))
            fence_latency_missed(&core->latencies[i], core->now_us - call->asked_us, core->now_us);
    call->late |= late;
    fence_tally_drop(tally, ~fence_fleet_active(&core->fleet));
    *ret_set = ring(core, tally->spare, ring_from(core, call->slot), fence_set_count(late));
    core->counts.hedges += fence_set_count(*ret_set);
    if (*ret_set != 0) {
        call->spares = *ret_set;
        call->spares_us = core->now_us;
    }
    if (tally->spare != 0 || *ret_set != 0)
        core_hedge_again(core, call);
    else
        core_wake_at(core, call, call->round_ends_us);
    return false;
}
