#include "fence/core/clients.h"

#include "fence/protocol/limits.h"

#include <assert.h>
#include <stdlib.h>

int core_clients_init(struct core_clients *clients, uint32_t capacity)
{
    assert(capacity > 0 && (capacity & (capacity - 1)) == 0);
    clients->capacity = capacity;
    clients->buckets = calloc(capacity, sizeof(*clients->buckets));
    clients->places = calloc(capacity, sizeof(*clients->places));
    if (!clients->buckets || !clients->places) {
        core_clients_fini(clients);
        return FENCE_ENOMEM;
    }
    for (uint32_t i = 0; i < capacity; i++)
        clients->buckets[i] = FENCE_NOBODY;
    return 0;
}

void core_clients_fini(struct core_clients *clients)
{
    free(clients->buckets);
    free(clients->places);
    *clients = (struct core_clients){0};
}

/* Clients are numbered by the program, often by addresses: their low bits are alike. The upper bits
 * of the product depend on all of them (Knuth, The Art of Computer Programming 3, 6.4). */
static uint32_t *client_bucket_of(const struct core_clients *clients, uint64_t client)
{
    uint64_t product = client * UINT64_C(0x9e3779b97f4a7c15);
    return &clients->buckets[(product >> 32) & (clients->capacity - 1)];
}

void core_clients_add(struct core_clients *clients, uint32_t index, uint64_t client)
{
    uint32_t *bucket = client_bucket_of(clients, client);
    clients->places[index].client = client;
    clients->places[index].next = *bucket;
    *bucket = index;
}

void core_clients_remove(struct core_clients *clients, uint32_t index)
{
    uint32_t *at = client_bucket_of(clients, clients->places[index].client);
    while (*at != index) {
        assert(*at != FENCE_NOBODY);
        at = &clients->places[*at].next;
    }
    *at = clients->places[index].next;
}

uint32_t core_clients_find(const struct core_clients *clients, uint64_t client)
{
    uint32_t at = *client_bucket_of(clients, client);
    while (at != FENCE_NOBODY && clients->places[at].client != client)
        at = clients->places[at].next;
    return at;
}
