#include "storage/sqlite/state.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#define LOCK_COLUMNS "lock_id, attempt, number, extensions, sources, owner, expires_ms"

/* Slots come before names in the cursor of pages. */
#define SLOTS "16384"
static_assert(FENCE_SLOTS == 16384, "SLOTS");

/* Locks that one sweep looks at. */
#define SWEPT "256"

static const char *const texts[] = {
    [STORAGE_BEGIN] = "BEGIN IMMEDIATE",
    [STORAGE_COMMIT] = "COMMIT",
    [STORAGE_ROLLBACK] = "ROLLBACK",
    [STORAGE_FILE_READ] = "SELECT lineage, commits FROM file",
    [STORAGE_FILE_COUNT] = "UPDATE file SET lineage = ?1, commits = ?2, committed_ns = ?3",
    [STORAGE_MARKER_READ] =
        "SELECT fleet_id, member, server_id, lineage, ttl_max_ms, durable, active, next, progress, "
        "intact, mark, floor, view, extensions_max, readers FROM marker",
    [STORAGE_MARKER_WRITE] =
        "INSERT OR REPLACE INTO marker (id, fleet_id, member, server_id, lineage, ttl_max_ms, "
        "durable, active, next, progress, intact, mark, floor, view, extensions_max, readers) "
        "VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
    [STORAGE_COUNTER_READ] = "SELECT number FROM counter WHERE slot = ?1",
    [STORAGE_COUNTER_WRITE] = "INSERT INTO counter (slot, number) VALUES (?1, ?2) "
                              "ON CONFLICT DO UPDATE SET number = excluded.number",
    [STORAGE_COUNTER_HIGHEST] = STORAGE_HIGHEST_TEXT,
    [STORAGE_NAMED_READ] = "SELECT number FROM named WHERE name = ?1",
    [STORAGE_NAMED_WRITE] = "INSERT INTO named (name, number) VALUES (?1, ?2) "
                            "ON CONFLICT (name) DO UPDATE SET number = excluded.number",
    /* No row is ever deleted, so ids have no gaps. Counting rows would read them all. */
    [STORAGE_NAMED_COUNT] = "SELECT coalesce(max(id), 0) FROM named",
    [STORAGE_NAMED_NAMES] = "SELECT id, name FROM named WHERE id >= ?1 ORDER BY id",
    [STORAGE_LOCK_READ] =
        "SELECT " LOCK_COLUMNS " FROM lock WHERE hash = ?1 AND resource = ?2 AND expires_ms > ?3",
    [STORAGE_LOCK_WRITE] =
        "INSERT OR REPLACE INTO lock (hash, resource, " LOCK_COLUMNS ", lease_ms) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [STORAGE_LOCK_DELETE] = "DELETE FROM lock WHERE hash = ?1 AND resource = ?2",
    [STORAGE_LOCKS_CLEAR] = "DELETE FROM lock",
    [STORAGE_LOCKS_DISOWN] = "UPDATE lock SET sources = 0",
    [STORAGE_LOCKS_SWEEP] =
        "DELETE FROM lock WHERE expires_ms <= ?1 AND (hash, resource) IN "
        "(SELECT hash, resource FROM lock WHERE hash >= ?2 ORDER BY hash LIMIT " SWEPT ")",
    [STORAGE_LOCKS_SWEPT] =
        "SELECT hash FROM lock WHERE hash >= ?1 ORDER BY hash LIMIT 1 OFFSET " SWEPT,
    [STORAGE_WAITING_WRITE] =
        "INSERT INTO temp.waiting (resource, until_ms, ticket) VALUES (?1, ?2, ?3) "
        "ON CONFLICT DO UPDATE SET until_ms = ?2, ticket = CASE "
        "WHEN until_ms > ?4 AND ticket > 0 AND (?3 = 0 OR ticket < ?3) THEN ticket ELSE ?3 END",
    [STORAGE_WAITING_DELETE] = "DELETE FROM temp.waiting WHERE resource = ?1 "
                               "RETURNING CASE WHEN until_ms > ?2 THEN ticket ELSE -1 END",
    [STORAGE_WAITING_SWEEP] = "DELETE FROM temp.waiting WHERE until_ms <= ?1",
    [STORAGE_NEXT_READ] =
        "SELECT ticket, until_ms FROM temp.next WHERE resource = ?1 AND until_ms > ?2",
    [STORAGE_NEXT_WRITE] =
        "INSERT OR REPLACE INTO temp.next (resource, until_ms, ticket) VALUES (?1, ?2, ?3)",
    [STORAGE_NEXT_DELETE] = "DELETE FROM temp.next WHERE resource = ?1",
    [STORAGE_NEXT_SWEEP] = "DELETE FROM temp.next WHERE until_ms <= ?1",
    [STORAGE_BROKEN_READ] =
        "SELECT token, by FROM temp.broken WHERE resource = ?1 AND lock_id = ?2 "
        "AND until_ms > ?3",
    [STORAGE_BROKEN_WRITE] = "INSERT OR REPLACE INTO temp.broken "
                             "(resource, lock_id, token, by, until_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
    [STORAGE_BROKEN_SWEEP] = "DELETE FROM temp.broken WHERE until_ms <= ?1",
    [STORAGE_PAGE_COUNTERS_READ] =
        "SELECT slot, json_array(slot, number) FROM counter WHERE slot >= ?1 ORDER BY slot",
    [STORAGE_PAGE_NAMED_READ] = "SELECT id + " SLOTS ", json_array(name, number) FROM named "
                                "WHERE id >= ?1 - " SLOTS " ORDER BY id",
    [STORAGE_PAGE_LOCKS_READ] =
        "SELECT hash, json_array(resource, lock_id, attempt, number, extensions, sources, owner, "
        "expires_ms - ?2) FROM lock WHERE hash >= ?1 AND expires_ms > ?2 ORDER BY hash",
    [STORAGE_PAGE_FLOOR] = "SELECT coalesce(json_extract(?1, '$.floor'), 0)",
    [STORAGE_PAGE_COUNTERS] = "SELECT value ->> 0, value ->> 1 FROM json_each(?1, '$.counters')",
    [STORAGE_PAGE_NAMED] = "SELECT value ->> 0, value ->> 1 FROM json_each(?1, '$.named')",
    [STORAGE_PAGE_LOCKS] =
        "SELECT value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, "
        "value ->> 7, value ->> 0 FROM json_each(?1, '$.locks')",
    [STORAGE_NAMES] =
        "SELECT hash, resource FROM lock WHERE hash >= ?1 AND expires_ms > ?2 ORDER BY hash",
};

