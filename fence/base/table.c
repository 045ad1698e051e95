#include "fence/base/table.h"

#include <assert.h>
#include <stdlib.h>

bool fence_table_init(struct fence_table *table, uint32_t capacity)
{
    assert(capacity > 0 && (capacity & (capacity - 1)) == 0);
    table->capacity = capacity;
    table->chains = calloc(capacity, sizeof(*table->chains));
    table->next = calloc(capacity, sizeof(*table->next));
    if (!table->chains || !table->next) {
        fence_table_fini(table);
        return false;
    }
    for (uint32_t i = 0; i < capacity; i++)
        table->chains[i] = FENCE_TABLE_NONE;
    return true;
}

void fence_table_fini(struct fence_table *table)
{
    free(table->chains);
    free(table->next);
    *table = (struct fence_table){.capacity = 0};
}

void fence_table_add(struct fence_table *table, uint64_t hash, uint32_t slot)
{
    assert(slot < table->capacity);
    uint32_t *chain = &table->chains[hash & (table->capacity - 1)];
    table->next[slot] = *chain;
    *chain = slot;
}

void fence_table_remove(struct fence_table *table, uint64_t hash, uint32_t slot)
{
    uint32_t *at = &table->chains[hash & (table->capacity - 1)];
    while (*at != slot) {
        assert(*at != FENCE_TABLE_NONE);
        at = &table->next[*at];
    }
    *at = table->next[slot];
}
