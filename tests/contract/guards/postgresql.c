/* The guard for PostgreSQL: storage/guard/postgresql/pawl_guard.sql, in its own server. The
 * connections are of a role that may call the guard, and write the two tables, and nothing more.
 * They lead to PostgreSQL 15, or 18, or to 15 through a PgBouncer that gives each transaction any
 * of the connections that it has. */
#include "tests/contract/guards/guard.h"
#include "tests/contract/guards/owner.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"

#include <inttypes.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PATH_LEN = 256,
    START_MS = 30000,
    START_TRIES = 50,
    START_AGAIN_MS = 100,
};

struct postgresql {
    const char *programs; /* their folder */
    char data[PATH_LEN], sockets[PATH_LEN], log[PATH_LEN];
    struct process *process;
    struct process *bouncer; /* NULL: there is none */
};

struct postgresql_connection {
    struct guard_connection base;
    PGconn *pq;
    char isolation[32];
};

/* ---- the server ------------------------------------------------------------------------------ */

static const char programs_15[] = "/usr/lib/postgresql/15/bin";

static const char bouncer_program[] = "/usr/sbin/pgbouncer";

static const char *missing_15(void)
{
    return access(programs_15, X_OK) == 0 ? NULL : "PostgreSQL 15 is not installed";
}

static const char *missing_bouncer(void)
{
    return access(bouncer_program, X_OK) == 0 ? missing_15() : "PgBouncer is not installed";
}

/* tests/contract/guards/with_postgresql_18 says where they are. */
static const char *programs_18(void)
{
    return getenv("PAWL_POSTGRESQL_18");
}

static const char *missing_18(void)
{
    return programs_18() ? missing_15() : "PostgreSQL 18 is not to be had";
}

static void make_cluster(const struct postgresql *server)
{
    char initdb[PATH_LEN];
    snprintf(initdb, sizeof(initdb), "%s/initdb", server->programs);
    const char *const argv[] = {initdb,
                                "--pgdata",
                                server->data,
                                "--auth=trust",
                                "--username=postgres",
                                "--no-sync",
                                "--encoding=UTF8",
                                "--locale=C",
                                NULL};
    if (owner_run("postgres", argv, server->log) != 0)
        fail_msg("initdb failed; see %s", server->log);
}

static bool is_up(void *arg)
{
    const struct postgresql *server = arg;
    char text[2 * PATH_LEN];
    snprintf(text, sizeof(text), "host=%s user=postgres dbname=postgres", server->sockets);
    return PQping(text) == PQPING_OK;
}

static bool is_up_or_over(void *arg)
{
    const struct postgresql *server = arg;
    return is_up(arg) || !process_alive(server->process);
}

/* The children of a server that was killed take a moment to end, and another one waits for that by
 * failing. */
static void start_server(struct postgresql *server)
{
    char program[PATH_LEN];
    snprintf(program, sizeof(program), "%s/postgres", server->programs);
    const char *const argv[] = {program,
                                "-D",
                                server->data,
                                "-k",
                                server->sockets,
                                "-c",
                                "listen_addresses=",
                                "-c",
                                "deadlock_timeout=200ms",
                                "-c",
                                "max_connections=60",
                                NULL};
    for (unsigned tries = 0; !server->process && tries < START_TRIES; tries++) {
        server->process = owner_start("postgres", argv, server->log);
        if (wait_until(is_up_or_over, server, START_MS) && is_up(server))
            return;
        process_kill(server->process);
        server->process = NULL;
        wait_ms(START_AGAIN_MS);
    }
    fail_msg("PostgreSQL does not start; see %s", server->log);
}

/* ---- the pool ----------------------------------------------------------------------------- */

static bool bouncer_is_up(void *arg)
{
    const struct postgresql *server = arg;
    char text[2 * PATH_LEN];
    snprintf(text, sizeof(text), "host=%s port=6432 user=app dbname=postgres", server->sockets);
    return PQping(text) == PQPING_OK;
}

static void write_settings(const struct postgresql *server, const char *path)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file,
            "[databases]\n"
            "postgres = host=%s user=app\n"
            "[pgbouncer]\n"
            "unix_socket_dir = %s\n"
            "listen_port = 6432\n"
            "auth_type = any\n"
            "pool_mode = transaction\n"
            "default_pool_size = 4\n"
            "server_login_retry = 0.1\n",
            server->sockets, server->sockets);
    assert_int_equal(fclose(file), 0);
}

static void start_bouncer(struct postgresql *server)
{
    char path[PATH_LEN + 16];
    snprintf(path, sizeof(path), "%s/bouncer.ini", server->sockets);
    write_settings(server, path);
    const char *const argv[] = {bouncer_program, "-q", path, NULL};
    server->bouncer = owner_start("postgres", argv, server->log);
    if (!wait_until(bouncer_is_up, server, START_MS))
        fail_msg("PgBouncer does not start; see %s", server->log);
}

