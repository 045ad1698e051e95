#include "server/loop/leases.h"

#include "server/loop/holds.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Returns the first of the places for @key. */
static unsigned places_of(uint64_t key)
{
    return (unsigned)(key >> 40) & (SERVER_LEASES - 1) & ~(unsigned)(SERVER_LEASES_BESIDE - 1);
}

/* Returns the place of @key; SERVER_LEASES: it has none. */
static unsigned find_place(const struct server_leases *leases, uint64_t key)
{
    const unsigned first = places_of(key);
    for (unsigned i = first; i < first + SERVER_LEASES_BESIDE; i++)
        if (leases->keys[i] == key)
            return i;
    return SERVER_LEASES;
}

/* Returns a free place for @key, or the place of the lease that ends first. */
static unsigned choose_place(const struct server_leases *leases, uint64_t key)
{
    const unsigned first = places_of(key);
    unsigned best = first;
    for (unsigned i = first; i < first + SERVER_LEASES_BESIDE; i++) {
        if (leases->keys[i] == 0)
            return i;
        if (leases->ends_us[i] < leases->ends_us[best])
            best = i;
    }
    return best;
}

void server_leases_put(struct server_leases *leases, const char *lock_id, const char *resource,
                       const struct server_lease_terms *terms)
{
    const uint64_t key = server_hold_key(lock_id, resource);
    unsigned place = find_place(leases, key);
    const bool known = place < SERVER_LEASES;
    if (!known)
        place = choose_place(leases, key);
    struct server_lease *lease = &leases->each[place];
    leases->keys[place] = key;
    leases->ends_us[place] = terms->ends_us;
    lease->token = terms->token;
    (void)snprintf(lease->resource, sizeof(lease->resource), "%s", resource);
    if (!known || terms->owner[0] != '\0')
        (void)snprintf(lease->owner, sizeof(lease->owner), "%s", terms->owner);
}

const struct server_lease *server_leases_find(const struct server_leases *leases,
                                              const char *lock_id, const char *resource)
{
    const unsigned place = find_place(leases, server_hold_key(lock_id, resource));
    return place < SERVER_LEASES ? &leases->each[place] : NULL;
}

const struct server_lease *server_leases_take(struct server_leases *leases, const char *lock_id,
                                              const char *resource)
{
    const unsigned place = find_place(leases, server_hold_key(lock_id, resource));
    if (place == SERVER_LEASES)
        return NULL;
    leases->keys[place] = 0;
    return &leases->each[place];
}

void server_leases_end(struct server_leases *leases, uint64_t now_us,
                       void (*ended)(void *context, const struct server_lease *lease),
                       void *context)
{
    if (now_us < leases->look_us)
        return;
    leases->look_us = now_us + SERVER_LEASES_LOOK_MS * UINT64_C(1000);
    for (unsigned i = 0; i < SERVER_LEASES; i++) {
        if (leases->keys[i] == 0 || leases->ends_us[i] > now_us)
            continue;
        leases->keys[i] = 0;
        ended(context, &leases->each[i]);
    }
}
