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
    PARTS_BITS = 10,
    PARTS = 1 << PARTS_BITS,
    PART_MIN = 16,                                    /* slots of a part at first; they double */
    PART_MAX = 2 * STORAGE_MODULE_LEASES_MAX / PARTS, /* parts are filled by hashes, not evenly */
    US_IN_MS = 1000,
};

/* A slot without a key is free, and @hash is the next free one. */
struct lease {
    char *key;
    size_t len;
    uint64_t hash;
};

/* The leases whose hashes begin with the same bits. A full part moves to twice the room alone, so
 * no call waits while all leases move: of a million, a thousand do. */
struct part {
    struct lease *lease;
    uint32_t capacity;
    uint32_t count;
    uint32_t first_free;
    struct fence_table by_key;
    struct fence_timers by_end;
};

static struct {
    bool emptied; /* since the start of a sweep over all locks */
    uint64_t seed[2];
    uint32_t count; /* in all parts */
    struct part part[PARTS];
    struct fence_timers by_part; /* when the first lease of each part ends */
    struct part *found_in;       /* the last lock that was found; it may be free now */
    uint32_t found;
} leases = {.emptied = true};

uint64_t storage_module_now_ms(void)
{
    return redis.now_us() / US_IN_MS;
}

bool storage_module_leases_init(void)
{
    leases.found_in = &leases.part[0];
    return getrandom(leases.seed, sizeof(leases.seed), 0) == (ssize_t)sizeof(leases.seed) &&
           fence_timers_init(&leases.by_part, PARTS);
}

void storage_module_leases_fini(void)
{
    if (leases.by_part.capacity > 0)
        storage_module_leases_forget_all();
    fence_timers_fini(&leases.by_part);
}

/* ---- room ------------------------------------------------------------------------------------ */

static struct part *part_with(uint64_t hash)
{
    return &leases.part[hash >> (64 - PARTS_BITS)];
}

/* The first lease of @part may be another one now. */
static void note_first(const struct part *part)
{
    fence_timers_set(&leases.by_part, (uint32_t)(part - leases.part),
                     fence_timers_next_us(&part->by_end));
}

static void free_slots(struct part *part)
{
    free(part->lease);
    fence_table_fini(&part->by_key);
    fence_timers_fini(&part->by_end);
    *part = (struct part){0};
}

/* Moves the leases in the order of the heap, so that no timer has to rise. */
static void move_to(struct part *part, struct fence_table *table, struct fence_timers *timers)
{
    for (uint32_t at = 0; at < part->by_end.count; at++) {
        const uint32_t slot = part->by_end.heap[at];
        fence_table_add(table, part->lease[slot].hash, slot);
        fence_timers_set(timers, slot, part->by_end.due_us[slot]);
    }
    fence_table_fini(&part->by_key);
    fence_timers_fini(&part->by_end);
    part->by_key = *table;
    part->by_end = *timers;
}

/* Doubles the slots, none of which is free. */
static bool grow(struct part *part)
{
    const uint32_t capacity = part->capacity ? 2 * part->capacity : PART_MIN;
    struct fence_table table;
    struct fence_timers timers;
    assert(part->count == part->capacity);
    if (capacity > PART_MAX || !fence_table_init(&table, capacity))
        return false;
    if (!fence_timers_init(&timers, capacity)) {
        fence_table_fini(&table);
        return false;
    }
    struct lease *lease = realloc(part->lease, capacity * sizeof(*lease));
    if (!lease) {
        fence_table_fini(&table);
        fence_timers_fini(&timers);
        return false;
    }
    part->lease = lease;
    for (uint32_t slot = part->capacity; slot < capacity; slot++)
        lease[slot] = (struct lease){.hash = slot + 1};
    part->first_free = part->capacity;
    part->capacity = capacity;
    move_to(part, &table, &timers);
    return true;
}

/* ---- one lease ------------------------------------------------------------------------------- */

static bool is_of(const struct part *part, uint32_t slot, const char *key, size_t len)
{
    const struct lease *lease = &part->lease[slot];
    return lease->key && lease->len == len && memcmp(lease->key, key, len) == 0;
}