/* ---- connections ----------------------------------------------------------------------------- */

static PGconn *connect_as(const struct postgresql *server, const char *role, bool bounces)
{
    char text[2 * PATH_LEN];
    snprintf(text, sizeof(text), "host=%s port=%s user=%s dbname=postgres", server->sockets,
             bounces ? "6432" : "5432", role);
    PGconn *pq = PQconnectdb(text);
    if (PQstatus(pq) == CONNECTION_OK)
        return pq;
    PQfinish(pq);
    return NULL;
}

static PGconn *pq_of(struct guard_connection *connection)
{
    return ((struct postgresql_connection *)connection)->pq;
}

static void ignore_notice(void *arg, const PGresult *result)
{
    (void)arg, (void)result;
}

static struct guard_connection *connect_to(const struct guard_server *server, const char *isolation)
{
    const struct postgresql *made = server->of_kind;
    PGconn *pq = connect_as(made, "app", made->bouncer != NULL);
    if (!pq)
        return NULL;
    PQsetNoticeReceiver(pq, ignore_notice, NULL);
    struct postgresql_connection *connection = calloc(1, sizeof(*connection));
    assert_non_null(connection);
    connection->base.kind = server->kind;
    connection->pq = pq;
    snprintf(connection->isolation, sizeof(connection->isolation), "%s", isolation);
    return &connection->base;
}

static void close_connection(struct guard_connection *connection)
{
    if (!connection)
        return;
    PQfinish(pq_of(connection));
    free(connection);
}

static enum guard_outcome outcome_of_state(const char *state)
{
    static const struct {
        const char *state;
        enum guard_outcome outcome;
    } states[] = {
        {"PW412", GUARD_STALE}, {"PW428", GUARD_UNCLAIMED}, {"22023", GUARD_INVALID},
        {"40001", GUARD_AGAIN}, {"40P01", GUARD_AGAIN},
    };
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (strcmp(states[i].state, state) == 0)
            return states[i].outcome;
    return strncmp(state, "57P", 3) == 0 ? GUARD_GONE : GUARD_FAILED;
}

/* Frees @result. */
static enum guard_outcome outcome_of(struct guard_connection *connection, PGresult *result)
{
    enum guard_outcome outcome = GUARD_DONE;
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        snprintf(connection->error, sizeof(connection->error), "%s",
                 PQerrorMessage(pq_of(connection)));
        outcome = PQstatus(pq_of(connection)) != CONNECTION_OK ? GUARD_GONE
                  : state                                      ? outcome_of_state(state)
                                                               : GUARD_FAILED;
    }
    PQclear(result);
    return outcome;
}

static enum guard_outcome run(struct guard_connection *connection, const char *text)
{
    return outcome_of(connection, PQexec(pq_of(connection), text));
}

/* The first number of the answer; NULL counts as 0. */
static enum guard_outcome ask(struct guard_connection *connection, const char *text,
                              const char *const values[], int count, int64_t *ret_number)
{
    PGresult *result = PQexecParams(pq_of(connection), text, count, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1)
        *ret_number = PQgetisnull(result, 0, 0) ? 0 : strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    return outcome_of(connection, result);
}

/* ---- what a guard does ----------------------------------------------------------------------- */

static enum guard_outcome begin(struct guard_connection *connection)
{
    char text[64];
    snprintf(text, sizeof(text), "BEGIN ISOLATION LEVEL %s",
             ((struct postgresql_connection *)connection)->isolation);
    return run(connection, text);
}

static enum guard_outcome commit(struct guard_connection *connection)
{
    return run(connection, "COMMIT");
}

static void rollback(struct guard_connection *connection)
{
    (void)run(connection, "ROLLBACK");
}

static enum guard_outcome judge(struct guard_connection *connection, enum guard_call call,
                                const char *resource, int64_t token)
{
    char number[24], text[64];
    int64_t ignored;
    snprintf(text, sizeof(text), "SELECT %s($1, $2)", guard_call_name(call));
    snprintf(number, sizeof(number), "%" PRId64, token);
    const char *const values[] = {resource, number};
    enum guard_outcome outcome = ask(connection, text, values, 2, &ignored);
    /* Bytes that are no text of the database's encoding are no name either. */
    if (outcome == GUARD_FAILED && strstr(connection->error, "invalid byte sequence"))
        return GUARD_INVALID;
    return outcome;
}

static enum guard_outcome token(struct guard_connection *connection, const char *resource,
                                int64_t *ret_token)
{
    const char *const values[] = {resource};
    return ask(connection, "SELECT pawl_token($1)", values, 1, ret_token);
}

