#include "tests/contract/guards/sqlite.h"

#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 256,
};

struct sqlite_connection {
    struct guard_connection base;
    sqlite3 *db;
};

void sqlite_path(const struct guard_server *server, char path[static SQLITE_PATH_MAX])
{
    snprintf(path, SQLITE_PATH_MAX, "%s/guarded.db", server->dir);
}

static void make_table(sqlite3 *db, enum guard_table table)
{
    char text[TEXT_MAX];
    const char *name = guard_table_name(table);
    snprintf(text, sizeof(text),
             "CREATE TABLE %s (id INTEGER PRIMARY KEY, value BIGINT NOT NULL);"
             "WITH RECURSIVE rows(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM rows LIMIT %d)"
             "  INSERT INTO %s SELECT id, 0 FROM rows",
             name, GUARD_ROWS, name);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
}

void sqlite_make_tables(sqlite3 *db)
{
    make_table(db, GUARD_PLAIN);
    make_table(db, GUARD_PROTECTED);
}

struct guard_connection *sqlite_connection_new(const struct guard_kind *kind, sqlite3 *db)
{
    struct sqlite_connection *connection = calloc(1, sizeof(*connection));
    assert_non_null(connection);
    connection->base.kind = kind;
    connection->db = db;
    return &connection->base;
}

void sqlite_connection_close(struct guard_connection *connection)
{
    if (!connection)
        return;
    assert_int_equal(sqlite3_close(sqlite_of(connection)), SQLITE_OK);
    free(connection);
}

sqlite3 *sqlite_of(struct guard_connection *connection)
{
    return ((struct sqlite_connection *)connection)->db;
}

/* The extension's errors begin with a word each. */
static enum guard_outcome outcome_of(struct guard_connection *connection, int status)
{
    const char *text = sqlite3_errmsg(sqlite_of(connection));
    if (status == SQLITE_OK || status == SQLITE_ROW || status == SQLITE_DONE)
        return GUARD_DONE;
    snprintf(connection->error, sizeof(connection->error), "%s", text);
    if (status == SQLITE_BUSY)
        return GUARD_AGAIN;
    if (strncmp(text, "stale-token", strlen("stale-token")) == 0)
        return GUARD_STALE;
    if (strncmp(text, "unclaimed", strlen("unclaimed")) == 0)
        return GUARD_UNCLAIMED;
    return strncmp(text, "invalid", strlen("invalid")) == 0 ? GUARD_INVALID : GUARD_FAILED;
}

enum guard_outcome sqlite_run(struct guard_connection *connection, const char *text)
{
    return outcome_of(connection, sqlite3_exec(sqlite_of(connection), text, NULL, NULL, NULL));
}

enum guard_outcome sqlite_number(struct guard_connection *connection, const char *text,
                                 int64_t *ret_number)
{
    sqlite3_stmt *stmt = NULL;
    int status = sqlite3_prepare_v2(sqlite_of(connection), text, -1, &stmt, NULL);
    if (status == SQLITE_OK)
        status = sqlite3_step(stmt);
    if (status == SQLITE_ROW)
        *ret_number = sqlite3_column_int64(stmt, 0);
    const enum guard_outcome outcome = outcome_of(connection, status);
    sqlite3_finalize(stmt);
    return outcome;
}

void sqlite_stop(struct guard_server *server)
{
    (void)server;
}

enum guard_outcome sqlite_read(struct guard_connection *connection, enum guard_table table,
                               unsigned id, int64_t *ret_value)
{
    char text[TEXT_MAX];
    snprintf(text, sizeof(text), "SELECT value FROM %s WHERE id = %u", guard_table_name(table), id);
    return sqlite_number(connection, text, ret_value);
}

enum guard_outcome sqlite_write(struct guard_connection *connection, enum guard_table table,
                                unsigned id, int64_t value)
{
    char text[TEXT_MAX];
    snprintf(text, sizeof(text), "UPDATE %s SET value = %lld WHERE id = %u",
             guard_table_name(table), (long long)value, id);
    return sqlite_run(connection, text);
}
