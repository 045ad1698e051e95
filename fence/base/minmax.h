/* The smaller and the larger of two numbers. */
#ifndef FENCE_BASE_MINMAX_H
#define FENCE_BASE_MINMAX_H

#include <stdint.h>

static inline uint64_t fence_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t fence_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline int64_t fence_min_signed(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t fence_max_signed(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
