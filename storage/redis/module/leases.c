#include "storage/redis/module/leases.h"

#include "fence/base/keyed.h"
#include "fence/base/table.h"
#include "fence/base/timers.h"
#include "storage/redis/module/api.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    LEASES_MIN = 1024, /* slots at first; they double */
    US_IN_MS = 1000,
};

/* A slot without a key is free, and @hash is the next free one. */
struct lease {
    char *key;
    size_t len;
    uint64_t hash;
};

static struct {
    bool emptied; /* since a sweep began that looks at all locks */
    uint64_t seed[2];
    struct lease *lease;
    uint32_t capacity;
    uint32_t count;
    uint32_t first_free;
    uint32_t found; /* the slot that was found last; it may be free now */
    struct fence_table by_key;
    struct fence_timers by_end;
} leases = {.emptied = true};

uint64_t storage_module_now_ms(void)
{
    return redis.now_us() / US_IN_MS;
}

bool storage_module_leases_init(void)
{
    return getrandom(leases.seed, sizeof(leases.seed), 0) == (ssize_t)sizeof(leases.seed);
}

/* ---- room ------------------------------------------------------------------------------------ */

static void free_slots(void)
{
    free(leases.lease);
    fence_table_fini(&leases.by_key);
    fence_timers_fini(&leases.by_end);
    leases.lease = NULL;
    leases.capacity = leases.count = 0;
}

/* In the order of the heap, so that no timer has to rise. */
static void move_to(struct fence_table *table, struct fence_timers *timers)
{
    for (uint32_t at = 0; at < leases.by_end.count; at++) {
        const uint32_t slot = leases.by_end.heap[at];
        fence_table_add(table, leases.lease[slot].hash, slot);
        fence_timers_set(timers, slot, leases.by_end.due_us[slot]);
    }
    fence_table_fini(&leases.by_key);
    fence_timers_fini(&leases.by_end);
    leases.by_key = *table;
    leases.by_end = *timers;
}

/* Doubles the slots, none of which is free. */
static bool grow(void)
{
    const uint32_t capacity = leases.capacity ? 2 * leases.capacity : LEASES_MIN;
    struct fence_table table;
    struct fence_timers timers;
    if (capacity > STORAGE_MODULE_LEASES_MAX || !fence_table_init(&table, capacity))
        return false;
    if (!fence_timers_init(&timers, capacity)) {
        fence_table_fini(&table);
        return false;
    }
    struct lease *lease = realloc(leases.lease, capacity * sizeof(*lease));
    if (!lease) {
        fence_table_fini(&table);
        fence_timers_fini(&timers);
        return false;
    }
    leases.lease = lease;
    for (uint32_t slot = leases.capacity; slot < capacity; slot++)
        lease[slot] = (struct lease){.hash = slot + 1};
    leases.first_free = leases.capacity;
    leases.capacity = capacity;
    move_to(&table, &timers);
    return true;
}

/* ---- one lease ------------------------------------------------------------------------------- */

static bool is_of(uint32_t slot, const char *key, size_t len)
{
    const struct lease *lease = &leases.lease[slot];
    return lease->key && lease->len == len && memcmp(lease->key, key, len) == 0;
}

/* A request looks at one lock a few times: the slot that was found last is tried first. */
static uint32_t find_lease(const char *key, size_t len, uint64_t *ret_hash)
{
    if (leases.found < leases.capacity && is_of(leases.found, key, len)) {
        *ret_hash = leases.lease[leases.found].hash;
        return leases.found;
    }
    *ret_hash = fence_keyed_hash(key, len, leases.seed);
    if (leases.count == 0)
        return FENCE_TABLE_NONE;
    uint32_t slot = fence_table_first(&leases.by_key, *ret_hash);
    while (slot != FENCE_TABLE_NONE && !is_of(slot, key, len))
        slot = fence_table_next(&leases.by_key, slot);
    if (slot != FENCE_TABLE_NONE)
        leases.found = slot;
    return slot;
}

/* FENCE_TABLE_NONE: no memory. */
static uint32_t add_lease(const char *key, size_t len, uint64_t hash)
{
    char *copy = malloc(len);
    if (!copy || (leases.count == leases.capacity && !grow())) {
        free(copy);
        return FENCE_TABLE_NONE;
    }
    const uint32_t slot = leases.first_free;
    leases.first_free = (uint32_t)leases.lease[slot].hash;
    memcpy(copy, key, len);
    struct lease *lease = &leases.lease[slot];
    *lease = (struct lease){.len = len, .hash = hash};
    lease->key = copy;
    leases.count++;
    fence_table_add(&leases.by_key, hash, slot);
    return slot;
}

static void remove_lease(uint32_t slot)
{
    struct lease *lease = &leases.lease[slot];
    fence_table_remove(&leases.by_key, lease->hash, slot);
    fence_timers_set(&leases.by_end, slot, FENCE_NEVER);
    free(lease->key);
    *lease = (struct lease){.hash = leases.first_free};
    leases.first_free = slot;
    leases.count--;
    if (leases.count == 0 && leases.capacity > LEASES_MIN)
        free_slots();
}

bool storage_module_lease_set(const char *key, size_t len, uint64_t end_ms)
{
    uint64_t hash = 0;
    uint32_t slot = find_lease(key, len, &hash);
    assert(len > 0 && len <= STORAGE_MODULE_KEY_MAX);
    if (slot == FENCE_TABLE_NONE)
        slot = add_lease(key, len, hash);
    if (slot == FENCE_TABLE_NONE)
        return false;
    fence_timers_set(&leases.by_end, slot, end_ms * US_IN_MS);
    return true;
}

uint64_t storage_module_lease_end(const char *key, size_t len, uint64_t now_ms, uint64_t lease_ms)
{
    uint64_t hash = 0;
    const uint32_t slot = find_lease(key, len, &hash);
    if (slot != FENCE_TABLE_NONE)
        return leases.by_end.due_us[slot] / US_IN_MS;
    (void)!storage_module_lease_set(key, len, now_ms + lease_ms);
    return now_ms + lease_ms;
}

void storage_module_lease_forget(const char *key, size_t len)
{
    uint64_t hash = 0;
    const uint32_t slot = find_lease(key, len, &hash);
    if (slot != FENCE_TABLE_NONE)
        remove_lease(slot);
}

/* ---- all of them ----------------------------------------------------------------------------- */

void storage_module_leases_forget_all(void)
{
    leases.emptied = true;
    for (uint32_t slot = 0; slot < leases.capacity; slot++)
        free(leases.lease[slot].key);
    free_slots();
}

bool storage_module_leases_take_emptied(void)
{
    const bool emptied = leases.emptied;
    leases.emptied = false;
    return emptied;
}

bool storage_module_leases_due(uint64_t now_ms)
{
    return leases.count > 0 && fence_timers_next_us(&leases.by_end) <= now_ms * US_IN_MS;
}

bool storage_module_leases_pop(uint64_t now_ms, char ret_key[static STORAGE_MODULE_KEY_MAX],
                               size_t *ret_len)
{
    if (!storage_module_leases_due(now_ms))
        return false;
    const uint32_t slot = fence_timers_first(&leases.by_end);
    *ret_len = leases.lease[slot].len;
    memcpy(ret_key, leases.lease[slot].key, *ret_len);
    remove_lease(slot);
    return true;
}
