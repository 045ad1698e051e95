/* What the tests of the guard for MariaDB alone share. */
#include "tests/contract/guards/mariadb_pair.h"

#include "tests/contract/guards/mariadb.h"
#include "tests/lib/process.h"

#include <stdio.h>
#include <string.h>

struct guard_server *mariadb_shared;

struct pair pair_begin(void **state, const char *isolation)
{
    static unsigned rows_used;
    (void)state;
    if (guard_mariadb.missing())
        case_skip(guard_mariadb.missing());
    struct pair pair = {.row = ++rows_used};
    snprintf(pair.resource, sizeof(pair.resource), "%s", guard_resource(pair.row));
    pair.a = guard_connect(mariadb_shared, isolation);
    pair.b = guard_connect(mariadb_shared, isolation);
    return pair;
}

void pair_end(struct pair *pair)
{
    guard_mariadb.close(pair->a);
    guard_mariadb.close(pair->b);
}

void assert_outcome(const struct guard_connection *connection, enum guard_outcome outcome,
                    enum guard_outcome wanted)
{
    if (outcome != wanted)
        fail_msg("outcome %d, not %d: %s", (int)outcome, (int)wanted, connection->error);
}

void assert_refused(struct guard_connection *connection, const char *statement, const char *word)
{
    if (mariadb_run(connection, statement) == GUARD_DONE)
        fail_msg("%s: was done", statement);
    if (strncmp(connection->error, word, strlen(word)) != 0)
        fail_msg("%s: %s", statement, connection->error);
}

void must_claim(struct guard_connection *connection, const char *resource, int64_t token)
{
    assert_outcome(connection, guard_claim(connection, resource, token), GUARD_DONE);
}

int64_t token_of(struct guard_connection *connection, const char *resource)
{
    int64_t token = -1;
    assert_outcome(connection, guard_mariadb.token(connection, resource, &token), GUARD_DONE);
    return token;
}

int64_t number_of(struct guard_connection *connection, const char *statement)
{
    int64_t number = -1;
    assert_outcome(connection, mariadb_number(connection, statement, &number), GUARD_DONE);
    return number;
}

int64_t value_of(struct guard_connection *connection, unsigned row)
{
    int64_t value = -1;
    assert_outcome(connection, guard_mariadb.read(connection, GUARD_PLAIN, row, &value),
                   GUARD_DONE);
    return value;
}

int pair_setup(void **state)
{
    (void)state;
    if (!guard_mariadb.missing())
        mariadb_shared = guard_server_new(&guard_mariadb);
    return 0;
}

int pair_teardown(void **state)
{
    (void)state;
    guard_server_free(mariadb_shared);
    mariadb_shared = NULL;
    process_kill_all();
    return 0;
}
