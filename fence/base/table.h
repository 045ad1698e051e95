/* A hash table over slots that its owner numbers: chains of slots, by the hash of the content of
 * each slot. The table compares no content; the owner does. One thread. */
#ifndef FENCE_BASE_TABLE_H
#define FENCE_BASE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define FENCE_TABLE_NONE UINT32_MAX

struct fence_table {
    uint32_t capacity; /* number of slots, and of chains */
    uint32_t *chains;  /* the first slot of each chain; FENCE_TABLE_NONE: the chain is empty */
    uint32_t *next;    /* the slot behind each slot in its chain */
};

/* Makes an empty table for slots 0 .. @capacity - 1. Returns false if there is no memory.
 * Precondition: @capacity is a power of two. */
bool fence_table_init(struct fence_table *table, uint32_t capacity);
void fence_table_fini(struct fence_table *table);

/* The first function adds @slot, which is not in the table, at the front of the chain of @hash. The
 * second removes it. */
void fence_table_add(struct fence_table *table, uint64_t hash, uint32_t slot);
void fence_table_remove(struct fence_table *table, uint64_t hash, uint32_t slot);

/* Return the first slot of the chain of @hash, and the slot behind @slot; FENCE_TABLE_NONE: no
 * more. A chain also has slots with other hashes. */
static inline uint32_t fence_table_first(const struct fence_table *table, uint64_t hash)
{
    return table->chains[hash & (table->capacity - 1)];
}

static inline uint32_t fence_table_next(const struct fence_table *table, uint32_t slot)
{
    return table->next[slot];
}

#endif
