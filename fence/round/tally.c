#include "fence/round/tally.h"

#include "fence/base/set.h"

#include <assert.h>

void fence_tally_begin(struct fence_tally *tally, unsigned n, uint32_t asked, uint32_t spare)
{
    assert(n <= FENCE_MASTERS_MAX && asked < fence_set_of(n) && spare < fence_set_of(n));
    assert((asked & spare) == 0);
    tally->n = n;
    tally->asked = asked;
    tally->open = asked;
    tally->spare = spare;
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        tally->parts[i] =
            i < n && !fence_set_has(asked | spare, i) ? FENCE_PART_DOWN : FENCE_PART_PENDING;
}

void fence_tally_ask(struct fence_tally *tally, uint32_t set)
{
    assert((set & ~tally->spare) == 0);
    tally->spare &= ~set;
    tally->asked |= set;
    tally->open |= set;
}

void fence_tally_drop(struct fence_tally *tally, uint32_t set)
{
    set &= tally->spare;
    tally->spare &= ~set;
    for (unsigned i = 0; i < tally->n; i++)
        if (fence_set_has(set, i))
            tally->parts[i] = FENCE_PART_DOWN;
}

void fence_tally_ask_again(struct fence_tally *tally, uint32_t set)
{
    assert((set & ~tally->asked) == 0 && (set & tally->open) == 0);
    tally->open |= set;
    for (unsigned i = 0; i < tally->n; i++)
        if (fence_set_has(set, i))
            tally->parts[i] = FENCE_PART_PENDING;
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
    fence_tally_drop(tally, tally->spare);
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
    return fence_set_count(tally->open | tally->spare);
}
