/* A hash table over slots that somebody else numbers: chains of slots, by the hash of what each
 * holds. It compares nothing; the owner does. One thread. */
#ifndef FENCE_BASE_TABLE_H
#define FENCE_BASE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define FENCE_TABLE_NONE UINT32_MAX

struct fence_table {
    uint32_t capacity; /* number of slots, and of chains */
    uint32_t *chains;  /* the first slot of each; FENCE_TABLE_NONE: it is empty */
    uint32_t *next;    /* next slot after each slot in a chain */
};

/* For slots 0 .. @capacity - 1, a power of two; none is in it. False: no memory. */
bool fence_table_init(struct fence_table *table, uint32_t capacity);
void fence_table_fini(struct fence_table *table);

/* @slot, which is not in it, goes to the front of the chain of @hash; and out of it again. */
void fence_table_add(struct fence_table *table, uint64_t hash, uint32_t slot);
void fence_table_remove(struct fence_table *table, uint64_t hash, uint32_t slot);

/* The first slot of the chain of @hash, and the next one behind @slot; FENCE_TABLE_NONE: no more.
 * A chain also has slots of other hashes. */
static inline uint32_t fence_table_first(const struct fence_table *table, uint64_t hash)
{
    return table->chains[hash & (table->capacity - 1)];
}

static inline uint32_t fence_table_next(const struct fence_table *table, uint32_t slot)
{
    return table->next[slot];
}

#endif
