#include "tests/sim/masters/pages.h"

#include "fence/master/merging.h"
#include "fence/protocol/owner.h"
#include "tests/sim/masters/mutant.h"
#include "tests/sim/masters/turn.h"

#include <assert.h>
#include <string.h>

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
static void read_lock(const struct sim_turn *turn, uint64_t cursor, struct sim_reply *reply)
{
    const struct sim_master *master = turn->master;
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
        .imported = lock->imported,
        .from = lock->from,
        .attempt = lock->attempt,
        .number = lock->number,
        .delay_ms = lock->delay_ms,
        .remaining_ms = lock->expires_us / 1000 - turn->rules.now_ms,
    };
}

bool sim_pages_read(void *context, const struct fence_rejoin_request *request,
                    struct fence_rejoin_reply *reply)
{
    struct sim_turn *turn = context;
    bool counters = request->part == FENCE_REJOIN_COUNTERS;
    if (counters && request->cursor >= turn->master->slots)
        read_named(turn->master, request->cursor, &turn->reply);
    else if (counters)
        read_counter(turn->master, request->cursor, &turn->reply);
    else
        read_lock(turn, request->cursor, &turn->reply);
    reply->cursor = turn->reply.cursor;
    return true;
}

/* ---- merging --------------------------------------------------------------------------------- */

static void merge_counter(struct sim_turn *turn, const struct sim_page *page)
{
    const uint32_t slots = turn->master->slots;
    fence_merge_floor(&turn->rules, page->floor);
    if (page->slot < slots)
        fence_merge_counter(&turn->rules, (uint16_t)page->slot, page->counter);
    else
        fence_merge_named(&turn->rules, sim_resource_text(page->slot - slots), page->counter);
}

static void merge_lock(struct sim_turn *turn, const struct sim_page *page, unsigned source)
{
    struct fence_stored_lock read = {
        .present = true,
        .adopted = page->attempt == SIM_ADOPTED,
        .attempt = page->attempt,
        .number = page->number,
        .extensions = page->extensions,
        .imported = page->imported,
        .from = page->from,
    };
    const char *lock_id = sim_lock_text(page->lock);
    memcpy(read.lock_id, lock_id, strlen(lock_id) + 1);
    fence_owner_join("", page->delay_ms, "", read.owner);
    fence_merge_lock(&turn->rules, sim_resource_text(page->resource), &read, page->remaining_ms,
                     source);
    turn->master->memory.locks[page->resource].seen |= UINT32_C(1) << source;
}

void sim_pages_merge(void *context, const struct fence_page *page, unsigned source)
{
    struct sim_page read;
    assert(page->len == sizeof(read));
    memcpy(&read, page->bytes, sizeof(read));
    if (read.part == FENCE_REJOIN_COUNTERS)
        merge_counter(context, &read);
    else
        merge_lock(context, &read, source);
}

void sim_pages_end(struct sim_master *master)
{
    if (!SIM_MUTANT(SEEN_BY_MAJORITY))
        return;
    for (uint32_t r = 0; r < master->resources; r++) {
        struct sim_lock *lock = &master->memory.locks[r];
        if (lock->imported && (unsigned)__builtin_popcount(lock->seen) < master->majority)
            lock->present = false;
    }
}
