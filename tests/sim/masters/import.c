#include "tests/sim/masters/import.h"

#include "tests/sim/masters/mutant.h"

enum {
    TTL_SLACK_US = 1000, /* what is left of a lease is told in whole milliseconds */
};

bool sim_import_counts(const struct sim_master *master, const struct sim_lock *lock)
{
    return !lock->imported || (unsigned)__builtin_popcount(lock->from) >= master->majority;
}

/* ---- reading --------------------------------------------------------------------------------- */

static uint64_t next_cursor(uint64_t cursor, uint32_t end)
{
    return cursor + 1 < end ? cursor + 1 : 0;
}

/* Behind the slots, by resource. */
static void read_named(const struct sim_master *master, uint64_t cursor, struct sim_reply *reply)
{
    int64_t number = master->memory.named[cursor - master->slots];
    reply->cursor = next_cursor(cursor, master->slots + master->resources);
    reply->has_page = number > 0;
    if (!reply->has_page)
        return;
    reply->page = (struct sim_page){
        .part = FENCE_REJOIN_COUNTERS,
        .slot = (uint32_t)cursor,
        .floor = master->memory.counters.floor,
        .counter = number,
    };
}

static void read_counter(const struct sim_master *master, uint64_t cursor, struct sim_reply *reply)
{
    uint32_t names = sim_master_names(master) > 0 ? master->resources : 0;
    reply->cursor = next_cursor(cursor, master->slots + names);
    reply->has_page = true;
    reply->page = (struct sim_page){
        .part = FENCE_REJOIN_COUNTERS,
        .slot = (uint32_t)cursor,
        .floor = master->memory.counters.floor,
        .counter = master->memory.counters.slot[cursor],
    };
}

/* Each process counts its locks in another order. */
static void read_lock(const struct sim_master *master, uint64_t cursor, uint64_t local_us,
                      struct sim_reply *reply)
{
    uint32_t resource = (uint32_t)((cursor + master->run) % master->resources);
    const struct sim_lock *lock = &master->memory.locks[resource];
    reply->cursor = next_cursor(cursor, master->resources);
    reply->has_page = lock->present;
    if (!lock->present)
        return;
    reply->page = (struct sim_page){
        .part = FENCE_REJOIN_LOCKS,
        .resource = resource,
        .lock = lock->lock,
        .extensions = lock->extensions,
        .countable = sim_import_counts(master, lock),
        .attempt = lock->attempt,
        .number = lock->number,
        .remaining_ms = (lock->expires_us - local_us) / 1000,
    };
}

void sim_import_read(const struct sim_master *master, const struct sim_rejoin_request *rejoin,
                     uint64_t local_us, struct sim_reply *reply)
{
    bool counters = rejoin->part == FENCE_REJOIN_COUNTERS;
    if (counters && rejoin->cursor >= master->slots)
        read_named(master, rejoin->cursor, reply);
    else if (counters)
        read_counter(master, rejoin->cursor, reply);
    else
        read_lock(master, rejoin->cursor, local_us, reply);
}

/* ---- merging --------------------------------------------------------------------------------- */

static void raise_to(int64_t *own, int64_t read)
{
    if (*own < read)
        *own = read;
}

static void merge_counter(struct sim_counters *counters, const struct sim_page *page)
{
    if (SIM_MUTANT(COUNTERS_NOT_IMPORTED))
        return;
    raise_to(&counters->floor, page->floor);
    raise_to(&counters->slot[page->slot], page->counter);
}

static void merge_named(struct sim_master *master, const struct sim_page *page)
{
    if (!SIM_MUTANT(NAMED_NOT_IMPORTED))
        raise_to(&master->memory.named[page->slot - master->slots], page->counter);
}

/* Locks of two ids: which of them counts is not to be known here. */
static void mix(struct sim_lock *lock, const struct sim_lock *read)
{
    if (SIM_MUTANT(MIXED_BY_FIRST))
        return;
    if (SIM_MUTANT(MIXED_BY_NUMBER)) {
        if (lock->number < read->number)
            *lock = *read;
        return;
    }
    *lock = (struct sim_lock){
        .present = true, .lock = SIM_TOMBSTONE, .imported = true, .expires_us = lock->expires_us};
}

static void unite(struct sim_lock *lock, const struct sim_lock *read)
{
    raise_to(&lock->number, read->number);
    if (lock->extensions < read->extensions)
        lock->extensions = read->extensions;
    if (lock->attempt != read->attempt && !SIM_MUTANT(MERGE_KEEPS_ATTEMPT))
        lock->attempt = SIM_ADOPTED;
    lock->from |= read->from;
    lock->seen |= read->seen;
}

static void merge_lock(struct sim_lock *lock, const struct sim_lock *read)
{
    if (!lock->present) {
        *lock = *read;
        return;
    }
    uint64_t expires_us = lock->expires_us;
    if (expires_us < read->expires_us && !SIM_MUTANT(LEASE_NOT_MAX))
        expires_us = read->expires_us;
    if (lock->lock != read->lock)
        mix(lock, read);
    else
        unite(lock, read);
    lock->expires_us = expires_us;
}

void sim_import_merge(struct sim_master *master, const struct sim_page *page, unsigned source,
                      uint64_t local_us)
{
    bool counters = page->part == FENCE_REJOIN_COUNTERS;
    if (counters && page->slot >= master->slots) {
        merge_named(master, page);
        return;
    }
    if (counters) {
        merge_counter(&master->memory.counters, page);
        return;
    }
    bool skipped = SIM_MUTANT(LOCKS_NOT_IMPORTED) ||
                   (page->lock == SIM_TOMBSTONE && SIM_MUTANT(TOMBSTONE_NOT_COPIED));
    if (skipped)
        return;
    uint32_t bit = UINT32_C(1) << source;
    struct sim_lock read = {
        .present = true,
        .lock = page->lock,
        .extensions = page->extensions,
        .attempt = page->attempt,
        .number = page->number,
        .imported = true,
        .from = page->countable ? bit : 0,
        .seen = bit,
        .expires_us = local_us + page->remaining_ms * 1000 + TTL_SLACK_US,
    };
    merge_lock(&master->memory.locks[page->resource], &read);
}

/* The rules that are off here would keep only what so many masters had. */
void sim_import_end(struct sim_master *master)
{
    if (!SIM_MUTANT(SEEN_BY_MAJORITY))
        return;
    for (uint32_t r = 0; r < master->resources; r++) {
        struct sim_lock *lock = &master->memory.locks[r];
        if (lock->imported && (unsigned)__builtin_popcount(lock->seen) < master->majority)
            lock->present = false;
    }
}
