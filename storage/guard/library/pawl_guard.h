/* The guard of a resource that lives in an SQLite database. It remembers the highest token that
 * each resource has seen, and refuses older ones. This header needs <sqlite3.h> only; link with
 * -lpawlguard -lsqlite3. Lock, then claim, then read, then write:
 *
 *     pawl_guard_begin(db);                              the holder of token 34 ...
 *     pawl_guard_claim(db, "orders/42", 34, NULL);       ... from here on, 33 is refused
 *     ... read the order ...
 *     pawl_guard_commit(db);                             what was read counts from here
 *
 *     ... work on it; the process may sleep through its lease ...
 *
 *     pawl_guard_begin(db);
 *     pawl_guard_check(db, "orders/42", 34, NULL);       PAWL_GUARD_ESTALE if 35 came by
 *     ... write the order ...
 *     pawl_guard_commit(db);
 *
 * Each of these can fail. On a failure call pawl_guard_rollback(). On PAWL_GUARD_ESTALE the holder
 * has lost its lock: it must drop what it read, stop, and acquire again.
 *
 * The claim comes before the read, because a predecessor may wake up late. Without the claim it
 * could still write between our read and our write, and we would overwrite that. Check and write
 * are one transaction, because somebody else's claim would fit between two.
 *
 * The promise: once a claim or a write with token t is committed, nothing with a token below t is
 * accepted, over crashes too. Every connection that writes the resource must go through the guard,
 * and must come from pawl_guard_open() or pawl_guard_configure(): durability is a property of the
 * connection. Tokens are trusted. The table keeps one row for each resource, and never drop one: a
 * stale holder would be let in.
 *
 * Errors: functions return 0 or a negative pawl_guard_error. Outputs are untouched then. For
 * PAWL_GUARD_EBUSY, PAWL_GUARD_ENOMEM and PAWL_GUARD_EIO sqlite3_errmsg() has SQLite's text, until
 * the next call on the connection. A wrong call is PAWL_GUARD_EINVAL and changes nothing. Threads:
 * a connection belongs to one thread at a time.
 *
 * Source: M. Kleppmann, "How to do distributed locking" (2016), "Making the lock safe with
 * fencing". */
#ifndef PAWL_GUARD_H
#define PAWL_GUARD_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PAWL_GUARD_CHECKED __attribute__((warn_unused_result))
#define PAWL_GUARD_PUBLIC  __attribute__((visibility("default")))
#else
#define PAWL_GUARD_CHECKED
#define PAWL_GUARD_PUBLIC
#endif

enum {
    PAWL_GUARD_NAME_MAX = 255,        /* bytes of a resource's name */
    PAWL_GUARD_REJECTIONS_MAX = 1000, /* rejections that are kept; beyond that the oldest is
                                       * dropped */
    PAWL_GUARD_BUSY_TIMEOUT_MS = 2000 /* how long to wait for another connection's transaction */
};

enum pawl_guard_error {
    PAWL_GUARD_ESTALE = -1, /* the resource has seen a higher token: stop the work, acquire again */
    PAWL_GUARD_EINVAL = -2, /* the call is wrong: correct the program */
    PAWL_GUARD_EBUSY = -3,  /* another connection locked the database: roll back, try again */
    PAWL_GUARD_ENOMEM = -4, /* memory is short: roll back, try again */
    PAWL_GUARD_EIO = -5     /* a full disk, a damaged file, missing tables: tell the operator */
};

/* The name of an error, such as "stale". Static, never NULL. */
PAWL_GUARD_PUBLIC const char *pawl_guard_error_name(int error);

/* The refused call. */
enum pawl_guard_kind {
    PAWL_GUARD_CLAIM = 1,
    PAWL_GUARD_WRITE = 2,
    PAWL_GUARD_WRITE_BY_ID = 3, /* no tokens: lock ids are secrets and are not kept */
    PAWL_GUARD_READ = 4         /* a reader's claim, or its check */
};

struct pawl_guard_rejection {
    int64_t at_ms; /* wall clock since 1970, for people; only from pawl_guard_rejections() */
    int64_t token; /* the token of the call, and the guard's; 0 for WRITE_BY_ID */
    int64_t highest_token;
    int32_t kind; /* a pawl_guard_kind */
    char resource[PAWL_GUARD_NAME_MAX + 1];
};

/* ---- connections ----------------------------------------------------------------------------- */

/* Opens or creates the database file at @path in WAL mode, and configures the connection as below.
 * The caller closes it with sqlite3_close(). On an error @text, which has room for @text_size
 * bytes, is the reason. @text may be NULL with a size of 0. PAWL_GUARD_EINVAL: @path is no real
 * file, such as ":memory:". */
PAWL_GUARD_PUBLIC PAWL_GUARD_CHECKED int pawl_guard_open(const char *path, char *text,
                                                         size_t text_size, sqlite3 **ret_db);

/* Prepares a connection of the caller, outside a transaction: synchronous=FULL, the busy timeout,
 * foreign keys on. PAWL_GUARD_EINVAL: within a transaction, or the connection would lose its
 * commits: it has no file, or its journal is off or in memory. */
PAWL_GUARD_PUBLIC PAWL_GUARD_CHECKED int pawl_guard_configure(sqlite3 *db);

/* Creates the missing tables of the guard (pawl_...). A table of an earlier Pawl keeps its rows,
 * and gets a column for readers. */
