#include "storage/sqlite/pages.h"

#include "fence/master/merging.h"

#include <assert.h>

enum {
    COUNTERS_AT_A_TIME = 4096,
    NAMED_AT_A_TIME = 1024,
    LOCKS_AT_A_TIME = 512,
};

/* ---- reading --------------------------------------------------------------------------------- */

/* Appends the JSON of the current row, which is in column 1. */
static void append_row(sqlite3_str *page, struct storage_sql *sql, bool first)
{
    sqlite3_str_appendall(page, first ? "" : ",");
    sqlite3_str_appendall(page, (const char *)sqlite3_column_text(sql->stmt, 1));
}

static bool finish_page(struct storage_state *state, sqlite3_str *page,
                        struct fence_rejoin_reply *reply)
{
    assert(state->page == NULL);
    sqlite3_str_appendall(page, "]}");
    reply->page.len = (size_t)sqlite3_str_length(page);
    reply->page.bytes = state->page = sqlite3_str_finish(page);
    return state->page != NULL;
}

/* Appends the rows of one walk by a rising number in column 0: so many, and all further rows with
 * the last number. Returns the start of the next page; 0: there is none. */
static uint64_t append_rows(sqlite3_str *page, struct storage_sql *sql, unsigned at_a_time)
{
    int64_t last = 0;
    unsigned rows = 0;
    while (storage_sql_row(sql)) {
        int64_t number = sqlite3_column_int64(sql->stmt, 0);
        if (rows >= at_a_time && number != last)
            return (uint64_t)number;
        append_row(page, sql, rows++ == 0);
        last = number;
    }
    return 0;
}

static uint64_t append_part(struct storage_state *state, sqlite3_str *page,
                            enum storage_statement part, uint64_t cursor, unsigned at_a_time)
{
    struct storage_sql sql = storage_state_use(state, part);
    storage_sql_bind_int(&sql, 1, (int64_t)cursor);
    if (part == STORAGE_PAGE_LOCKS_READ)
        storage_sql_bind_int(&sql, 2, (int64_t)state->turn.now_ms);
    uint64_t next = append_rows(page, &sql, at_a_time);
    storage_state_done(state, part, &sql);
    return next;
}

/* Appends slots, and after them names: cursors of names begin at FENCE_SLOTS. */
static uint64_t append_counters(struct storage_state *state, sqlite3_str *page, uint64_t cursor)
{
    if (cursor >= FENCE_SLOTS) {
        sqlite3_str_appendall(page, "\"named\":[");
        return append_part(state, page, STORAGE_PAGE_NAMED_READ, cursor, NAMED_AT_A_TIME);
    }
    sqlite3_str_appendall(page, "\"counters\":[");
    uint64_t next =
        append_part(state, page, STORAGE_PAGE_COUNTERS_READ, cursor, COUNTERS_AT_A_TIME);
    return next == 0 && state->turn.store->names(state) > 0 ? FENCE_SLOTS : next;
}

bool storage_pages_read(void *context, const struct fence_rejoin_request *request,
                        struct fence_rejoin_reply *reply)
{
    assert(request->part == FENCE_REJOIN_COUNTERS || request->part == FENCE_REJOIN_LOCKS);
    struct storage_state *state = context;
    sqlite3_str *page = sqlite3_str_new(state->db);
    if (request->part == FENCE_REJOIN_COUNTERS) {
        sqlite3_str_appendf(page, "{\"floor\":%lld,", (long long)state->turn.marker.floor);
        reply->cursor = append_counters(state, page, request->cursor);
    } else {
        sqlite3_str_appendall(page, "{\"locks\":[");
        reply->cursor =
            append_part(state, page, STORAGE_PAGE_LOCKS_READ, request->cursor, LOCKS_AT_A_TIME);
    }
    return finish_page(state, page, reply);
}

/* ---- merging --------------------------------------------------------------------------------- */

static struct storage_sql use_page(struct storage_state *state, enum storage_statement which,
                                   const struct fence_page *page)
{
    struct storage_sql sql = storage_state_use(state, which);
    if (sql.code == SQLITE_OK)
        sql.code = sqlite3_bind_text(sql.stmt, 1, page->bytes, (int)page->len, SQLITE_STATIC);
    return sql;
}

static void merge_floor(struct storage_state *state, const struct fence_page *page)
{
    struct storage_sql sql = use_page(state, STORAGE_PAGE_FLOOR, page);
    fence_merge_floor(&state->turn, storage_state_run(state, STORAGE_PAGE_FLOOR, &sql));
}

static void merge_counters(struct storage_state *state, const struct fence_page *page)
{
    struct storage_sql sql = use_page(state, STORAGE_PAGE_COUNTERS, page);
    while (storage_sql_row(&sql)) {
        uint16_t slot = (uint16_t)sqlite3_column_int64(sql.stmt, 0);
        fence_merge_counter(&state->turn, slot, sqlite3_column_int64(sql.stmt, 1));
    }
    storage_state_done(state, STORAGE_PAGE_COUNTERS, &sql);
}

static void merge_named(struct storage_state *state, const struct fence_page *page)
{
    struct storage_sql sql = use_page(state, STORAGE_PAGE_NAMED, page);
    while (storage_sql_row(&sql)) {
        char name[FENCE_RESOURCE_MAX + 1];
        storage_sql_column_text(&sql, 0, name, sizeof(name));
        if (sql.code != SQLITE_OK)
            break;
        fence_merge_named(&state->turn, name, sqlite3_column_int64(sql.stmt, 1));
    }
    storage_state_done(state, STORAGE_PAGE_NAMED, &sql);
}

/* A lock in a page has the rest of its lease instead of its expiry. */
static void merge_locks(struct storage_state *state, const struct fence_page *page, unsigned source)
{
    struct storage_sql sql = use_page(state, STORAGE_PAGE_LOCKS, page);
    while (storage_sql_row(&sql)) {
        struct fence_stored_lock read = {0};
        char resource[FENCE_RESOURCE_MAX + 1];
        storage_state_read_lock(&sql, &read);
        storage_sql_column_text(&sql, 7, resource, sizeof(resource));
        if (sql.code != SQLITE_OK)
            break;
        fence_merge_lock(&state->turn, resource, &read, read.expires_ms, source);
    }
    storage_state_done(state, STORAGE_PAGE_LOCKS, &sql);
}

void storage_pages_merge(void *context, const struct fence_page *page, unsigned source)
{
    struct storage_state *state = context;
    merge_floor(state, page);
    merge_counters(state, page);
    merge_named(state, page);
    merge_locks(state, page, source);
}
