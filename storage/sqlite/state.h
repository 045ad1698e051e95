/* What a file holds of a master: its marker, its counters and its locks, as rows. And what one turn
 * of the store works with.
 *
 * A turn is one transaction. The first failure of SQLite in it sticks in storage_state.code: from
 * there on all reads find nothing and all writes do nothing, and the turn is rolled back. So the
 * rules read straight down (storage/sqlite/take.c). A state belongs to the thread of the store. */
#ifndef STORAGE_SQLITE_STATE_H
#define STORAGE_SQLITE_STATE_H

#include "fence/protocol/limits.h"
#include "fence/protocol/message.h"
#include "fence/protocol/rejoin_message.h"
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

/* Asks for the highest number of any counter; 0 where none counted. */
#define STORAGE_HIGHEST_TEXT                                                                       \
    "SELECT coalesce(max(number), 0) FROM "                                                        \
    "(SELECT number FROM counter UNION ALL SELECT number FROM named)"

/* As fence_facts has it; what makes this file a member of a fleet. */
struct storage_marker {
    bool present;
    char fleet_id[FENCE_ID_HEX_LEN + 1];
    uint32_t member; /* 1 .. n */
    char server_id[FENCE_ID_HEX_LEN + 1];
    char lineage[FENCE_LINEAGE_MAX + 1];
    uint32_t ttl_max_ms;
    uint32_t extensions_max; /* 0: none is named */
    bool durable;
    bool active; /* else it is joining: */
    int64_t next;
    uint32_t progress; /* steps of CLEAR and INSTALL since the mark */
    bool intact;       /* it had kept all it knew when it was marked */
    enum fence_mark mark;
    int64_t floor; /* below it no counter counts; 0: none */
    struct fence_view view;
};

/* A row of the table lock. */
struct storage_lock {
    bool present;
    char lock_id[FENCE_LOCK_ID_MAX + 1]; /* FENCE_TOMBSTONE: it is nobody's */
    char owner[FENCE_OWNER_MAX + 1];
    bool adopted; /* it is the holder's, and no attempt's to undo */
    uint64_t attempt;
    int64_t number;
    uint32_t extensions;
    bool imported;       /* another master gave the number; */
    uint32_t from;       /* the set of those where it counted */
    uint64_t expires_ms; /* on the boot clock */
};

struct storage_notice {
    char lock_id[FENCE_LOCK_ID_MAX + 1];
    char resource[FENCE_RESOURCE_MAX + 1];
};

enum {
    STORAGE_NOTICES_MAX = 1024, /* of one turn; more are lost, as notices may be */
};

struct storage_state {
    sqlite3 *db;
    sqlite3_stmt *statements[STORAGE_STATEMENTS];
    unsigned members; /* of the fleet, and */
    unsigned me;      /* which of them this is, from 0 */
    bool durable;     /* a commit survives a crash of the machine */
    char server_id[FENCE_ID_HEX_LEN + 1];
    char lineage[FENCE_LINEAGE_MAX + 1];
    uint64_t commits; /* turns that wrote something, since the file was made */
    int64_t swept_to; /* where the next sweep begins */

    /* Of the turn. */
    int code;               /* SQLite's, of its first failure */
    uint64_t found_commits; /* at its beginning */
    bool changed;
    uint64_t now_ms; /* the boot clock */
    struct storage_marker marker;
    bool marker_changed;
    uint64_t waiting_until_ms; /* nobody waits for a lock after this */
    size_t notices_count;
    struct storage_notice notices[STORAGE_NOTICES_MAX];
};

/* Prepares all statements on @db, whose tables are there. As storage_sql_error(). */
FENCE_CHECKED int storage_state_open(struct storage_state *state, sqlite3 *db);
void storage_state_close(struct storage_state *state);

/* Begins a turn: reads the marker. If somebody else has written to the file since the last turn,
 * the data descend from something else from here on: the lineage is another one. */
void storage_state_begin(struct storage_state *state);

/* Ends it. False: nothing of it stands, and @code says why. */
bool storage_state_end(struct storage_state *state);

/* A statement, ready to be bound; a no-op once the turn failed. storage_state_done() ends it. */
struct storage_sql storage_state_use(struct storage_state *state, enum storage_statement which);
void storage_state_done(struct storage_state *state, enum storage_statement which,
                        struct storage_sql *sql);

/* The lock of @resource, if its time is not over. Writing renews its lease to what its expiry says.
 */
void storage_state_lock(struct storage_state *state, const char *resource,
                        struct storage_lock *ret_lock);
void storage_state_put_lock(struct storage_state *state, const char *resource,
                            const struct storage_lock *lock);
void storage_state_read_lock(struct storage_sql *sql, struct storage_lock *ret_lock);
void storage_state_drop_lock(struct storage_state *state, const char *resource);

/* The counter of @slot as it is stored; 0 where it never counted. */
int64_t storage_state_counter(struct storage_state *state, uint16_t slot);
void storage_state_put_counter(struct storage_state *state, uint16_t slot, int64_t number);

/* The counter named @name as it is stored; 0 where it never counted. */
int64_t storage_state_named(struct storage_state *state, const char *name);
void storage_state_put_named(struct storage_state *state, const char *name, int64_t number);

/* How many named counters there are. */
uint64_t storage_state_names(struct storage_state *state);

/* Somebody waits for @resource until the boot clock says @until_ms. */
void storage_state_wait(struct storage_state *state, const char *resource, uint64_t until_ms);

/* The lock of @resource under @lock_id was given up: notes it for those who wait, once. */
void storage_state_notice(struct storage_state *state, const char *resource, const char *lock_id);

/* The highest token of @lock_id for @resource that is noted as broken, and by whom; 0: none is.
 * @ret_by has room for FENCE_OWNER_MAX bytes and the NUL. A note ends when the boot clock says
 * @until_ms. */
int64_t storage_state_broken(struct storage_state *state, const char *resource, const char *lock_id,
                             char *ret_by);
void storage_state_put_broken(struct storage_state *state, const struct fence_request *request,
                              uint64_t until_ms);

/* Removes some locks whose time is over. Only the size of the file depends on it. */
void storage_state_sweep(struct storage_state *state);

/* The boot clock in milliseconds: it counts while the machine sleeps, and nobody sets it. */
uint64_t storage_state_clock_ms(void);

/* The wall clock, which file systems take their times from. */
int64_t storage_state_wall_ns(void);

/* Copies @from, which must fit. */
void storage_state_copy(char *to, size_t size, const char *from);

/* A lineage that no file had before. */
void storage_state_new_lineage(char ret_lineage[static FENCE_LINEAGE_MAX + 1]);

#endif
