#include "storage/guard/sqlite/guard.h"

#include "fence/guard/guard.h"
#include "fence/protocol/name.h"
#include "storage/guard/sqlite/readers.h"
#include "storage/sql/sql.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* A judgement holds only as long as no other connection can write: until the end of a write
 * transaction. */
static void assert_in_write_transaction(sqlite3 *db)
{
    assert(sqlite3_txn_state(db, "main") == SQLITE_TXN_WRITE);
}

static struct storage_rejection rejection_of(enum storage_rejection_kind kind, const char *resource)
{
    assert(strlen(resource) <= FENCE_RESOURCE_MAX);
    struct storage_rejection rejection = {.kind = kind};
    snprintf(rejection.resource, sizeof rejection.resource, "%s", resource);
    return rejection;
}

/* ---- by token -------------------------------------------------------------------------------- */

/* All columns are read, since the table that an earlier Pawl made has no reader_token. */
static int read_seen(sqlite3 *db, const char *resource, bool *ret_known,
                     struct fence_guard *ret_seen)
{
    assert(db && resource && ret_known && ret_seen);
    struct fence_guard seen = {0};
    struct storage_sql sql =
        storage_sql_prepare(db, "SELECT * FROM main.pawl_guard WHERE resource = ?1");
    storage_sql_bind_text(&sql, 1, resource);
    const bool known = storage_sql_row(&sql);
    if (known) {
        seen.writer = sqlite3_column_int64(sql.stmt, 1);
        seen.reader = sqlite3_column_int64(sql.stmt, 2); /* 0 where there is no such column */
    }
    int err = storage_sql_finish(&sql);
    if (err)
        return err;
    *ret_known = known;
    *ret_seen = seen;
    return 0;
}

int storage_guard_seen(sqlite3 *db, const char *resource, struct fence_guard *ret_seen)
{
    bool known;
    return read_seen(db, resource, &known, ret_seen);
}

int storage_guard_highest(sqlite3 *db, const char *resource, int64_t *ret_highest)
{
    assert(ret_highest);
    struct fence_guard seen;
    int err = storage_guard_seen(db, resource, &seen);
    if (!err)
        *ret_highest = seen.writer > seen.reader ? seen.writer : seen.reader;
    return err;
}

/* A judgement raises one number, so only that one is written: a writer also guards a table that has
 * no reader_token. */
static int raise_seen(sqlite3 *db, const char *resource, bool known, const struct fence_guard *seen,
                      const struct fence_guard *next)
{
    assert(next->writer >= seen->writer && next->reader >= seen->reader);
    assert((next->writer > seen->writer) != (next->reader > seen->reader));
    static const char *const statements[2][2] = {
        {"INSERT INTO main.pawl_guard (resource, highest_token) VALUES (?1, ?2)",
         "INSERT INTO main.pawl_guard (resource, highest_token, reader_token) VALUES (?1, 0, ?2)"},
        {"UPDATE main.pawl_guard SET highest_token = ?2 WHERE resource = ?1",
         "UPDATE main.pawl_guard SET reader_token = ?2 WHERE resource = ?1"},
    };
    const bool is_reader = next->reader != seen->reader;
    struct storage_sql sql = storage_sql_prepare(db, statements[known][is_reader]);
    storage_sql_bind_text(&sql, 1, resource);
    storage_sql_bind_int(&sql, 2, is_reader ? next->reader : next->writer);
    return storage_sql_run(&sql);
}

typedef int rule_function(const struct fence_guard *seen, int64_t token,
                          struct fence_guard *ret_seen);

/* A claim and a check do the same to the guard; they differ in what the caller does next. */
static int judge_and_raise(sqlite3 *db, enum storage_rejection_kind kind, const char *resource,
                           int64_t token, struct storage_rejection *ret_rejection)
{
    rule_function *judge =
        kind == STORAGE_REJECTED_READ ? fence_guard_judge_read : fence_guard_judge_write;
    if (!fence_resource_valid(resource, strlen(resource)))
        return FENCE_EINVAL;
    bool known = false;
    struct fence_guard seen;
    int err = read_seen(db, resource, &known, &seen);
    if (err)
        return err;
    struct fence_guard next = seen;
    err = judge(&seen, token, &next);
    if (err == FENCE_ESTALE) {
        *ret_rejection = rejection_of(kind, resource);
        ret_rejection->token = token;
        ret_rejection->highest_token =
            fence_guard_refusing(&seen, token, &ret_rejection->by_reader);
        assert(ret_rejection->highest_token >= token);
    }
    if (err || (next.writer == seen.writer && next.reader == seen.reader))
        return err;
    return raise_seen(db, resource, known, &seen, &next);
}