/* ---- its life -------------------------------------------------------------------------------- */

int storage_state_open(struct storage_state *state, sqlite3 *db)
{
    assert(state->turn.store != NULL && state->turn.me < state->turn.members);
    state->db = db;
    state->turn.context = state;
    state->turn.server_id = state->server_id;
    state->turn.lineage = state->lineage;
    for (unsigned i = 0; i < STORAGE_STATEMENTS; i++) {
        int code = sqlite3_prepare_v3(db, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                      &state->statements[i], NULL);
        if (code != SQLITE_OK)
            return storage_sql_error(code);
    }
    return 0;
}

void storage_state_close(struct storage_state *state)
{
    for (unsigned i = 0; i < STORAGE_STATEMENTS; i++) {
        (void)sqlite3_finalize(state->statements[i]);
        state->statements[i] = NULL;
    }
}

uint64_t storage_state_clock_ms(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_BOOTTIME, &now);
    assert(!failed);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int64_t storage_state_wall_ns(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_REALTIME, &now);
    assert(!failed);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void storage_state_new_lineage(char ret_lineage[static FENCE_LINEAGE_MAX + 1])
{
    unsigned char random[16];
    randombytes_buf(random, sizeof(random));
    sodium_bin2hex(ret_lineage, FENCE_LINEAGE_MAX + 1, random, sizeof(random));
}

/* ---- statements ------------------------------------------------------------------------------ */

struct storage_sql storage_state_use(struct storage_state *state, enum storage_statement which)
{
    assert(which < STORAGE_STATEMENTS);
    return (struct storage_sql){state->statements[which], state->code};
}

void storage_state_done(struct storage_state *state, enum storage_statement which,
                        struct storage_sql *sql)
{
    assert(sql->stmt == state->statements[which]);
    (void)sqlite3_reset(state->statements[which]);
    (void)sqlite3_clear_bindings(state->statements[which]);
    if (state->code == SQLITE_OK)
        state->code = sql->code;
}

int64_t storage_state_run(struct storage_state *state, enum storage_statement which,
                          struct storage_sql *sql)
{
    const int64_t number = storage_sql_row(sql) ? sqlite3_column_int64(sql->stmt, 0) : 0;
    storage_state_done(state, which, sql);
    return number;
}

