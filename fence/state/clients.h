/* A table from clients to their calls: finds the call of a client that has disconnected. A hash
 * table with a fixed number of places. Nothing is allocated after init, and each operation is O(1)
 * on average. */
#ifndef FENCE_STATE_CLIENTS_H
#define FENCE_STATE_CLIENTS_H

#include "fence/base/table.h"
#include "fence/protocol/error.h"

#include <stdint.h>

struct core_clients {
    struct fence_table table; /* indexes calls, by their clients */
    uint64_t *client;         /* hash of the client of each call */
};

/* Makes a table for calls numbered 0 .. @capacity - 1. Precondition: @capacity is a power of two.
 * FENCE_ENOMEM. */
FENCE_CHECKED int core_clients_init(struct core_clients *clients, uint32_t capacity);
void core_clients_fini(struct core_clients *clients);

/* Adds call @index of @client. Precondition: @client is not in the table. A client has at most one
 * call. */
void core_clients_add(struct core_clients *clients, uint32_t index, uint64_t client);

/* Removes call @index, which is in the table. */
void core_clients_remove(struct core_clients *clients, uint32_t index);

/* Returns the call of @client; FENCE_NOBODY if there is none. */
uint32_t core_clients_find(const struct core_clients *clients, uint64_t client);

#endif
