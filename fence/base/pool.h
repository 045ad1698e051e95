/* Slots of a table, numbered from 0: which of them are free. The one that became free last is taken
 * first. One thread. */
#ifndef FENCE_BASE_POOL_H
#define FENCE_BASE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#define FENCE_POOL_NONE UINT32_MAX

struct fence_pool {
    uint32_t capacity;
    uint32_t used;
    uint32_t free; /* the first free slot; FENCE_POOL_NONE: all are taken */
    uint32_t
        *next; /* the index after each free slot: the one behind it. For a taken slot: a mark */
};

/* All @capacity slots are free, 0 first. False: no memory. Precondition: @capacity > 0. */
bool fence_pool_init(struct fence_pool *pool, uint32_t capacity);
void fence_pool_fini(struct fence_pool *pool);

/* Takes a slot. FENCE_POOL_NONE if none is free. */
uint32_t fence_pool_take(struct fence_pool *pool);

/* Gives @slot back. Precondition: it is taken. */
void fence_pool_give(struct fence_pool *pool, uint32_t slot);

static inline bool fence_pool_full(const struct fence_pool *pool)
{
    return pool->free == FENCE_POOL_NONE;
}

/* Reports whether @slot is taken; and of a free one the next that would be taken behind it. */
bool fence_pool_is_taken(const struct fence_pool *pool, uint32_t slot);
uint32_t fence_pool_behind(const struct fence_pool *pool, uint32_t slot);

#endif
