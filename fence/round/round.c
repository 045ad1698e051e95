#include "fence/round/round.h"

#include "fence/base/set.h"
#include "fence/protocol/lease.h"

#include <assert.h>

static unsigned ring_from(const struct fence_round_masters *masters, uint16_t slot)
{
    assert(masters->fleet->n > 0);
    return masters->ask == FENCE_ASK_SPREAD ? slot % masters->fleet->n : 0;
}

uint32_t fence_round_ring(const struct fence_round_masters *masters, uint32_t set, uint16_t slot,
                          unsigned count)
{
    const unsigned n = masters->fleet->n;
    const unsigned from = ring_from(masters, slot);
    uint32_t first = 0;
    for (unsigned k = 0; k < n && count > 0; k++) {
        unsigned i = (from + k) % n;
        if (!fence_set_has(set, i))
            continue;
        first |= fence_set_of(i);
        count--;
    }
    return first;
}

uint32_t fence_round_first(const struct fence_round_masters *masters, uint16_t slot,
                           uint32_t *ret_spare)
{
    const uint32_t active = fence_fleet_active(masters->fleet);
    const unsigned majority = fence_majority(masters->fleet->n);
    *ret_spare = 0;
    if (masters->ask == FENCE_ASK_ALL)
        return active;
    const uint32_t slow = active & fence_latency_slow(masters->latencies, masters->fleet->n);
    uint32_t first = fence_round_ring(masters, active & ~slow, slot, majority);
    first |= fence_round_ring(masters, slow, slot, majority - fence_set_count(first));
    *ret_spare = active & ~first;
    return first;
}

bool fence_round_outdated(const struct fence_round *round,
                          const struct fence_round_masters *masters)
{
    return round->generation != masters->fleet->generation;
}
