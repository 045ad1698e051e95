#include "tests/contract/guards/guard.h"

#include "tests/lib/case.h"
#include "tests/lib/tempdir.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct guard_kind *guard_find(const char *name)
{
    static const struct guard_kind *const all[] = {&guard_library,       &guard_extension,
                                                   &guard_mariadb,       &guard_postgresql,
                                                   &guard_postgresql_18, &guard_pgbouncer};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

unsigned guard_number(struct argp_state *state, const char *text, unsigned most)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < 1 || value > most)
        argp_error(state, "'%s' is no number from 1 to %u", text, most);
    return (unsigned)value;
}

const char *guard_table_name(enum guard_table table)
{
    return table == GUARD_PLAIN ? "plain" : "protected";
}

const char *guard_resource(unsigned id)
{
    static _Thread_local char text[32];
    snprintf(text, sizeof(text), "rows/%u", id);
    return text;
}

struct guard_server *guard_server_new(const struct guard_kind *kind)
{
    struct guard_server *server = calloc(1, sizeof(*server));
    assert_non_null(server);
    server->kind = kind;
    server->dir = tempdir_new();
    kind->start(server);
    return server;
}

void guard_server_free(struct guard_server *server)
{
    if (!server)
        return;
    server->kind->stop(server);
    tempdir_remove(server->dir);
    free(server);
}

struct guard_connection *guard_connect(const struct guard_server *server, const char *isolation)
{
    struct guard_connection *connection = server->kind->connect(server, isolation);
    if (!connection)
        fail_msg("%s cannot be reached", server->kind->name);
    return connection;
}

enum guard_outcome guard_claim(struct guard_connection *connection, const char *resource,
                               int64_t token)
{
    return connection->kind->judge(connection, GUARD_CLAIM, resource, token);
}

enum guard_outcome guard_check(struct guard_connection *connection, const char *resource,
                               int64_t token)
{
    return connection->kind->judge(connection, GUARD_CHECK, resource, token);
}

enum guard_outcome guard_claim_read(struct guard_connection *connection, const char *resource,
                                    int64_t token)
{
    return connection->kind->judge(connection, GUARD_CLAIM_READ, resource, token);
}

enum guard_outcome guard_check_read(struct guard_connection *connection, const char *resource,
                                    int64_t token)
{
    return connection->kind->judge(connection, GUARD_CHECK_READ, resource, token);
}

enum guard_outcome guard_begin_read(struct guard_connection *connection)
{
    const struct guard_kind *kind = connection->kind;
    return kind->begin_read ? kind->begin_read(connection) : kind->begin(connection);
}

const char *guard_call_name(enum guard_call call)
{
    static const char *const names[GUARD_CALLS] = {
        [GUARD_CLAIM] = "pawl_claim",
        [GUARD_CHECK] = "pawl_check",
        [GUARD_CLAIM_READ] = "pawl_claim_read",
        [GUARD_CHECK_READ] = "pawl_check_read",
    };
    return names[call];
}
