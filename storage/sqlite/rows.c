#include "storage/sqlite/rows.h"

#include "fence/protocol/name.h"
#include "storage/sqlite/pages.h"

#include <assert.h>
#include <string.h>

/* ---- counters and locks ---------------------------------------------------------------------- */

static int64_t read_counter_row(void *context, uint16_t slot)
{
    struct storage_state *state = context;
    struct storage_sql sql = storage_state_use(state, STORAGE_COUNTER_READ);
    storage_sql_bind_int(&sql, 1, slot);
    return storage_state_run(state, STORAGE_COUNTER_READ, &sql);
}

static void write_counter_row(void *context, uint16_t slot, int64_t number)
{
    struct storage_state *state = context;
    struct storage_sql sql = storage_state_use(state, STORAGE_COUNTER_WRITE);
    storage_sql_bind_int(&sql, 1, slot);
    storage_sql_bind_int(&sql, 2, number);
    (void)storage_state_run(state, STORAGE_COUNTER_WRITE, &sql);
    state->changed = true;
}

static int64_t read_named_row(void *context, const char *name)
{
    struct storage_state *state = context;
    struct storage_sql sql = storage_state_use(state, STORAGE_NAMED_READ);
    storage_sql_bind_text(&sql, 1, name);
    return storage_state_run(state, STORAGE_NAMED_READ, &sql);
}

static void write_named_row(void *context, const char *name, int64_t number)
{
    struct storage_state *state = context;
    struct storage_sql sql = storage_state_use(state, STORAGE_NAMED_WRITE);
    storage_sql_bind_text(&sql, 1, name);
    storage_sql_bind_int(&sql, 2, number);
    (void)storage_state_run(state, STORAGE_NAMED_WRITE, &sql);
    state->changed = true;
}

static uint64_t count_names(void *context)
{
    struct storage_state *state = context;
    struct storage_sql sql = storage_state_use(state, STORAGE_NAMED_COUNT);
    return (uint64_t)storage_state_run(state, STORAGE_NAMED_COUNT, &sql);
}

/* Returns the position in a walk. Any distribution will do, since the key has the name too. */
static int64_t hash_of(const char *resource)
{
    return (int64_t)(fence_hash(resource, strlen(resource), 0) & (UINT64_MAX >> 2));
}

static void read_lock_row(void *context, const char *resource, struct fence_stored_lock *ret_lock)
{
    struct storage_state *state = context;
    *ret_lock = (struct fence_stored_lock){0};
    struct storage_sql sql = storage_state_use(state, STORAGE_LOCK_READ);
    storage_sql_bind_int(&sql, 1, hash_of(resource));
    storage_sql_bind_text(&sql, 2, resource);
    storage_sql_bind_int(&sql, 3, (int64_t)state->turn.now_ms);
    if (storage_sql_row(&sql))
        storage_state_read_lock(&sql, ret_lock);
    storage_state_done(state, STORAGE_LOCK_READ, &sql);
}

static void write_lock_row(void *context, const char *resource,
                           const struct fence_stored_lock *lock)
{
    struct storage_state *state = context;
    struct storage_sql sql = storage_state_use(state, STORAGE_LOCK_WRITE);
    storage_sql_bind_int(&sql, 1, hash_of(resource));
    storage_sql_bind_text(&sql, 2, resource);
    storage_sql_bind_text(&sql, 3, lock->lock_id);
    if (!lock->adopted) /* else NULL */
        storage_sql_bind_int(&sql, 4, (int64_t)lock->attempt);
    storage_sql_bind_int(&sql, 5, lock->number);
    storage_sql_bind_int(&sql, 6, lock->extensions);
    if (lock->imported)
        storage_sql_bind_int(&sql, 7, lock->from);
    storage_sql_bind_text(&sql, 8, lock->owner);
    storage_sql_bind_int(&sql, 9, (int64_t)lock->expires_ms);
    storage_sql_bind_int(&sql, 10, (int64_t)(lock->expires_ms - state->turn.now_ms));
    (void)storage_state_run(state, STORAGE_LOCK_WRITE, &sql);
    state->changed = true;
}

