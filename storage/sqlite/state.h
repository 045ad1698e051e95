/* The keys of a file for a master: its marker, its counters and its locks, as rows. Also the state
 * of one turn of the store.
 *
 * A turn is one transaction. The first failure of SQLite in it stays in storage_state.code: from
 * there on all reads find nothing and all writes do nothing, and the turn is rolled back. So the
 * rules need no error paths (fence/master/take.c). A state belongs to the thread of the store. */
#ifndef STORAGE_SQLITE_STATE_H
#define STORAGE_SQLITE_STATE_H

#include "fence/master/store.h"
#include "storage/sql/sql.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum storage_statement {
    STORAGE_BEGIN,
    STORAGE_COMMIT,
    STORAGE_ROLLBACK,
    STORAGE_FILE_READ,
    STORAGE_FILE_COUNT,
    STORAGE_MARKER_READ,
    STORAGE_MARKER_WRITE,
    STORAGE_COUNTER_READ,
    STORAGE_COUNTER_WRITE,
    STORAGE_COUNTER_HIGHEST, /* named ones too */
    STORAGE_NAMED_READ,
    STORAGE_NAMED_WRITE,
    STORAGE_NAMED_COUNT,
    STORAGE_NAMED_NAMES, /* id, name */
    STORAGE_LOCK_READ,
    STORAGE_LOCK_WRITE,
    STORAGE_LOCK_DELETE,
    STORAGE_LOCKS_CLEAR,
    STORAGE_LOCKS_DISOWN,
    STORAGE_LOCKS_SWEEP,
    STORAGE_LOCKS_SWEPT,
    STORAGE_WAITING_WRITE,
    STORAGE_WAITING_DELETE,
    STORAGE_WAITING_SWEEP,
    STORAGE_NEXT_READ,
    STORAGE_NEXT_WRITE,
    STORAGE_NEXT_DELETE,
    STORAGE_NEXT_SWEEP,
    STORAGE_BROKEN_READ,
    STORAGE_BROKEN_WRITE,
    STORAGE_BROKEN_SWEEP,
    STORAGE_PAGE_COUNTERS_READ, /* slot, JSON */
    STORAGE_PAGE_NAMED_READ,    /* FENCE_SLOTS and id, JSON */
    STORAGE_PAGE_LOCKS_READ,    /* hash, JSON */
    STORAGE_PAGE_FLOOR,
    STORAGE_PAGE_COUNTERS, /* slot, number */
    STORAGE_PAGE_NAMED,    /* name, number */
    STORAGE_PAGE_LOCKS,    /* as storage_state_read_lock() has them, then the resource */
    STORAGE_NAMES,         /* hash, resource */
    STORAGE_STATEMENTS
};

/* Asks for the highest number of any counter; 0 if none counted. */
#define STORAGE_HIGHEST_TEXT                                                                       \
    "SELECT coalesce(max(number), 0) FROM "                                                        \
    "(SELECT number FROM counter UNION ALL SELECT number FROM named)"

struct storage_notice {
    char lock_id[FENCE_LOCK_ID_MAX + 1];
    char resource[FENCE_RESOURCE_MAX + 1];
};

enum {
    STORAGE_NOTICES_MAX = 1024, /* notices of one turn; further ones are lost, which is allowed */
};

struct storage_state {
    sqlite3 *db;
    sqlite3_stmt *statements[STORAGE_STATEMENTS];
    char server_id[FENCE_ID_HEX_LEN + 1];
    char lineage[FENCE_LINEAGE_MAX + 1];
    uint64_t commits; /* turns that wrote, since the file was made */
    int64_t swept_to; /* the start of the next sweep */

    /* For the turn. */
    int code;               /* SQLite's code of the first failure */
    uint64_t found_commits; /* commits at the beginning of the turn */
    bool changed;
    struct fence_turn turn;    /* the state for the rules; its clock is the boot clock */
    char *page;                /* a page that was read: the job frees it with sqlite3_free(); or
                                * NULL */
    uint64_t waiting_until_ms; /* no call waits for a lock after this */
    uint64_t next_until_ms;    /* no free lock is kept for a waiter after this */
    size_t notices_count;
    struct storage_notice notices[STORAGE_NOTICES_MAX];
};

/* Prepares all statements on @db, whose tables exist. The caller has set the store, the members and
 * the durability of @state's turn. Returns errors as storage_sql_error(). */
FENCE_CHECKED int storage_state_open(struct storage_state *state, sqlite3 *db);
void storage_state_close(struct storage_state *state);

/* Begins a turn: reads the marker. If another program has written to the file since the last turn,
 * the lineage of the data is a new one from here on. */
void storage_state_begin(struct storage_state *state);

/* Ends the turn. Returns false if the turn was rolled back; @code says why. */
bool storage_state_end(struct storage_state *state);

/* Returns a statement, ready to be bound; it does nothing once the turn has failed.
 * storage_state_done() ends it. */
struct storage_sql storage_state_use(struct storage_state *state, enum storage_statement which);
void storage_state_done(struct storage_state *state, enum storage_statement which,
                        struct storage_sql *sql);

/* Runs a bound statement, and ends it. Returns the first column of its first row; 0: no row. */
int64_t storage_state_run(struct storage_state *state, enum storage_statement which,
                          struct storage_sql *sql);

/* The lock in the current row of STORAGE_LOCK_READ or STORAGE_PAGE_LOCKS. */
void storage_state_read_lock(struct storage_sql *sql, struct fence_stored_lock *ret_lock);

/* Removes some expired locks. This only affects the size of the file. */
void storage_state_sweep(struct storage_state *state);

/* Returns the boot clock in milliseconds: it counts while the machine sleeps, and no caller can set
 * it. */
uint64_t storage_state_clock_ms(void);

/* Returns the wall clock, from which file systems take their times. */
int64_t storage_state_wall_ns(void);

/* Makes a lineage that no file had before. */
void storage_state_new_lineage(char ret_lineage[static FENCE_LINEAGE_MAX + 1]);

#endif
