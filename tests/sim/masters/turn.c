#include "tests/sim/masters/turn.h"

#include "fence/protocol/owner.h"
#include "tests/sim/masters/mutant.h"
#include "tests/sim/masters/pages.h"

#include <string.h>

enum {
    CLEARED_AT_A_TIME = 1, /* locks: as with a real SCAN, one call is not enough */
};

static struct sim_memory *memory_of(const struct sim_turn *turn)
{
    return &turn->master->memory;
}

/* ---- locks ----------------------------------------------------------------------------------- */

/* The number that CONFIRM compares with its token, where it wants the very number that the server
 * was told. A copy of TAKE took another number than the server knows. */
static int64_t exact_number(const struct sim_lock *lock)
{
    return lock->by_copy ? INT64_MAX : 0;
}

static void find_lock(void *context, const char *resource, struct fence_stored_lock *ret_lock)
{
    const struct sim_turn *turn = context;
    const struct sim_lock *lock = &memory_of(turn)->locks[sim_resource_number(resource)];
    *ret_lock = (struct fence_stored_lock){0};
    if (!lock->present)
        return;
    *ret_lock = (struct fence_stored_lock){
        .present = true,
        .adopted = lock->attempt == SIM_ADOPTED,
        .attempt = lock->attempt,
        .number = lock->number,
        .extensions = lock->extensions,
        .imported = lock->imported,
        .from = lock->from,
        .expires_ms = lock->expires_us / 1000,
    };
    const char *lock_id = sim_lock_text(lock->lock);
    memcpy(ret_lock->lock_id, lock_id, strlen(lock_id) + 1);
    fence_owner_join("", lock->delay_ms, "", ret_lock->owner);
    if (lock->writes)
        fence_owner_mark_writer(ret_lock->owner);
    if (turn->request->lock.kind == FENCE_REQUEST_CONFIRM && SIM_MUTANT(CONFIRM_EXACTLY))
        ret_lock->number = exact_number(lock);
}

/* A lock has no label here: sim_lock_reply() knows it by the lock id. The delay of its owner
 * and the mark of a writer are kept. */
static void keep_lock(void *context, const char *resource, const struct fence_stored_lock *stored)
{
    struct sim_turn *turn = context;
    struct sim_lock *lock = &memory_of(turn)->locks[sim_resource_number(resource)];
    const struct sim_lock before = *lock;
    turn->reply.counted_anew |= before.present && before.imported && !stored->imported;
    turn->reply.imported = stored->imported;
    *lock = (struct sim_lock){
        .present = stored->present,
        .by_copy = before.present ? before.by_copy : turn->copy,
        .lock = stored->present ? sim_lock_number(stored->lock_id) : 0,
        .extensions = stored->extensions,
        .attempt = stored->adopted ? SIM_ADOPTED : stored->attempt,
        .number = stored->number,
        .imported = stored->imported,
        .from = stored->from,
        .seen = before.present ? before.seen : 0,
        .delay_ms = fence_owner_delay_ms(stored->owner),
        .writes = fence_owner_writes(stored->owner),
        .expires_us = stored->expires_ms * 1000,
        .waited_until_us = before.waited_until_us,
        .waited_ticket = before.waited_ticket,
        .next_ticket = before.next_ticket,
        .next_until_us = before.next_until_us,
        .told = before.told,
    };
}

static void drop_lock(void *context, const char *resource)
{
    (void)sim_master_expire(((struct sim_turn *)context)->master, sim_resource_number(resource));
}

/* ---- counters -------------------------------------------------------------------------------- */

static int64_t find_counter(void *context, uint16_t slot)
{
    return memory_of(context)->counters.slot[slot];
}

static void keep_counter(void *context, uint16_t slot, int64_t number)
{
    memory_of(context)->counters.slot[slot] = number;
}

static int64_t find_named(void *context, const char *name)
{
    return memory_of(context)->named[sim_resource_number(name)];
}

static void keep_named(void *context, const char *name, int64_t number)
{
    memory_of(context)->named[sim_resource_number(name)] = number;
}