PAWL_GUARD_PUBLIC PAWL_GUARD_CHECKED int pawl_guard_install(sqlite3 *db);

/* ---- transactions ---------------------------------------------------------------------------- */

/* Takes the write lock before anything is read, so that no claim can overtake a check.
 * PAWL_GUARD_EINVAL: within a transaction. */
PAWL_GUARD_PUBLIC PAWL_GUARD_CHECKED int pawl_guard_begin(sqlite3 *db);

/* Durable when it returns 0. On an error the transaction may still be open: roll back.
 * PAWL_GUARD_EINVAL: no transaction is open. */
PAWL_GUARD_PUBLIC PAWL_GUARD_CHECKED int pawl_guard_commit(sqlite3 *db);

/* Undoes the transaction; harmless if there is none, or if @db is NULL. */
PAWL_GUARD_PUBLIC void pawl_guard_rollback(sqlite3 *db);

/* ---- by token -------------------------------------------------------------------------------- */

/* Within a transaction of pawl_guard_begin(): raises the guard of @resource to @token, before
 * anything of the resource is read. Data from the read may be used after the commit only.
 *
 * PAWL_GUARD_ESTALE: refused, and *@ret_rejection, if not NULL, says what the guard has seen.
 * PAWL_GUARD_EINVAL: not a resource name, not a token, or no write transaction is open. */
PAWL_GUARD_PUBLIC PAWL_GUARD_CHECKED int
pawl_guard_claim(sqlite3 *db, const char *resource, int64_t token,
                 struct pawl_guard_rejection *ret_rejection);

/* Within the transaction of the write, before it: judges @token, and raises the guard to it. An
 * equal token is accepted, as one holder writes many times. Errors as pawl_guard_claim(). */
PAWL_GUARD_PUBLIC PAWL_GUARD_CHECKED int
pawl_guard_check(sqlite3 *db, const char *resource, int64_t token,
                 struct pawl_guard_rejection *ret_rejection);

/* ---- readers of a read-write lock --------------------------------------------------------- */

/* Within a transaction of pawl_guard_begin(), before anything of the resource is read: admits the
 * reader with @token. Once that is committed, no writer with @token or a lower one is accepted. So
 * a holder that is going to write calls pawl_guard_claim(), and never this. Readers do not refuse
 * each other. Each program that writes the database has to know readers: update all before the
 * first reader.
 *
 * PAWL_GUARD_ESTALE: the resource has seen a writer with a higher token. Else as
 * pawl_guard_claim(). A write that is refused because of a reader names the reader's token as
 * highest_token, which may equal the token that was brought. */
PAWL_GUARD_PUBLIC PAWL_GUARD_CHECKED int
pawl_guard_claim_read(sqlite3 *db, const char *resource, int64_t token,
                      struct pawl_guard_rejection *ret_rejection);

/* Call it within each transaction that reads, before it reads; a plain BEGIN is enough, and such
 * readers do not wait for each other. PAWL_GUARD_ESTALE: a newer writer was admitted. Drop the data
 * that were read, since the rest would be of another write. PAWL_GUARD_EINVAL: not a resource name,
 * not a token, or no transaction is open. PAWL_GUARD_EBUSY: roll back, restart. */
PAWL_GUARD_PUBLIC PAWL_GUARD_CHECKED int
pawl_guard_check_read(sqlite3 *db, const char *resource, int64_t token,
                      struct pawl_guard_rejection *ret_rejection);

/* ---- by identity ----------------------------------------------------------------------------- */

/* For a lock service without ordered tokens. A claim records @lock_id, and a write is accepted only
 * while that is the recorded one. It cannot order two claims: a holder that slept before its claim
 * takes the resource from its successor. No update is lost, but the rightful holder is refused.
 *
 * Guard a resource by token or by identity, never by both. A lock id is a secret and is stored as
 * given: give a hash where others may read the database. PAWL_GUARD_EINVAL: not a resource name,
 * not a lock id (22 to 64 characters of base64url), or no write transaction is open. */
PAWL_GUARD_PUBLIC PAWL_GUARD_CHECKED int pawl_guard_claim_id(sqlite3 *db, const char *resource,
                                                             const char *lock_id);
PAWL_GUARD_PUBLIC PAWL_GUARD_CHECKED int
pawl_guard_check_id(sqlite3 *db, const char *resource, const char *lock_id,
                    struct pawl_guard_rejection *ret_rejection);

/* ---- what was refused ------------------------------------------------------------------------ */

/* Records @rejection for people, in a separate transaction, after the rollback of the refused one.
 * The time is now; @rejection->at_ms is not read. An error does not change the refusal.
 * PAWL_GUARD_EINVAL: no write transaction is open, or @rejection is not valid. */
PAWL_GUARD_PUBLIC PAWL_GUARD_CHECKED int
pawl_guard_record(sqlite3 *db, const struct pawl_guard_rejection *rejection);

/* Reads the newest @max rejections, newest first. @max is 1 to PAWL_GUARD_REJECTIONS_MAX. */
PAWL_GUARD_PUBLIC PAWL_GUARD_CHECKED int
pawl_guard_rejections(sqlite3 *db, size_t max, struct pawl_guard_rejection *ret_rejections,
                      size_t *ret_count);

#ifdef __cplusplus
}
#endif

#endif
