/* The guard of a resource that lives in an SQLite database. It remembers the highest token that
 * each resource has seen, and refuses older ones. Lock, then claim, then read, then write:
 *
 *     storage_guard_begin(db);                                  the holder of token 34 ...
 *     storage_guard_claim(db, "orders/42", 34, &rejection);     ... from here on, 33 is refused
 *     ... read the order ...
 *     storage_guard_commit(db);                                 what was read counts from here
 *
 *     ... work on it, as long as it takes; the process may sleep through its lease ...
 *
 *     storage_guard_begin(db);
 *     storage_guard_check(db, "orders/42", 34, &rejection);     FENCE_ESTALE if 35 came by
 *     ... write the order ...
 *     storage_guard_commit(db);
 *
 * Each of these can fail, and on a failure the transaction is rolled back. On FENCE_ESTALE the
 * holder has lost its lock: it must drop what it read, stop, and acquire again. After the rollback,
 * and in its own transaction, storage_rejection_record() keeps the refusal for people to see.
 *
 * Why the claim comes before the read: a predecessor may wake up late. It could still write between
 * our read and our first write, and we would overwrite that: a lost update. Why check and write are
 * one transaction: between two, somebody else's claim would fit.
 *
 * The promise: a claim or a write with token t has committed. From then on nothing with a token
 * below t is accepted, over crashes too. Every connection that writes the resource must go through
 * the guard. storage_guard_open() or storage_guard_configure() must have set it up, as durability
 * is a property of the connection. Tokens are trusted: who may write can raise the guard. The table
 * keeps one row for each resource ever claimed, and must: a row forgotten is a stale holder let in.
 *
 * Errors beside those named: FENCE_EBUSY, FENCE_ENOMEM, FENCE_EIO as in storage/sql/sql.h. Their
 * text is storage_guard_error(db) until the next call on @db, the rollback included. A connection
 * belongs to one thread at a time.
 *
 * Source: M. Kleppmann, "How to do distributed locking" (2016), "Making the lock safe with
 * fencing". */
#ifndef STORAGE_GUARD_SQLITE_GUARD_H
#define STORAGE_GUARD_SQLITE_GUARD_H

#include "fence/guard/guard.h"
#include "fence/protocol/error.h"
#include "storage/guard/sqlite/rejection.h"

#include <stdint.h>

#include <sqlite3.h>

enum {
    STORAGE_BUSY_TIMEOUT_MS = 2000, /* how long a connection waits for another's transaction */
};

/* Opens or creates the database file at @path (a real file: not ":memory:"), in WAL mode,
 * configured as below. The caller closes it with sqlite3_close(). On an error @ret_db is untouched
 * and
 * @text, which holds @text_size bytes, says what went wrong. */
FENCE_CHECKED int storage_guard_open(const char *path, char *text, size_t text_size,
                                     sqlite3 **ret_db);

/* Prepares a connection of the caller's own, outside a transaction: synchronous=FULL, the busy
 * timeout, foreign keys on. With FULL a commit is on the disk when it returns, in every journal
 * mode. FENCE_EINVAL if it has no file, or its journal is off or in memory: it would forget, so it
 * cannot guard. */
FENCE_CHECKED int storage_guard_configure(sqlite3 *db);

/* FENCE_EINVAL if the database has no file, or its journal is off or in memory. Such a database
 * loses the guard with the process or the power. */
FENCE_CHECKED int storage_guard_refuse_forgetful(sqlite3 *db);

/* Creates the guard's tables (pawl_...) where they are not there yet. A table that an earlier Pawl
 * made keeps its rows, and learns readers. */
FENCE_CHECKED int storage_guard_install(sqlite3 *db);

/* BEGIN IMMEDIATE: the write lock is taken before anything is read, so that a check cannot be
 * overtaken. FENCE_EBUSY after the busy timeout. */
FENCE_CHECKED int storage_guard_begin(sqlite3 *db);

/* Durable when it returns 0. On an error the transaction may still be open: roll back. */
FENCE_CHECKED int storage_guard_commit(sqlite3 *db);

/* Undoes the transaction; harmless where SQLite has already done so. */
void storage_guard_rollback(sqlite3 *db);

/* Within a transaction from storage_guard_begin(): raises the guard of @resource to @token, before
 * anything of the resource is read. Commit it alone, or together with the reading (what was read
 * may be used after the commit only). FENCE_ESTALE: refused, and *@ret_rejection says what the
 * guard had seen. FENCE_EINVAL: not a resource name or not a token. */
FENCE_CHECKED int storage_guard_claim(sqlite3 *db, const char *resource, int64_t token,
                                      struct storage_rejection *ret_rejection);

/* Within the transaction of the write, before it: judges @token, and raises the guard to it. An
 * equal token is allowed, as one holder writes many times. Errors as storage_guard_claim(). */
FENCE_CHECKED int storage_guard_check(sqlite3 *db, const char *resource, int64_t token,
                                      struct storage_rejection *ret_rejection);

/* The same for a reader of a read-write lock. A reader claims in a transaction from
 * storage_guard_begin(), before it reads anything of the resource. The commit ends the right to
 * write of every writer with this token or a lower one. Each transaction that reads begins with a
 * check; it may be one that only reads (BEGIN). FENCE_ESTALE: a newer writer was there, so what was
 * read before and what is read now do not belong together: drop both. Other errors as
 * storage_guard_claim(); FENCE_EBUSY of a check that has to raise the guard: restart. */
FENCE_CHECKED int storage_guard_claim_read(sqlite3 *db, const char *resource, int64_t token,
                                           struct storage_rejection *ret_rejection);
FENCE_CHECKED int storage_guard_check_read(sqlite3 *db, const char *resource, int64_t token,
                                           struct storage_rejection *ret_rejection);

/* The highest token for @resource. */
FENCE_CHECKED int storage_guard_seen(sqlite3 *db, const char *resource,
                                     struct fence_guard *ret_seen);

/* The highest token that @resource has seen, of a writer or a reader; 0 if none. */
FENCE_CHECKED int storage_guard_highest(sqlite3 *db, const char *resource, int64_t *ret_highest);

/* The variant by identity, for a lock service without ordered tokens (antirez, "Is Redlock safe?",
 * 2016). A claim records @lock_id. A write is accepted only while that is still the recorded one.
 *
 * Its limit: it cannot order two claims. Any claim succeeds, so a holder that slept *before* its
 * claim takes the resource from its successor, whose write is then refused. No update is lost, but
 * the rightful holder is the one turned away; the guard by token refuses the sleeper instead.
 *
 * Guard a resource by token or by identity, never by both. A lock id is a secret and is stored as
 * it is given. If others may read the database, give a hash of it. FENCE_EINVAL: not a resource
 * name or not a lock id. */
FENCE_CHECKED int storage_guard_claim_id(sqlite3 *db, const char *resource, const char *lock_id);
FENCE_CHECKED int storage_guard_check_id(sqlite3 *db, const char *resource, const char *lock_id,
                                         struct storage_rejection *ret_rejection);

/* SQLite's text for the last failure on @db; valid until the next call on it. */
const char *storage_guard_error(sqlite3 *db);

#endif
