/* Small sets: bit i tells whether i is in the set. */
#ifndef FENCE_BASE_SET_H
#define FENCE_BASE_SET_H

#include <stdbool.h>
#include <stdint.h>

/* The set of @i alone, and the set of 0 .. @n - 1. Preconditions: @i < 32, @n < 32. */
static inline uint32_t fence_set_of(unsigned i)
{
    return UINT32_C(1) << i;
}

static inline uint32_t fence_set_below(unsigned n)
{
    return (UINT32_C(1) << n) - 1;
}

static inline bool fence_set_has(uint32_t set, unsigned i)
{
    return set >> i & 1;
}

static inline unsigned fence_set_count(uint32_t set)
{
    return (unsigned)__builtin_popcount(set);
}

/* Returns the least element of @set. Precondition: @set is not empty. */
static inline unsigned fence_set_first(uint32_t set)
{
    return (unsigned)__builtin_ctz(set);
}

#endif
