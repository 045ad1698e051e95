/* The parts that the tests of the guard for MariaDB share. */
#include "tests/contract/guards/mariadb_pair.h"

#include "tests/contract/guards/mariadb.h"
#include "tests/lib/process.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    PAIR_ROWS_MAX = 32,
};

struct guard_server *mariadb_shared;

static void play(void **state)
{
    static unsigned rows_used;
    const struct pair_row *row = *state;
    if (guard_mariadb.missing())
        case_skip(guard_mariadb.missing());
    struct pair pair = {.row = ++rows_used};
    snprintf(pair.resource, sizeof(pair.resource), "%s", guard_resource(pair.row));
    pair.a = guard_connect(mariadb_shared, row->isolation);
    pair.b = guard_connect(mariadb_shared, row->isolation);
    pair.root = mariadb_connect_root(mariadb_shared);
    row->play(&pair);
    guard_mariadb.close(pair.a);
    guard_mariadb.close(pair.b);
    guard_mariadb.close(pair.root);
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
    if (!guard_mariadb.missing())
        mariadb_shared = guard_server_new(&guard_mariadb);
    return 0;
}

int pair_teardown(void **state)
{
    guard_server_free(mariadb_shared);
    mariadb_shared = NULL;
    process_kill_all();
    return 0;
}

int pair_main(int argc, char **argv, const struct pair_row *rows, size_t count)
{
    struct CMUnitTest cases[PAIR_ROWS_MAX];
    assert(count <= PAIR_ROWS_MAX);
    for (size_t i = 0; i < count; i++)
        cases[i] = (struct CMUnitTest){
            .name = rows[i].name, .test_func = play, .initial_state = (void *)&rows[i]};
    int status = case_select(argc, argv, cases, count);
    if (status != CASE_RUN)
        return status;
    return case_status(_cmocka_run_group_tests("mariadb", cases, count, pair_setup, pair_teardown));
}