int storage_guard_claim(sqlite3 *db, const char *resource, int64_t token,
                        struct storage_rejection *ret_rejection)
{
    assert_in_write_transaction(db);
    return judge_and_raise(db, STORAGE_REJECTED_CLAIM, resource, token, ret_rejection);
}

int storage_guard_check(sqlite3 *db, const char *resource, int64_t token,
                        struct storage_rejection *ret_rejection)
{
    assert_in_write_transaction(db);
    return judge_and_raise(db, STORAGE_REJECTED_WRITE, resource, token, ret_rejection);
}

int storage_guard_claim_read(sqlite3 *db, const char *resource, int64_t token,
                             struct storage_rejection *ret_rejection)
{
    assert_in_write_transaction(db);
    return judge_and_raise(db, STORAGE_REJECTED_READ, resource, token, ret_rejection);
}

/* The reading of the guard makes the snapshot, or is of the snapshot that the transaction has. The
 * data of that snapshot are those of a moment at which the token was good, and no writer below the
 * token is admitted any more. So a check that raises nothing takes no write lock. */
int storage_guard_check_read(sqlite3 *db, const char *resource, int64_t token,
                             struct storage_rejection *ret_rejection)
{
    assert(!sqlite3_get_autocommit(db));
    return judge_and_raise(db, STORAGE_REJECTED_READ, resource, token, ret_rejection);
}

/* ---- by identity ----------------------------------------------------------------------------- */

static bool names_valid(const char *resource, const char *lock_id)
{
    return fence_resource_valid(resource, strlen(resource)) &&
           fence_lock_id_valid(lock_id, strlen(lock_id));
}

int storage_guard_claim_id(sqlite3 *db, const char *resource, const char *lock_id)
{
    assert_in_write_transaction(db);
    if (!names_valid(resource, lock_id))
        return FENCE_EINVAL;
    struct storage_sql sql = storage_sql_prepare(
        db, "INSERT INTO pawl_guard_id (resource, lock_id) VALUES (?1, ?2)"
            "  ON CONFLICT (resource) DO UPDATE SET lock_id = excluded.lock_id");
    storage_sql_bind_text(&sql, 1, resource);
    storage_sql_bind_text(&sql, 2, lock_id);
    return storage_sql_run(&sql);
}

int storage_guard_check_id(sqlite3 *db, const char *resource, const char *lock_id,
                           struct storage_rejection *ret_rejection)
{
    assert_in_write_transaction(db);
    if (!names_valid(resource, lock_id))
        return FENCE_EINVAL;
    char claimed_id[FENCE_LOCK_ID_MAX + 1] = ""; /* no lock id is empty: unclaimed refuses all */
    struct storage_sql sql =
        storage_sql_prepare(db, "SELECT lock_id FROM pawl_guard_id WHERE resource = ?1");
    storage_sql_bind_text(&sql, 1, resource);
    if (storage_sql_row(&sql))
        storage_sql_column_text(&sql, 0, claimed_id, sizeof claimed_id);
    int err = storage_sql_finish(&sql);
    if (err)
        return err;
    err = fence_guard_judge_id(claimed_id, lock_id);
    if (err == FENCE_ESTALE)
        *ret_rejection = rejection_of(STORAGE_REJECTED_WRITE_BY_ID, resource);
    return err;
}

/* ---- the connection -------------------------------------------------------------------------- */

int storage_guard_begin(sqlite3 *db)
{
    assert(db);
    return storage_sql_exec(db, "BEGIN IMMEDIATE");
}

int storage_guard_commit(sqlite3 *db)
{
    assert(db);
    return storage_sql_exec(db, "COMMIT");
}

void storage_guard_rollback(sqlite3 *db)
{
    assert(db);
    /* A full disk or a failed write has rolled back already. Should this fail, the connection keeps
     * its transaction and the next begin says so; nothing of it can be committed by accident. */
    if (!sqlite3_get_autocommit(db))
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
}

const char *storage_guard_error(sqlite3 *db)
{
    return sqlite3_errmsg(db);
}

