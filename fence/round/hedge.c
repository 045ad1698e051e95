#include "fence/round/hedge.h"

#include "fence/base/set.h"

#include <assert.h>

static uint64_t usual_us(const struct fence_round_masters *masters)
{
    return fence_latency_hedge_us(masters->latencies, masters->fleet->n,
                                  masters->fleet->deadline_us);
}

/* ---- the timer of a round -------------------------------------------------------------------- */

uint64_t fence_round_hedge_us(const struct fence_round *round,
                              const struct fence_round_masters *masters)
{
    const uint64_t late_us = usual_us(masters);
    const uint64_t part_us = round->timeout_us / FENCE_HEDGE_ROUND_PART;
    const uint64_t due_us = masters->now_us + (late_us < part_us ? late_us : part_us);
    return due_us < round->ends_us ? due_us : round->ends_us;
}

uint64_t fence_round_begin(struct fence_round *round, const struct fence_round_masters *masters,
                           uint32_t first, bool hedged, uint64_t timeout_us)
{
    round->first = first;
    round->late = round->spares = 0;
    round->hedged = hedged;
    round->asked_us = masters->now_us;
    round->timeout_us = timeout_us;
    round->ends_us = masters->now_us + timeout_us;
    return hedged ? fence_round_hedge_us(round, masters) : round->ends_us;
}

uint32_t fence_round_hedge(struct fence_round *round, const struct fence_round_masters *masters,
                           struct fence_tally *tally, uint16_t slot, uint64_t *ret_due_us)
{
    assert(masters->now_us < round->ends_us && masters->fleet->n == tally->n);
    const uint32_t late = tally->open & ~round->late;
    for (unsigned i = 0; i < tally->n; i++)
        if (fence_set_has(late & round->first, i))
            fence_latency_missed(&masters->latencies[i], masters->now_us - round->asked_us,
                                 masters->now_us);
    round->late |= late;
    fence_tally_drop(tally, ~fence_fleet_active(masters->fleet));
    const uint32_t set = fence_round_ring(masters, tally->spare, slot, fence_set_count(late));
    if (set != 0) {
        round->spares = set;
        round->spares_us = masters->now_us;
    }
    *ret_due_us = tally->spare != 0 ? fence_round_hedge_us(round, masters) : round->ends_us;
    return set;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Those asked first may have been slow from the start. Then only the spares tell what is usual. */
static void spare_answered(const struct fence_round *round,
                           const struct fence_round_masters *masters, unsigned i)
{
    const uint64_t took_us = masters->now_us - round->spares_us;
    if (took_us <= usual_us(masters))
        fence_latency_answered(&masters->latencies[i], took_us, masters->now_us);
    else
        fence_latency_answered_late(&masters->latencies[i], took_us, masters->now_us);
}

void fence_round_answered(const struct fence_round *round,
                          const struct fence_round_masters *masters, unsigned i,
                          enum fence_reply_kind kind)
{
    assert(i < masters->fleet->n);
    if (kind == FENCE_REPLY_LOST)
        return;
    if (fence_set_has(round->spares, i))
        spare_answered(round, masters, i);
    if (!fence_set_has(round->first, i))
        return;
    const uint64_t took_us = masters->now_us - round->asked_us;
    /* Without a hedge nothing says what would have been late. */
    if (!round->hedged || fence_set_has(round->late, i))
        fence_latency_answered_late(&masters->latencies[i], took_us, masters->now_us);
    else
        fence_latency_answered(&masters->latencies[i], took_us, masters->now_us);
}

/* ---- slow masters on trial ------------------------------------------------------------------- */

uint32_t fence_round_begin_trials(const struct fence_round_masters *masters, uint32_t spare,
                                  uint64_t serial)
{
    uint32_t tries = 0;
    for (unsigned i = 0; i < masters->fleet->n; i++) {
        if (!fence_set_has(spare, i) ||
            !fence_latency_begin_trial(&masters->latencies[i], masters->now_us))
            continue;
        masters->latencies[i].trial_round = serial;
        tries |= fence_set_of(i);
    }
    return tries;
}

void fence_round_end_trial(const struct fence_round_masters *masters, unsigned i, uint64_t serial,
                           enum fence_reply_kind kind)
{
    struct fence_latency *latency = &masters->latencies[i];
    if (serial == 0 || latency->trial_round != serial || kind == FENCE_REPLY_LOST)
        return;
    fence_latency_end_trial(latency, masters->now_us - latency->trial_us, usual_us(masters),
                            masters->now_us);
}
