/* The guard for SQLite as an extension: storage/guard/sqlite/EXTENSION.md. All goes through SQL, as
 * from any language. */
#include "tests/contract/guards/guard.h"
#include "tests/contract/guards/sqlite.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    CALL_MAX = 512,
    PATIENCE_MS = 2000, /* for another's transaction */
};

static const char *missing(void)
{
    return NULL;
}

static void load(sqlite3 *db)
{
    char path[SQLITE_PATH_MAX], *text = NULL;
    const char *build = getenv("PAWL_BUILD");
    snprintf(path, sizeof(path), "%s/storage/pawl.so", build ? build : "build");
    assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL), 0);
    if (sqlite3_load_extension(db, path, NULL, &text) != SQLITE_OK)
        fail_msg("%s", text);
}

static void execute(sqlite3 *db, const char *text)
{
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", text, sqlite3_errmsg(db));
}

static sqlite3 *open_database(const struct guard_server *server)
{
    char path[SQLITE_PATH_MAX];
    sqlite3 *db = NULL;
    sqlite_path(server, path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(db, PATIENCE_MS), SQLITE_OK);
    load(db);
    execute(db, "PRAGMA journal_mode = WAL; PRAGMA recursive_triggers = ON");
    return db;
}

static void start(struct guard_server *server)
{
    sqlite3 *db = open_database(server);
    sqlite_make_tables(db);
    execute(db, "SELECT pawl_install(); SELECT pawl_protect('protected', '''rows/'' || id')");
    sqlite3_close(db);
}

static struct guard_connection *connect_to(const struct guard_server *server, const char *isolation)
{
    (void)isolation;
    return sqlite_connection_new(&guard_extension, open_database(server));
}

static enum guard_outcome begin(struct guard_connection *connection)
{
    return sqlite_run(connection, "BEGIN IMMEDIATE");
}

static enum guard_outcome begin_read(struct guard_connection *connection)
{
    return sqlite_run(connection, "BEGIN");
}

static enum guard_outcome commit(struct guard_connection *connection)
{
    return sqlite_run(connection, "COMMIT");
}

static void rollback(struct guard_connection *connection)
{
    if (!sqlite3_get_autocommit(sqlite_of(connection)))
        execute(sqlite_of(connection), "ROLLBACK");
}

/* The names of the cases have no quotes. */
static enum guard_outcome judge(struct guard_connection *connection, enum guard_call call,
                                const char *resource, int64_t token)
{
    char text[CALL_MAX];
    snprintf(text, sizeof(text), "SELECT %s('%s', %lld)", guard_call_name(call), resource,
             (long long)token);
    return sqlite_run(connection, text);
}

static enum guard_outcome token(struct guard_connection *connection, const char *resource,
                                int64_t *ret_token)
{
    char text[CALL_MAX];
    snprintf(text, sizeof(text), "SELECT pawl_token('%s')", resource);
    return sqlite_number(connection, text, ret_token);
}

const struct guard_kind guard_extension = {
    .name = "extension",
    .isolations = {"serializable"},
    .protects = true,
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