static void run_statement(struct storage_state *state, enum storage_statement which)
{
    struct storage_sql sql = storage_state_use(state, which);
    (void)storage_state_run(state, which, &sql);
}

/* ---- rows ------------------------------------------------------------------------------------ */

void storage_state_read_lock(struct storage_sql *sql, struct fence_stored_lock *ret_lock)
{
    struct fence_stored_lock *lock = ret_lock;
    lock->present = true;
    storage_sql_column_text(sql, 0, lock->lock_id, sizeof(lock->lock_id));
    lock->adopted = sqlite3_column_type(sql->stmt, 1) == SQLITE_NULL;
    lock->attempt = (uint64_t)sqlite3_column_int64(sql->stmt, 1);
    lock->number = sqlite3_column_int64(sql->stmt, 2);
    lock->extensions = (uint32_t)sqlite3_column_int64(sql->stmt, 3);
    lock->imported = sqlite3_column_type(sql->stmt, 4) != SQLITE_NULL;
    lock->from = (uint32_t)sqlite3_column_int64(sql->stmt, 4);
    storage_sql_column_text(sql, 5, lock->owner, sizeof(lock->owner));
    lock->expires_ms = (uint64_t)sqlite3_column_int64(sql->stmt, 6);
}

/* ---- the marker ------------------------------------------------------------------------------ */

static void read_view(struct storage_sql *sql, int column, unsigned n, struct fence_view *ret_view)
{
    char text[FENCE_VIEW_TEXT_MAX];
    storage_sql_column_text(sql, column, text, sizeof(text));
    if (sql->code == SQLITE_OK && fence_view_parse(text, strlen(text), n, ret_view) != 0)
        sql->code = SQLITE_CORRUPT;
}

static void read_marker_row(struct storage_state *state)
{
    assert(state->turn.members >= 1 && state->turn.members <= FENCE_MASTERS_MAX);
    struct fence_stored_marker marker = {0};
    struct storage_sql sql = storage_state_use(state, STORAGE_MARKER_READ);
    if (storage_sql_row(&sql)) {
        marker.present = true;
        storage_sql_column_text(&sql, 0, marker.fleet_id, sizeof(marker.fleet_id));
        marker.member = (uint32_t)sqlite3_column_int64(sql.stmt, 1);
        storage_sql_column_text(&sql, 2, marker.server_id, sizeof(marker.server_id));
        storage_sql_column_text(&sql, 3, marker.lineage, sizeof(marker.lineage));
        marker.ttl_max_ms = (uint32_t)sqlite3_column_int64(sql.stmt, 4);
        marker.durable = sqlite3_column_int64(sql.stmt, 5) != 0;
        marker.active = sqlite3_column_int64(sql.stmt, 6) != 0;
        marker.next = sqlite3_column_int64(sql.stmt, 7);
        marker.progress = (uint32_t)sqlite3_column_int64(sql.stmt, 8);
        marker.intact = sqlite3_column_int64(sql.stmt, 9) != 0;
        marker.mark = (enum fence_mark)sqlite3_column_int64(sql.stmt, 10);
        marker.floor = sqlite3_column_int64(sql.stmt, 11);
        read_view(&sql, 12, state->turn.members, &marker.view);
        marker.extensions_max = (uint32_t)sqlite3_column_int64(sql.stmt, 13);
        marker.readers = (uint32_t)sqlite3_column_int64(sql.stmt, 14);
    }
    storage_state_done(state, STORAGE_MARKER_READ, &sql);
    state->turn.marker = marker;
}

