/* The slots of a table, numbered from 0: which slots are free. The slot that became free last is
 * taken first. One thread. */
#ifndef FENCE_BASE_POOL_H
#define FENCE_BASE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#define FENCE_POOL_NONE UINT32_MAX

struct fence_pool {
    uint32_t capacity;
    uint32_t used;
    uint32_t free;  /* the first free slot; FENCE_POOL_NONE: all are taken */
    uint32_t *next; /* for a free slot: the free slot behind it. For a taken slot: a mark */
};

/* Makes all @capacity slots free, slot 0 first. Returns false if there is no memory. Precondition:
 * @capacity > 0. */
bool fence_pool_init(struct fence_pool *pool, uint32_t capacity);
void fence_pool_fini(struct fence_pool *pool);

/* Takes a slot and returns it; FENCE_POOL_NONE if no slot is free. */
uint32_t fence_pool_take(struct fence_pool *pool);

/* Frees @slot. Precondition: @slot is taken. */
void fence_pool_give(struct fence_pool *pool, uint32_t slot);

static inline bool fence_pool_full(const struct fence_pool *pool)
{
    return pool->free == FENCE_POOL_NONE;
}

/* The first function reports whether @slot is taken. The second returns the slot behind the free
 * @slot. */
bool fence_pool_is_taken(const struct fence_pool *pool, uint32_t slot);
uint32_t fence_pool_behind(const struct fence_pool *pool, uint32_t slot);

#endif
