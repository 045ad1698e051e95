#include "fence/base/pool.h"

#include <assert.h>
#include <stdlib.h>

#define TAKEN (UINT32_MAX - 1) /* the mark of a slot that is taken */

bool fence_pool_init(struct fence_pool *pool, uint32_t capacity)
{
    assert(capacity > 0 && capacity < TAKEN);
    uint32_t *next = calloc(capacity, sizeof(*next));
    if (!next)
        return false;
    for (uint32_t i = 0; i < capacity; i++)
        next[i] = i + 1 < capacity ? i + 1 : FENCE_POOL_NONE;
    *pool = (struct fence_pool){.capacity = capacity, .next = next};
    return true;
}

void fence_pool_fini(struct fence_pool *pool)
{
    free(pool->next);
    *pool = (struct fence_pool){.free = FENCE_POOL_NONE};
}

uint32_t fence_pool_take(struct fence_pool *pool)
{
    uint32_t slot = pool->free;
    if (slot == FENCE_POOL_NONE)
        return FENCE_POOL_NONE;
    pool->free = pool->next[slot];
    pool->next[slot] = TAKEN;
    pool->used++;
    return slot;
}

void fence_pool_give(struct fence_pool *pool, uint32_t slot)
{
    assert(fence_pool_is_taken(pool, slot) && pool->used > 0);
    pool->next[slot] = pool->free;
    pool->free = slot;
    pool->used--;
}

bool fence_pool_is_taken(const struct fence_pool *pool, uint32_t slot)
{
    assert(slot < pool->capacity);
    return pool->next[slot] == TAKEN;
}

uint32_t fence_pool_behind(const struct fence_pool *pool, uint32_t slot)
{
    assert(!fence_pool_is_taken(pool, slot));
    return pool->next[slot];
}