static enum guard_outcome read_row(struct guard_connection *connection, enum guard_table table,
                                   unsigned id, int64_t *ret_value)
{
    char text[128];
    snprintf(text, sizeof(text), "SELECT value FROM %s WHERE id = %u", guard_table_name(table), id);
    return ask(connection, text, NULL, 0, ret_value);
}

static enum guard_outcome write_row(struct guard_connection *connection, enum guard_table table,
                                    unsigned id, int64_t value)
{
    char text[128];
    snprintf(text, sizeof(text), "UPDATE %s SET value = %" PRId64 " WHERE id = %u",
             guard_table_name(table), value, id);
    return run(connection, text);
}

/* ---- the database ---------------------------------------------------------------------------- */

static void install(const struct postgresql *server)
{
    char psql[PATH_LEN];
    snprintf(psql, sizeof(psql), "%s/psql", programs_15); /* any version will do */
    const char *const argv[] = {psql,
                                "-X",
                                "-q",
                                "-h",
                                server->sockets,
                                "-U",
                                "postgres",
                                "-f",
                                "storage/guard/postgresql/pawl_guard.sql",
                                NULL};
    for (unsigned twice = 0; twice < 2; twice++)
        if (process_run(argv, server->log, START_MS) != 0)
            fail_msg("the guard cannot be installed; see %s", server->log);
}

static void make_tables(const struct postgresql *server)
{
    static const char text[] =
        "CREATE ROLE app LOGIN;"
        "CREATE TABLE plain (id integer PRIMARY KEY, value bigint NOT NULL);"
        "CREATE TABLE protected (LIKE plain INCLUDING ALL);"
        "INSERT INTO plain SELECT id, 0 FROM generate_series(1, %d) AS id;"
        "INSERT INTO protected SELECT * FROM plain;"
        "SELECT pawl_protect('protected', $x$'rows/' || id$x$);"
        "GRANT SELECT, INSERT, UPDATE, DELETE ON plain, protected TO app;"
        "GRANT EXECUTE ON FUNCTION pawl_claim, pawl_check, pawl_claim_read, pawl_check_read,"
        "    pawl_token, pawl_record TO app;";
    char filled[sizeof(text) + 16];
    snprintf(filled, sizeof(filled), text, GUARD_ROWS);
    PGconn *pq = connect_as(server, "postgres", false);
    assert_non_null(pq);
    PGresult *result = PQexec(pq, filled);
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s", PQerrorMessage(pq));
    PQclear(result);
    PQfinish(pq);
}

static void start_with(struct guard_server *server, const char *programs)
{
    struct postgresql *made = calloc(1, sizeof(*made));
    assert_non_null(made);
    server->of_kind = made;
    made->programs = programs;
    owner_folder("postgres", server->dir, "data", made->data, sizeof(made->data));
    owner_folder("postgres", server->dir, "run", made->sockets, sizeof(made->sockets));
    snprintf(made->log, sizeof(made->log), "%s/log", server->dir);
    make_cluster(made);
    start_server(made);
    install(made);
    make_tables(made);
}

static void start_15(struct guard_server *server)
{
    start_with(server, programs_15);
}

static void start_18(struct guard_server *server)
{
    start_with(server, programs_18());
}

static void start_bounced(struct guard_server *server)
{
    start_with(server, programs_15);
    start_bouncer(server->of_kind);
}

static void kill_server(struct guard_server *server)
{
    struct postgresql *made = server->of_kind;
    process_kill(made->process);
    made->process = NULL;
}

static void restart(struct guard_server *server)
{
    start_server(server->of_kind);
}

static void stop(struct guard_server *server)
{
    struct postgresql *made = server->of_kind;
    if (made->process)
        process_signal(made->process, SIGINT);
    process_stop(made->process);
    process_stop(made->bouncer);
    free(made);
}

#define POSTGRESQL(kind_name, its_missing, its_start)                                              \
    {                                                                                              \
        .name = kind_name, .isolations = {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"},    \
        .has_server = true, .protects = true, .claims_end_with_transaction = true,                 \
        .missing = (its_missing), .start = (its_start), .stop = stop, .kill = kill_server,         \
        .restart = restart, .connect = connect_to, .close = close_connection, .begin = begin,      \
        .commit = commit, .rollback = rollback, .judge = judge, .token = token, .read = read_row,  \
        .write = write_row,                                                                        \
    }

const struct guard_kind guard_postgresql = POSTGRESQL("postgresql", missing_15, start_15);
const struct guard_kind guard_postgresql_18 = POSTGRESQL("postgresql_18", missing_18, start_18);
const struct guard_kind guard_pgbouncer = POSTGRESQL("pgbouncer", missing_bouncer, start_bounced);
