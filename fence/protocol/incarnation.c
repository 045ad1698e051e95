#include "fence/protocol/incarnation.h"

#include <assert.h>

int64_t fence_incarnation_next(int64_t before, uint64_t random)
{
    assert(before >= 0 && before <= FENCE_INCARNATION_MAX);
    int64_t count = (before >> FENCE_INCARNATION_MEMORY_SHIFT) + 1;
    int64_t mask = (INT64_C(1) << FENCE_INCARNATION_RANDOM_BITS) - 1;
    return count << FENCE_INCARNATION_MEMORY_SHIFT | ((int64_t)(random >> 1) & mask)
                                                         << FENCE_INCARNATION_TRY_BITS;
}

bool fence_incarnation_same_memory(int64_t a, int64_t b)
{
    assert(a >= 0 && b >= 0);
    return a >> FENCE_INCARNATION_TRY_BITS == b >> FENCE_INCARNATION_TRY_BITS;
}

bool fence_incarnation_is_first(int64_t incarnation)
{
    assert(incarnation >= 0);
    int64_t tries = incarnation & ((INT64_C(1) << FENCE_INCARNATION_TRY_BITS) - 1);
    return incarnation >> FENCE_INCARNATION_MEMORY_SHIFT <= 1 && tries == 0;
}

int64_t fence_incarnation_next_try(int64_t own, int64_t before, uint64_t random)
{
    assert(own >= 0 && before >= own);
    int64_t mask = (INT64_C(1) << FENCE_INCARNATION_TRY_LEAP_BITS) - 1;
    int64_t next = before + 1 + ((int64_t)(random >> 1) & mask);
    return fence_incarnation_same_memory(own, next) ? next : 0;
}
