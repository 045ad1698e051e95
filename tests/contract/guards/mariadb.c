/* The guard for MariaDB: storage/guard/mariadb/pawl_guard.sql. */
#include "tests/contract/guards/mariadb.h"

#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>

enum {
    TEXT_LEN = 4096,
};

struct mariadb_connection {
    struct guard_connection base;
    MYSQL *mysql;
    unsigned error;
};

static MYSQL *mysql_of(const struct guard_connection *connection)
{
    return ((const struct mariadb_connection *)connection)->mysql;
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool begins_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static enum guard_outcome outcome_of(struct guard_connection *connection)
{
    struct mariadb_connection *mine = (struct mariadb_connection *)connection;
    const char *text = mysql_error(mine->mysql);
    mine->error = mysql_errno(mine->mysql);
    if (mine->error == 0)
        return GUARD_DONE;
    snprintf(connection->error, sizeof(connection->error), "%s", text);
    switch (mine->error) {
    case ER_LOCK_DEADLOCK:
    case ER_LOCK_WAIT_TIMEOUT:
    case ER_CHECKREAD:
        return GUARD_AGAIN;
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_LOST:
    case ER_SERVER_SHUTDOWN:
        return GUARD_GONE;
    case ER_SIGNAL_EXCEPTION:
        return begins_with(text, "stale-token: ") ? GUARD_STALE
               : begins_with(text, "unclaimed: ") ? GUARD_UNCLAIMED
               : begins_with(text, "invalid: ")   ? GUARD_INVALID
                                                  : GUARD_FAILED;
    default:
        return GUARD_FAILED;
    }
}

enum guard_outcome mariadb_number(struct guard_connection *connection, const char *text,
                                  int64_t *ret_number)
{
    MYSQL *mysql = mysql_of(connection);
    *ret_number = 0;
    bool first = true;
    int status = mysql_real_query(mysql, text, strlen(text));
    while (status == 0) {
        MYSQL_RES *result = mysql_store_result(mysql);
        MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
        if (first && row && row[0])
            *ret_number = strtoll(row[0], NULL, 10);
        first = first && !row;
        mysql_free_result(result);
        status = mysql_errno(mysql) ? 1 : mysql_next_result(mysql);
    }
    return outcome_of(connection);
}

enum guard_outcome mariadb_run(struct guard_connection *connection, const char *text)
{
    int64_t number;
    return mariadb_number(connection, text, &number);
}

void mariadb_must_run(struct guard_connection *connection, const char *text)
{
    if (mariadb_run(connection, text) != GUARD_DONE)
        fail_msg("%s: %s", text, connection->error);
}

unsigned mariadb_error_of(const struct guard_connection *connection)
{
    return ((const struct mariadb_connection *)connection)->error;
}

/* ---- connections ----------------------------------------------------------------------------- */

static void close_connection(struct guard_connection *connection)
{
    if (!connection)
        return;
    mysql_close(mysql_of(connection));
    free(connection);
}

void mariadb_reset(struct guard_connection *connection)
{
    assert_int_equal(mysql_reset_connection(mysql_of(connection)), 0);
}

static struct guard_connection *connect_as(const struct guard_server *server, const char *user)
{
    char socket[MARIADB_PATH_MAX];
    struct mariadb_connection *connection = calloc(1, sizeof(*connection));
    assert_non_null(connection);
    connection->base.kind = server->kind;
    connection->mysql = mysql_init(NULL);
    assert_non_null(connection->mysql);
    mysql_options(connection->mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mariadb_socket(server, socket);
    if (mysql_real_connect(connection->mysql, NULL, user, "", NULL, 0, socket,
                           CLIENT_MULTI_STATEMENTS))
        return &connection->base;
    close_connection(&connection->base);
    return NULL;
}

static bool use_database(struct guard_connection *connection)
{
    return mysql_select_db(mysql_of(connection), MARIADB_DATABASE) == 0;
}

struct guard_connection *mariadb_connect_root(const struct guard_server *server)
{
    struct guard_connection *connection = connect_as(server, "root");
    assert_non_null(connection);
    assert_true(use_database(connection));
    return connection;
}

static struct guard_connection *connect_to(const struct guard_server *server, const char *isolation)
{
    char text[TEXT_LEN];
    struct guard_connection *connection = connect_as(server, "app");
    if (!connection)
        return NULL;
    snprintf(text, sizeof(text), "SET SESSION TRANSACTION ISOLATION LEVEL %s", isolation);
    if (use_database(connection) && mysql_query(mysql_of(connection), text) == 0)
        return connection;
    close_connection(connection); /* it was killed meanwhile */
    return NULL;
}

/* ---- the database ---------------------------------------------------------------------------- */

static void make_table(struct guard_connection *root, enum guard_table table)
{
    char text[TEXT_LEN];
    const char *name = guard_table_name(table);
    snprintf(text, sizeof(text),
             "CREATE TABLE %s (id INTEGER PRIMARY KEY, value BIGINT NOT NULL) ENGINE = InnoDB;"
             "INSERT INTO %s SELECT seq, 0 FROM seq_1_to_%d;"
             "GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO app",
             name, name, GUARD_ROWS, name);
    mariadb_must_run(root, text);
}

static void make_database(struct guard_server *server)
{
    struct guard_connection *root = connect_as(server, "root");
    assert_non_null(root);
    mariadb_must_run(root, "CREATE DATABASE guarded; CREATE USER app");
    use_database(root);
    assert_int_equal(mariadb_install(server, MARIADB_DATABASE), 0);
    mariadb_must_run(root, "GRANT EXECUTE ON PROCEDURE guarded.pawl_claim TO app");
    mariadb_must_run(root, "GRANT EXECUTE ON PROCEDURE guarded.pawl_check TO app");
    mariadb_must_run(root, "GRANT EXECUTE ON PROCEDURE guarded.pawl_claim_read TO app");
    mariadb_must_run(root, "GRANT EXECUTE ON PROCEDURE guarded.pawl_check_read TO app");
    mariadb_must_run(root, "GRANT EXECUTE ON PROCEDURE guarded.pawl_record TO app");
    mariadb_must_run(root, "GRANT EXECUTE ON FUNCTION guarded.pawl_token TO app");
    make_table(root, GUARD_PLAIN);
    make_table(root, GUARD_PROTECTED);
    mariadb_must_run(root, "CALL pawl_protect('protected', 'rows/{id}')");
    close_connection(root);
}

static void start(struct guard_server *server)
{
    mariadb_server_start(server);
    make_database(server);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static enum guard_outcome begin(struct guard_connection *connection)
{
    return mariadb_run(connection, "START TRANSACTION");
}

static enum guard_outcome commit(struct guard_connection *connection)
{
    return mariadb_run(connection, "COMMIT");
}

static void rollback(struct guard_connection *connection)
{
    mysql_rollback(mysql_of(connection));
}

static enum guard_outcome judge(struct guard_connection *connection, enum guard_call call,
                                const char *resource, int64_t token)
{
    char text[TEXT_LEN], name[TEXT_LEN / 2];
    assert_true(strlen(resource) < sizeof(name) / 2);
    mysql_real_escape_string(mysql_of(connection), name, resource, strlen(resource));
    snprintf(text, sizeof(text), "CALL %s('%s', %lld)", guard_call_name(call), name,
             (long long)token);
    return mariadb_run(connection, text);
}

static enum guard_outcome token(struct guard_connection *connection, const char *resource,
                                int64_t *ret_token)
{
    char text[TEXT_LEN];
    snprintf(text, sizeof(text), "SELECT pawl_token('%s')", resource);
    return mariadb_number(connection, text, ret_token);
}

static enum guard_outcome read_row(struct guard_connection *connection, enum guard_table table,
                                   unsigned id, int64_t *ret_value)
{
    char text[TEXT_LEN];
    snprintf(text, sizeof(text), "SELECT value FROM %s WHERE id = %u", guard_table_name(table), id);
    return mariadb_number(connection, text, ret_value);
}

static enum guard_outcome write_row(struct guard_connection *connection, enum guard_table table,
                                    unsigned id, int64_t value)
{
    char text[TEXT_LEN];
    snprintf(text, sizeof(text), "UPDATE %s SET value = %lld WHERE id = %u",
             guard_table_name(table), (long long)value, id);
    return mariadb_run(connection, text);
}

const struct guard_kind guard_mariadb = {
    .name = "mariadb",
    .isolations = {"REPEATABLE READ", "READ COMMITTED", "SERIALIZABLE"},
    .has_server = true,
    .protects = true,
    .missing = mariadb_missing,
    .start = start,
    .stop = mariadb_server_stop,
    .kill = mariadb_server_kill,
    .restart = mariadb_server_spawn,
    .connect = connect_to,
    .close = close_connection,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .judge = judge,
    .token = token,
    .read = read_row,
    .write = write_row,
};