static void write_marker_row(struct storage_state *state)
{
    assert(state->turn.marker_changed);
    const struct fence_stored_marker *marker = &state->turn.marker;
    char view[FENCE_VIEW_TEXT_MAX];
    fence_view_format(&marker->view, state->turn.members, view);
    struct storage_sql sql = storage_state_use(state, STORAGE_MARKER_WRITE);
    storage_sql_bind_text(&sql, 1, marker->fleet_id);
    storage_sql_bind_int(&sql, 2, marker->member);
    storage_sql_bind_text(&sql, 3, marker->server_id);
    storage_sql_bind_text(&sql, 4, marker->lineage);
    storage_sql_bind_int(&sql, 5, marker->ttl_max_ms);
    storage_sql_bind_int(&sql, 6, marker->durable);
    storage_sql_bind_int(&sql, 7, marker->active);
    storage_sql_bind_int(&sql, 8, marker->next);
    storage_sql_bind_int(&sql, 9, marker->progress);
    storage_sql_bind_int(&sql, 10, marker->intact);
    storage_sql_bind_int(&sql, 11, marker->mark);
    storage_sql_bind_int(&sql, 12, marker->floor);
    storage_sql_bind_text(&sql, 13, view);
    storage_sql_bind_int(&sql, 14, marker->extensions_max);
    storage_sql_bind_int(&sql, 15, marker->readers);
    (void)storage_state_run(state, STORAGE_MARKER_WRITE, &sql);
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Reads the count of commits. Every turn that writes raises it. A different count is from another
 * writer, or another file. */
static void read_file_row(struct storage_state *state)
{
    struct storage_sql sql = storage_state_use(state, STORAGE_FILE_READ);
    bool there = storage_sql_row(&sql);
    if (there)
        storage_sql_column_text(&sql, 0, state->lineage, sizeof(state->lineage));
    uint64_t commits = there ? (uint64_t)sqlite3_column_int64(sql.stmt, 1) : 0;
    storage_state_done(state, STORAGE_FILE_READ, &sql);
    state->found_commits = commits;
    if (state->code == SQLITE_OK && commits != state->commits) {
        storage_state_new_lineage(state->lineage); /* discarded if the turn fails */
        state->changed = true;
    }
}

static void count_commit(struct storage_state *state)
{
    struct storage_sql sql = storage_state_use(state, STORAGE_FILE_COUNT);
    storage_sql_bind_text(&sql, 1, state->lineage);
    storage_sql_bind_int(&sql, 2, (int64_t)state->found_commits + 1);
    storage_sql_bind_int(&sql, 3, storage_state_wall_ns());
    (void)storage_state_run(state, STORAGE_FILE_COUNT, &sql);
}

void storage_state_begin(struct storage_state *state)
{
    assert(state->statements[STORAGE_BEGIN] != NULL);
    state->code = SQLITE_OK;
    state->changed = false;
    state->turn.marker_changed = false;
    state->notices_count = 0;
    state->turn.now_ms = storage_state_clock_ms();
    run_statement(state, STORAGE_BEGIN);
    read_file_row(state);
    read_marker_row(state);
}

bool storage_state_end(struct storage_state *state)
{
    const bool counts = state->changed || state->turn.marker_changed;
    if (state->turn.marker_changed)
        write_marker_row(state);
    if (counts)
        count_commit(state);
    run_statement(state, STORAGE_COMMIT);
    if (state->code == SQLITE_OK) {
        state->commits = state->found_commits + counts;
        return true;
    }
    if (!sqlite3_get_autocommit(state->db)) {
        (void)sqlite3_step(state->statements[STORAGE_ROLLBACK]);
        (void)sqlite3_reset(state->statements[STORAGE_ROLLBACK]);
    }
    return false;
}

/* ---- sweeping -------------------------------------------------------------------------------- */

/* Returns the start of the next sweep; 0: the beginning. */
static int64_t sweep_on_from(struct storage_state *state)
{
    struct storage_sql sql = storage_state_use(state, STORAGE_LOCKS_SWEPT);
    storage_sql_bind_int(&sql, 1, state->swept_to);
    return storage_state_run(state, STORAGE_LOCKS_SWEPT, &sql);
}

void storage_state_sweep(struct storage_state *state)
{
    assert(state->changed);
    int64_t next = sweep_on_from(state);
    struct storage_sql sql = storage_state_use(state, STORAGE_LOCKS_SWEEP);
    storage_sql_bind_int(&sql, 1, (int64_t)state->turn.now_ms);
    storage_sql_bind_int(&sql, 2, state->swept_to);
    (void)storage_state_run(state, STORAGE_LOCKS_SWEEP, &sql);
    state->swept_to = next;

    sql = storage_state_use(state, STORAGE_WAITING_SWEEP);
    storage_sql_bind_int(&sql, 1, (int64_t)state->turn.now_ms);
    (void)storage_state_run(state, STORAGE_WAITING_SWEEP, &sql);

    sql = storage_state_use(state, STORAGE_NEXT_SWEEP);
    storage_sql_bind_int(&sql, 1, (int64_t)state->turn.now_ms);
    (void)storage_state_run(state, STORAGE_NEXT_SWEEP, &sql);

    sql = storage_state_use(state, STORAGE_BROKEN_SWEEP);
    storage_sql_bind_int(&sql, 1, (int64_t)state->turn.now_ms);
    (void)storage_state_run(state, STORAGE_BROKEN_SWEEP, &sql);
}