static uint64_t count_all_names(void *context)
{
    return sim_master_names(((const struct sim_turn *)context)->master);
}

static int64_t find_highest(void *context)
{
    const struct sim_turn *turn = context;
    const struct sim_memory *memory = memory_of(turn);
    int64_t highest = 0;
    for (uint32_t slot = 0; slot < turn->master->slots; slot++)
        if (highest < memory->counters.slot[slot])
            highest = memory->counters.slot[slot];
    for (uint32_t r = 0; r < turn->master->resources; r++)
        if (highest < memory->named[r])
            highest = memory->named[r];
    return highest;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void note_waits(void *context, const char *resource, uint64_t until_ms, int64_t ticket)
{
    const struct sim_turn *turn = context;
    struct sim_lock *lock = &memory_of(turn)->locks[sim_resource_number(resource)];
    const int64_t lowest = lock->waited_until_us > turn->local_us ? lock->waited_ticket : 0;
    lock->waited_until_us = until_ms * 1000;
    lock->waited_ticket = lowest > 0 && (ticket == 0 || lowest < ticket) ? lowest : ticket;
}

static int64_t notify_waiters(void *context, const char *resource, const char *lock_id)
{
    struct sim_turn *turn = context;
    uint32_t r = sim_resource_number(resource);
    struct sim_lock *lock = &memory_of(turn)->locks[r];
    (void)lock_id; /* lock id of the request */
    const bool waits = lock->waited_until_us > turn->local_us;
    turn->reply.freed |= (uint32_t)waits << r;
    lock->waited_until_us = 0;
    return waits ? lock->waited_ticket : 0;
}

static int64_t find_next(void *context, const char *resource, uint64_t *ret_until_ms)
{
    const struct sim_turn *turn = context;
    const struct sim_lock *lock = &memory_of(turn)->locks[sim_resource_number(resource)];
    *ret_until_ms = lock->next_until_us / 1000;
    return *ret_until_ms > turn->rules.now_ms ? lock->next_ticket : 0;
}

static void keep_next(void *context, const char *resource, int64_t ticket, uint64_t until_ms)
{
    struct sim_lock *lock = &memory_of(context)->locks[sim_resource_number(resource)];
    lock->next_ticket = ticket;
    lock->next_until_us = until_ms * 1000;
}

/* ---- breaking -------------------------------------------------------------------------------- */

static bool is_noted(const struct sim_note *note, uint32_t resource, uint32_t lock)
{
    return note->resource == resource && note->lock == lock && note->expires_us > 0;
}

static int64_t find_broken(void *context, const char *resource, const char *lock_id, char *ret_by)
{
    const struct sim_turn *turn = context;
    const uint32_t r = sim_resource_number(resource);
    const uint32_t lock = sim_lock_number(lock_id);
    memcpy(ret_by, SIM_BREAKER, sizeof(SIM_BREAKER));
    for (unsigned k = 0; k < SIM_NOTES_MAX; k++) {
        const struct sim_note *note = &memory_of(turn)->notes[k];
        if (is_noted(note, r, lock) && note->expires_us > turn->local_us)
            return note->token;
    }
    return 0;
}

/* The note of the same grant goes, or the one that ends first. */
static void keep_broken(void *context, const struct fence_request *request, uint64_t until_ms)
{
    struct sim_memory *memory = memory_of(context);
    struct sim_note made = {
        .resource = sim_resource_number(request->resource),
        .lock = sim_lock_number(request->lock_id),
        .token = request->token,
        .expires_us = until_ms * 1000,
    };
    struct sim_note *place = &memory->notes[0];
    for (unsigned k = 0; k < SIM_NOTES_MAX; k++) {
        struct sim_note *note = &memory->notes[k];
        if (is_noted(note, made.resource, made.lock)) {
            place = note;
            break;
        }
        if (note->expires_us < place->expires_us)
            place = note;
    }
    *place = made;
}

/* ---- rejoins --------------------------------------------------------------------------------- */

static uint64_t clear_some(void *context, bool disowns, uint64_t cursor)
{
    struct sim_turn *turn = context;
    const uint64_t next = cursor + CLEARED_AT_A_TIME;
    if (cursor >= turn->master->resources)
        return 0;
    struct sim_lock *lock = &memory_of(turn)->locks[cursor];
    lock->present = lock->present && disowns;
    lock->imported = true;
    lock->from = 0;
    return next < turn->master->resources ? next : 0;
}

static const struct fence_master_store numbers = {
    .lock = find_lock,
    .put_lock = keep_lock,
    .drop_lock = drop_lock,
    .counter = find_counter,
    .put_counter = keep_counter,
    .named = find_named,
    .put_named = keep_named,
    .names = count_all_names,
    .highest = find_highest,
    .wait = note_waits,
    .notify = notify_waiters,
    .next = find_next,
    .put_next = keep_next,
    .broken = find_broken,
    .put_broken = keep_broken,
    .clear = clear_some,
    .read_page = sim_pages_read,
    .merge_page = sim_pages_merge,
};

/* ---- the marker ------------------------------------------------------------------------------ */

static struct fence_stored_marker stored_marker(const struct sim_memory *memory)
{
    const struct sim_marker *marker = &memory->marker;
    struct fence_stored_marker stored = {.floor = memory->counters.floor};
    if (!marker->present)
        return stored;
    stored.present = true;
    stored.member = marker->member + 1;
    stored.ttl_max_ms = marker->ttl_max_ms;
    stored.readers = marker->readers;
    stored.extensions_max = marker->extensions_max;
    stored.durable = marker->durable;
    stored.active = marker->active;
    stored.next = marker->next;
    stored.progress = (uint32_t)marker->progress;
    stored.intact = marker->intact;
    stored.mark = marker->init;
    stored.view = marker->view;
    sim_fleet_text(stored.fleet_id);
    sim_run_text(marker->run, stored.server_id);
    sim_run_text(marker->lineage, stored.lineage);
    return stored;
}

/* Doubts and positions are the machine's. */
static void keep_marker(struct sim_memory *memory, const struct fence_stored_marker *stored)
{
    struct sim_marker *marker = &memory->marker;
    memory->counters.floor = stored->floor;
    marker->present = stored->present;
    marker->member = stored->member - 1;
    marker->run = sim_run_number(stored->server_id);
    marker->lineage = sim_run_number(stored->lineage);
    marker->ttl_max_ms = stored->ttl_max_ms;
    marker->readers = stored->readers;
    marker->extensions_max = stored->extensions_max;
    marker->durable = stored->durable;
    marker->active = stored->active;
    marker->next = stored->next;
    marker->progress = stored->progress;
    marker->intact = stored->intact;
    marker->init = stored->mark;
    marker->view = stored->view;
}

/* ---- turns ----------------------------------------------------------------------------------- */

void sim_turn_begin(struct sim_turn *ret_turn, struct sim_master *master,
                    const struct sim_request *request, bool copy, uint64_t local_us)
{
    sim_master_expire_due(master, local_us);
    *ret_turn = (struct sim_turn){
        .rules = {.store = &numbers,
                  .context = ret_turn,
                  .members = 2 * master->majority - 1,
                  .me = request->member,
                  .durable = master->persistence == SIM_ALWAYS,
                  .keeps_nothing = master->persistence == SIM_NONE && !SIM_MUTANT(UNDURABLE_COUNTS),
                  .server_id = ret_turn->server_id,
                  .lineage = ret_turn->lineage,
                  .now_ms = local_us / 1000,
                  .marker = stored_marker(&master->memory)},
        .master = master,
        .request = request,
        .copy = copy,
        .local_us = local_us,
    };
    sim_run_text(master->run, ret_turn->server_id);
    sim_run_text(master->lineage, ret_turn->lineage);
}

void sim_turn_end(struct sim_turn *turn)
{
    if (turn->rules.marker_changed)
        keep_marker(memory_of(turn), &turn->rules.marker);
}