/* Two programs may miss the same at once, so it is looked for again under the write lock. */
static int learn_readers(sqlite3 *db)
{
    bool known = false;
    int err = storage_readers_known(db, &known);
    if (err || known)
        return err;
    if (!sqlite3_get_autocommit(db))
        return storage_readers_learn(db);
    err = storage_guard_begin(db);
    if (!err)
        err = storage_readers_learn(db);
    if (!err)
        err = storage_guard_commit(db);
    if (err)
        storage_guard_rollback(db);
    return err;
}

int storage_guard_install(sqlite3 *db)
{
    /* The triggers hold the promise against a slip at the SQL prompt, too. REPLACE is an INSERT. */
    int err = storage_sql_exec(
        db, "CREATE TABLE IF NOT EXISTS pawl_guard ("
            "  resource TEXT PRIMARY KEY,"
            "  highest_token INTEGER NOT NULL,"
            "  reader_token INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;"
            "CREATE TRIGGER IF NOT EXISTS pawl_guard_only_rises"
            "  BEFORE UPDATE ON pawl_guard WHEN new.highest_token < old.highest_token"
            "  BEGIN SELECT RAISE(ABORT, 'the guard only rises'); END;"
            "CREATE TRIGGER IF NOT EXISTS pawl_guard_is_not_replaced"
            "  BEFORE INSERT ON pawl_guard WHEN new.highest_token <"
            "    (SELECT highest_token FROM pawl_guard WHERE resource = new.resource)"
            "  BEGIN SELECT RAISE(ABORT, 'the guard only rises'); END;"
            "CREATE TRIGGER IF NOT EXISTS pawl_guard_forgets_nothing"
            "  BEFORE DELETE ON pawl_guard"
            "  BEGIN SELECT RAISE(ABORT, 'the guard forgets nothing'); END;"
            "CREATE TRIGGER IF NOT EXISTS pawl_guard_is_not_renamed"
            "  BEFORE UPDATE OF resource ON pawl_guard WHEN new.resource IS NOT old.resource"
            "  BEGIN SELECT RAISE(ABORT, 'the guard forgets nothing'); END;"
            "CREATE TABLE IF NOT EXISTS pawl_guard_id ("
            "  resource TEXT PRIMARY KEY,"
            "  lock_id TEXT NOT NULL) STRICT, WITHOUT ROWID");
    if (!err)
        err = learn_readers(db);
    return err ? err : storage_rejection_install(db);
}

int storage_guard_refuse_forgetful(sqlite3 *db)
{
    const char *file = sqlite3_db_filename(db, "main");
    if (!file || !*file)
        return FENCE_EINVAL;
    char mode[16] = "";
    struct storage_sql sql = storage_sql_prepare(db, "PRAGMA main.journal_mode");
    if (storage_sql_row(&sql))
        storage_sql_column_text(&sql, 0, mode, sizeof mode);
    int err = storage_sql_finish(&sql);
    if (err)
        return err;
    return strcmp(mode, "off") == 0 || strcmp(mode, "memory") == 0 ? FENCE_EINVAL : 0;
}

int storage_guard_configure(sqlite3 *db)
{
    assert(sqlite3_get_autocommit(db)); /* within a transaction SQLite ignores these pragmas */
    /* First, so that a connection that is refused stays as it was. */
    int err = storage_guard_refuse_forgetful(db);
    if (!err)
        err = storage_sql_error(sqlite3_busy_timeout(db, STORAGE_BUSY_TIMEOUT_MS));
    return err ? err : storage_sql_exec(db, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
}

int storage_guard_open(const char *path, char *text, size_t text_size, sqlite3 **ret_db)
{
    assert(path && text && text_size > 0 && ret_db);
    sqlite3 *db = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE;
    int err = storage_sql_error(sqlite3_open_v2(path, &db, flags, NULL));
    /* The timeout comes first: another process may be switching the same new file to WAL. */
    if (!err)
        err = storage_sql_error(sqlite3_busy_timeout(db, STORAGE_BUSY_TIMEOUT_MS));
    if (!err)
        err = storage_sql_exec(db, "PRAGMA journal_mode = WAL");
    if (!err)
        err = storage_guard_configure(db);
    if (err) {
        const char *why = err == FENCE_EINVAL ? "not a durable database file" : sqlite3_errmsg(db);
        snprintf(text, text_size, "%s", why);
        sqlite3_close(db);
        return err;
    }
    *ret_db = db;
    return 0;
}