static void delete_lock_row(void *context, const char *resource)
{
    struct storage_state *state = context;
    struct storage_sql sql = storage_state_use(state, STORAGE_LOCK_DELETE);
    storage_sql_bind_int(&sql, 1, hash_of(resource));
    storage_sql_bind_text(&sql, 2, resource);
    (void)storage_state_run(state, STORAGE_LOCK_DELETE, &sql);
    state->changed = true;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void note_waiting(void *context, const char *resource, uint64_t until_ms, int64_t ticket)
{
    assert(until_ms > 0);
    struct storage_state *state = context;
    struct storage_sql sql = storage_state_use(state, STORAGE_WAITING_WRITE);
    storage_sql_bind_text(&sql, 1, resource);
    storage_sql_bind_int(&sql, 2, (int64_t)until_ms);
    storage_sql_bind_int(&sql, 3, ticket);
    storage_sql_bind_int(&sql, 4, (int64_t)state->turn.now_ms);
    (void)storage_state_run(state, STORAGE_WAITING_WRITE, &sql);
    if (state->waiting_until_ms < until_ms)
        state->waiting_until_ms = until_ms;
}

/* Removes the waiters. Returns false if no call waits. Otherwise *@ret_ticket is the lowest ticket;
 * 0: there is none. */
static bool forget_waiting(struct storage_state *state, const char *resource, int64_t *ret_ticket)
{
    bool waits = false;
    struct storage_sql sql = storage_state_use(state, STORAGE_WAITING_DELETE);
    storage_sql_bind_text(&sql, 1, resource);
    storage_sql_bind_int(&sql, 2, (int64_t)state->turn.now_ms);
    if (storage_sql_row(&sql)) {
        const int64_t ticket = sqlite3_column_int64(sql.stmt, 0);
        waits = ticket >= 0;
        *ret_ticket = waits ? ticket : 0;
    }
    storage_state_done(state, STORAGE_WAITING_DELETE, &sql);
    return waits;
}

static int64_t note_released(void *context, const char *resource, const char *lock_id)
{
    assert(strlen(lock_id) <= FENCE_LOCK_ID_MAX && strlen(resource) <= FENCE_RESOURCE_MAX);
    struct storage_state *state = context;
    int64_t ticket = 0;
    if (state->waiting_until_ms <= state->turn.now_ms ||
        !forget_waiting(state, resource, &ticket) || state->notices_count == STORAGE_NOTICES_MAX)
        return ticket;
    struct storage_notice *notice = &state->notices[state->notices_count++];
    memcpy(notice->lock_id, lock_id, strlen(lock_id) + 1);
    memcpy(notice->resource, resource, strlen(resource) + 1);
    return ticket;
}

static int64_t read_next_row(void *context, const char *resource, uint64_t *ret_until_ms)
{
    struct storage_state *state = context;
    int64_t ticket = 0;
    if (state->next_until_ms <= state->turn.now_ms)
        return 0;
    struct storage_sql sql = storage_state_use(state, STORAGE_NEXT_READ);
    storage_sql_bind_text(&sql, 1, resource);
    storage_sql_bind_int(&sql, 2, (int64_t)state->turn.now_ms);
    if (storage_sql_row(&sql)) {
        ticket = sqlite3_column_int64(sql.stmt, 0);
        *ret_until_ms = (uint64_t)sqlite3_column_int64(sql.stmt, 1);
    }
    storage_state_done(state, STORAGE_NEXT_READ, &sql);
    return ticket;
}

static void write_next_row(void *context, const char *resource, int64_t ticket, uint64_t until_ms)
{
    struct storage_state *state = context;
    const enum storage_statement how = ticket > 0 ? STORAGE_NEXT_WRITE : STORAGE_NEXT_DELETE;
    struct storage_sql sql = storage_state_use(state, how);
    storage_sql_bind_text(&sql, 1, resource);
    if (ticket > 0) {
        storage_sql_bind_int(&sql, 2, (int64_t)until_ms);
        storage_sql_bind_int(&sql, 3, ticket);
    }
    (void)storage_state_run(state, how, &sql);
    if (state->next_until_ms < until_ms)
        state->next_until_ms = until_ms;
}

/* ---- breaking -------------------------------------------------------------------------------- */

static int64_t read_broken_row(void *context, const char *resource, const char *lock_id,
                               char *ret_by)
{
    struct storage_state *state = context;
    int64_t token = 0;
    struct storage_sql sql = storage_state_use(state, STORAGE_BROKEN_READ);
    storage_sql_bind_text(&sql, 1, resource);
    storage_sql_bind_text(&sql, 2, lock_id);
    storage_sql_bind_int(&sql, 3, (int64_t)state->turn.now_ms);
    ret_by[0] = '\0';
    if (storage_sql_row(&sql)) {
        token = sqlite3_column_int64(sql.stmt, 0);
        storage_sql_column_text(&sql, 1, ret_by, FENCE_OWNER_MAX + 1);
    }
    storage_state_done(state, STORAGE_BROKEN_READ, &sql);
    return token;
}

static void write_broken_row(void *context, const struct fence_request *request, uint64_t until_ms)
{
    assert(request->kind == FENCE_REQUEST_BREAK && request->token >= 1);
    struct storage_state *state = context;
    struct storage_sql sql = storage_state_use(state, STORAGE_BROKEN_WRITE);
    storage_sql_bind_text(&sql, 1, request->resource);
    storage_sql_bind_text(&sql, 2, request->lock_id);
    storage_sql_bind_int(&sql, 3, request->token);
    storage_sql_bind_text(&sql, 4, request->owner);
    storage_sql_bind_int(&sql, 5, (int64_t)until_ms);
    (void)storage_state_run(state, STORAGE_BROKEN_WRITE, &sql);
}

/* ---- rejoins --------------------------------------------------------------------------------- */

static int64_t read_highest(void *context)
{
    struct storage_state *state = context;
    struct storage_sql sql = storage_state_use(state, STORAGE_COUNTER_HIGHEST);
    return storage_state_run(state, STORAGE_COUNTER_HIGHEST, &sql);
}

/* Clears all rows in one step. */
static uint64_t clear_rows(void *context, bool disowns, uint64_t cursor)
{
    struct storage_state *state = context;
    enum storage_statement how = disowns ? STORAGE_LOCKS_DISOWN : STORAGE_LOCKS_CLEAR;
    struct storage_sql sql = storage_state_use(state, how);
    (void)cursor;
    (void)storage_state_run(state, how, &sql);
    return 0;
}

const struct fence_master_store storage_rows = {
    .lock = read_lock_row,
    .put_lock = write_lock_row,
    .drop_lock = delete_lock_row,
    .counter = read_counter_row,
    .put_counter = write_counter_row,
    .named = read_named_row,
    .put_named = write_named_row,
    .names = count_names,
    .highest = read_highest,
    .wait = note_waiting,
    .notify = note_released,
    .next = read_next_row,
    .put_next = write_next_row,
    .broken = read_broken_row,
    .put_broken = write_broken_row,
    .clear = clear_rows,
    .read_page = storage_pages_read,
    .merge_page = storage_pages_merge,
};