/* A request looks at one lock a few times, so the last found slot is tried first. */
static uint32_t find_lease(const char *key, size_t len, uint64_t *ret_hash)
{
    struct part *part = leases.found_in;
    if (leases.found < part->capacity && is_of(part, leases.found, key, len)) {
        *ret_hash = part->lease[leases.found].hash;
        return leases.found;
    }
    *ret_hash = fence_keyed_hash(key, len, leases.seed);
    part = part_with(*ret_hash);
    if (part->count == 0)
        return FENCE_TABLE_NONE;
    uint32_t slot = fence_table_first(&part->by_key, *ret_hash);
    while (slot != FENCE_TABLE_NONE && !is_of(part, slot, key, len))
        slot = fence_table_next(&part->by_key, slot);
    if (slot != FENCE_TABLE_NONE) {
        leases.found_in = part;
        leases.found = slot;
    }
    return slot;
}

/* FENCE_TABLE_NONE: no memory. */
static uint32_t add_lease(const char *key, size_t len, uint64_t hash)
{
    struct part *part = part_with(hash);
    char *copy = leases.count < STORAGE_MODULE_LEASES_MAX ? malloc(len) : NULL;
    if (!copy || (part->count == part->capacity && !grow(part))) {
        free(copy);
        return FENCE_TABLE_NONE;
    }
    const uint32_t slot = part->first_free;
    part->first_free = (uint32_t)part->lease[slot].hash;
    memcpy(copy, key, len);
    struct lease *lease = &part->lease[slot];
    *lease = (struct lease){.len = len, .hash = hash};
    lease->key = copy;
    part->count++;
    leases.count++;
    fence_table_add(&part->by_key, hash, slot);
    return slot;
}

static void remove_lease(struct part *part, uint32_t slot)
{
    struct lease *lease = &part->lease[slot];
    assert(part->count > 0 && part->count <= leases.count);
    fence_table_remove(&part->by_key, lease->hash, slot);
    fence_timers_set(&part->by_end, slot, FENCE_NEVER);
    free(lease->key);
    *lease = (struct lease){.hash = part->first_free};
    part->first_free = slot;
    part->count--;
    leases.count--;
    if (part->count == 0 && part->capacity > PART_MIN)
        free_slots(part);
    note_first(part);
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
    fence_timers_set(&part_with(hash)->by_end, slot, end_ms * US_IN_MS);
    note_first(part_with(hash));
    return true;
}

uint64_t storage_module_lease_end(const char *key, size_t len, uint64_t now_ms, uint64_t lease_ms)
{
    uint64_t hash = 0;
    const uint32_t slot = find_lease(key, len, &hash);
    if (slot != FENCE_TABLE_NONE)
        return part_with(hash)->by_end.due_us[slot] / US_IN_MS;
    (void)!storage_module_lease_set(key, len, now_ms + lease_ms);
    return now_ms + lease_ms;
}

void storage_module_lease_forget(const char *key, size_t len)
{
    uint64_t hash = 0;
    const uint32_t slot = find_lease(key, len, &hash);
    if (slot != FENCE_TABLE_NONE)
        remove_lease(part_with(hash), slot);
}

/* ---- all of them ----------------------------------------------------------------------------- */

void storage_module_leases_forget_all(void)
{
    leases.emptied = true;
    for (struct part *part = leases.part; part < leases.part + PARTS; part++) {
        for (uint32_t slot = 0; slot < part->capacity; slot++)
            free(part->lease[slot].key);
        free_slots(part);
        note_first(part);
    }
    leases.count = 0;
}

bool storage_module_leases_take_emptied(void)
{
    const bool emptied = leases.emptied;
    leases.emptied = false;
    return emptied;
}

bool storage_module_leases_due(uint64_t now_ms)
{
    return leases.count > 0 && fence_timers_next_us(&leases.by_part) <= now_ms * US_IN_MS;
}

bool storage_module_leases_pop(uint64_t now_ms, char ret_key[static STORAGE_MODULE_KEY_MAX],
                               size_t *ret_len)
{
    if (!storage_module_leases_due(now_ms))
        return false;
    struct part *part = &leases.part[fence_timers_first(&leases.by_part)];
    const uint32_t slot = fence_timers_first(&part->by_end);
    *ret_len = part->lease[slot].len;
    memcpy(ret_key, part->lease[slot].key, *ret_len);
    remove_lease(part, slot);
    return true;
}
