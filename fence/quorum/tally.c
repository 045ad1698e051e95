#include "fence/quorum/tally.h"

#include "fence/base/set.h"

#include <assert.h>

void fence_tally_begin(struct fence_tally *tally, unsigned n, uint32_t asked)
{
    assert(n <= FENCE_MASTERS_MAX && asked < fence_set_of(n));
    tally->n = n;
    tally->asked = asked;
    tally->open = asked;
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        tally->parts[i] = i < n && !fence_set_has(asked, i) ? FENCE_PART_DOWN : FENCE_PART_PENDING;
}

bool fence_tally_record(struct fence_tally *tally, unsigned i, enum fence_part part)
{
    assert(i < tally->n);
    uint32_t bit = fence_set_of(i);
    if (!(tally->open & bit))
        return false;
    tally->open &= ~bit;
    tally->parts[i] = part;
    return true;
}

void fence_tally_give_up(struct fence_tally *tally)
{
    for (unsigned i = 0; i < tally->n; i++)
        (void)fence_tally_record(tally, i, FENCE_PART_TIMEOUT);
}

unsigned fence_tally_count(const struct fence_tally *tally, enum fence_part part)
{
    unsigned count = 0;
    for (unsigned i = 0; i < tally->n; i++)
        count += tally->parts[i] == part;
    return count;
}

unsigned fence_tally_unknown(const struct fence_tally *tally)
{
    return fence_tally_count(tally, FENCE_PART_DOWN) + fence_tally_count(tally, FENCE_PART_TIMEOUT);
}

unsigned fence_tally_open(const struct fence_tally *tally)
{
    return fence_set_count(tally->open);
}
