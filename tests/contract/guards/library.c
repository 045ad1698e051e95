/* The guard for SQLite as a library of C: storage/guard/sqlite/guard.h. */
#include "storage/guard/sqlite/guard.h"
#include "tests/contract/guards/guard.h"
#include "tests/contract/guards/sqlite.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>

static enum guard_outcome outcome_of(struct guard_connection *connection, int error)
{
    if (error)
        snprintf(connection->error, sizeof(connection->error), "%s",
                 storage_guard_error(sqlite_of(connection)));
    switch (error) {
    case 0:
        return GUARD_DONE;
    case FENCE_ESTALE:
        return GUARD_STALE;
    case FENCE_EINVAL:
        return GUARD_INVALID;
    case FENCE_EBUSY:
        return GUARD_AGAIN;
    default:
        return GUARD_FAILED;
    }
}

static const char *missing(void)
{
    return NULL;
}

static sqlite3 *open_database(const struct guard_server *server)
{
    char path[SQLITE_PATH_MAX], text[GUARD_ERROR_MAX];
    sqlite3 *db = NULL;
    sqlite_path(server, path);
    if (storage_guard_open(path, text, sizeof(text), &db) != 0)
        fail_msg("%s", text);
    return db;
}

static void start(struct guard_server *server)
{
    sqlite3 *db = open_database(server);
    assert_int_equal(storage_guard_install(db), 0);
    sqlite_make_tables(db);
    sqlite3_close(db);
}

static struct guard_connection *connect_to(const struct guard_server *server, const char *isolation)
{
    (void)isolation;
    return sqlite_connection_new(&guard_library, open_database(server));
}

static enum guard_outcome begin(struct guard_connection *connection)
{
    return outcome_of(connection, storage_guard_begin(sqlite_of(connection)));
}

static enum guard_outcome begin_read(struct guard_connection *connection)
{
    return sqlite_run(connection, "BEGIN");
}

static enum guard_outcome commit(struct guard_connection *connection)
{
    return outcome_of(connection, storage_guard_commit(sqlite_of(connection)));
}

static void rollback(struct guard_connection *connection)
{
    storage_guard_rollback(sqlite_of(connection));
}

/* The library tells a refusal as numbers, not as a text. */
static enum guard_outcome told(struct guard_connection *connection, int error,
                               const struct storage_rejection *rejection)
{
    enum guard_outcome outcome = outcome_of(connection, error);
    if (outcome == GUARD_STALE)
        snprintf(connection->error, sizeof(connection->error), "%s: %lld after %lld",
                 rejection->resource, (long long)rejection->token,
                 (long long)rejection->highest_token);
    return outcome;
}

static enum guard_outcome judge(struct guard_connection *connection, enum guard_call call,
                                const char *resource, int64_t token)
{
    static int (*const calls[GUARD_CALLS])(sqlite3 *, const char *, int64_t,
                                           struct storage_rejection *) = {
        [GUARD_CLAIM] = storage_guard_claim,
        [GUARD_CHECK] = storage_guard_check,
        [GUARD_CLAIM_READ] = storage_guard_claim_read,
        [GUARD_CHECK_READ] = storage_guard_check_read,
    };
    struct storage_rejection rejection;
    const int error = calls[call](sqlite_of(connection), resource, token, &rejection);
    return told(connection, error, &rejection);
}

static enum guard_outcome token(struct guard_connection *connection, const char *resource,
                                int64_t *ret_token)
{
    return outcome_of(connection,
                      storage_guard_highest(sqlite_of(connection), resource, ret_token));
}

const struct guard_kind guard_library = {
    .name = "library",
    .isolations = {"serializable"},
    .missing = missing,
    .start = start,
    .stop = sqlite_stop,
    .connect = connect_to,
    .close = sqlite_connection_close,
    .begin = begin,
    .begin_read = begin_read,
    .commit = commit,
    .rollback = rollback,
    .judge = judge,
    .token = token,
    .read = sqlite_read,
    .write = sqlite_write,
};
