/* One round of questions to masters, whatever is asked.
 *
 * A majority is all that a lock needs, so a round asks a majority first: the first of the active
 * masters, or those from the slot of the resource on. All servers so ask the same masters, and the
 * counters of those stay in step. The other active masters are spare. The round asks a spare master
 * where another one is slow or silent (fence/round/hedge.h), where one refuses, or where the
 * answers do not settle the round.
 *
 * This is as safe as asking all. A master that is not asked is one whose request was lost, and a
 * master that is asked later is one whose request was late.
 *
 * A round that keeps to a view asks no more masters once the fleet has another view. The meaning of
 * the answers is the affair of the call: each kind of call has its own verdict over the tally. */
#ifndef FENCE_ROUND_ROUND_H
#define FENCE_ROUND_ROUND_H

#include "fence/fleet/fleet.h"
#include "fence/fleet/latency.h"
#include "fence/protocol/ask.h"
#include "fence/round/tally.h"

/* The knowledge of a round about the masters, at one moment. */
struct fence_round_masters {
    const struct fence_fleet *fleet;
    struct fence_latency *latencies; /* one a master */
    enum fence_ask ask;
    uint64_t now_us;
};

struct fence_round {
    uint64_t serial;     /* names the round in the tags of its requests; 0: none is under way */
    uint64_t generation; /* generation of the view that the round began with */
    uint64_t asked_us;   /* when the first masters were asked */
    uint64_t timeout_us; /* how long the round may take */
    uint64_t ends_us;
    bool hedged;        /* a spare master is asked where another one is late */
    uint32_t first;     /* set of the masters that were asked first */
    uint32_t late;      /* set of the masters that did not answer before a hedge */
    uint32_t spares;    /* set of the masters that the last hedge asked */
    uint64_t spares_us; /* when that hedge asked */
};

/* The masters that a round about @slot asks first. The other active masters are *@ret_spare. */
uint32_t fence_round_first(const struct fence_round_masters *masters, uint16_t slot,
                           uint32_t *ret_spare);

/* The first @count masters of @set, in the order in which a round about @slot asks them. */
uint32_t fence_round_ring(const struct fence_round_masters *masters, uint32_t set, uint16_t slot,
                          unsigned count);

/* Reports whether the fleet has another view than the round began with. */
bool fence_round_outdated(const struct fence_round *round,
                          const struct fence_round_masters *masters);

#endif
