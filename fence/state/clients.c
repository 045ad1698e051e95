#include "fence/state/clients.h"

#include "fence/protocol/limits.h"

#include <assert.h>
#include <stdlib.h>

int core_clients_init(struct core_clients *clients, uint32_t capacity)
{
    clients->client = calloc(capacity, sizeof(*clients->client));
    if (!fence_table_init(&clients->table, capacity) || !clients->client) {
        core_clients_fini(clients);
        return FENCE_ENOMEM;
    }
    return 0;
}

void core_clients_fini(struct core_clients *clients)
{
    fence_table_fini(&clients->table);
    free(clients->client);
    clients->client = NULL;
}

/* The program numbers clients, often by addresses: their low bits are alike. The upper bits of the
 * product depend on all bits (Knuth, The Art of Computer Programming 3, 6.4). */
static uint64_t hash_client(uint64_t client)
{
    return client * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

void core_clients_add(struct core_clients *clients, uint32_t index, uint64_t client)
{
    clients->client[index] = client;
    fence_table_add(&clients->table, hash_client(client), index);
}

void core_clients_remove(struct core_clients *clients, uint32_t index)
{
    fence_table_remove(&clients->table, hash_client(clients->client[index]), index);
}

uint32_t core_clients_find(const struct core_clients *clients, uint64_t client)
{
    uint32_t at = fence_table_first(&clients->table, hash_client(client));
    while (at != FENCE_TABLE_NONE && clients->client[at] != client)
        at = fence_table_next(&clients->table, at);
    return at;
}
