/* The rules for each guard (storage/guard/README.md), as one table of cases, at each isolation.
 *
 *     guards_contract KIND [--list | CASE]
 *
 * All cases of a run share one server, since that of a database takes seconds to be made. */
#include "tests/contract/guards/cases.h"

#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"

#include <stdio.h>
#include <string.h>

enum {
    CASES_MAX = 128,
};

/* A case at an isolation. */
struct planned {
    const struct cases_row *row;
    const char *isolation;
};

const struct guard_kind *cases_kind;
struct guard_server *cases_server;

unsigned cases_more(void)
{
    static unsigned used;
    assert_in_range(used, 0, GUARD_ROWS - 1);
    return ++used;
}

/* ---- transactions ---------------------------------------------------------------------------- */

void cases_begin(struct guard_connection *connection)
{
    if (cases_kind->begin(connection) != GUARD_DONE)
        fail_msg("begin: %s", connection->error);
}

void cases_begin_read(struct guard_connection *connection)
{
    if (guard_begin_read(connection) != GUARD_DONE)
        fail_msg("begin: %s", connection->error);
}

void cases_commit(struct guard_connection *connection)
{
    if (cases_kind->commit(connection) != GUARD_DONE)
        fail_msg("commit: %s", connection->error);
}

void cases_rollback(struct guard_connection *connection)
{
    cases_kind->rollback(connection);
}

void cases_expect(const struct guard_connection *connection, enum guard_outcome outcome,
                  enum guard_outcome wanted)
{
    if (outcome != wanted)
        fail_msg("outcome %d, not %d: %s", (int)outcome, (int)wanted, connection->error);
}

enum guard_outcome cases_alone(cases_judge *judge, struct guard_connection *connection,
                               const char *resource, int64_t token)
{
    cases_begin(connection);
    enum guard_outcome outcome = judge(connection, resource, token);
    if (outcome == GUARD_DONE)
        cases_commit(connection);
    else
        cases_rollback(connection);
    return outcome;
}

void cases_claim(struct guard_connection *connection, const char *resource, int64_t token)
{
    cases_expect(connection, cases_alone(guard_claim, connection, resource, token), GUARD_DONE);
}

int64_t cases_token(struct guard_connection *connection, const char *resource)
{
    int64_t token = -1;
    cases_begin(connection);
    cases_expect(connection, cases_kind->token(connection, resource, &token), GUARD_DONE);
    cases_commit(connection);
    return token;
}

int64_t cases_value(struct guard_connection *connection, enum guard_table table, unsigned id)
{
    int64_t value = -1;
    cases_begin(connection);
    cases_expect(connection, cases_kind->read(connection, table, id, &value), GUARD_DONE);
    cases_commit(connection);
    return value;
}

/* ---- the table ------------------------------------------------------------------------------- */

static bool is_for_kind(enum cases_wants wants)
{
    return wants == CASES_ANY || (wants == CASES_PROTECTS && cases_kind->protects) ||
           (wants == CASES_SERVER && cases_kind->has_server);
}

static int setup(void **state)
{
    if (cases_kind->missing() == NULL)
        cases_server = guard_server_new(cases_kind);
    return 0;
}

static int teardown(void **state)
{
    guard_server_free(cases_server);
    process_kill_all();
    return 0;
}

/* A case runs alone where CTest asks for it, or all of them in one server. */
static void play(void **state)
{
    const struct planned *planned = *state;
    if (cases_kind->missing() != NULL)
        case_skip(cases_kind->missing());
    struct cases_fixture f = {.isolation = planned->isolation, .row = cases_more()};
    f.a = guard_connect(cases_server, f.isolation);
    f.b = guard_connect(cases_server, f.isolation);
    planned->row->play(&f);
    cases_kind->close(f.a);
    cases_kind->close(f.b);
}

/* The name of a case at an isolation that is not the default ends with that. */
static const char *name_of_case(const char *name, size_t isolation)
{
    if (isolation == 0)
        return name;
    char *text = text_make("%s_at_%s", name, cases_kind->isolations[isolation]);
    for (char *c = text; *c; c++)
        if (*c == ' ')
            *c = '_';
    return text;
}

static size_t plan(const struct cases_rows *rows, size_t isolation, struct CMUnitTest *cases,
                   size_t count)
{
    static struct planned planned[CASES_MAX];
    for (size_t i = 0; i < rows->count; i++) {
        const struct cases_row *row = &rows->rows[i];
        if (!is_for_kind(row->wants))
            continue;
        assert_in_range(count, 0, CASES_MAX - 1);
        planned[count] = (struct planned){row, cases_kind->isolations[isolation]};
        cases[count] = (struct CMUnitTest){.name = name_of_case(row->name, isolation),
                                           .test_func = play,
                                           .initial_state = &planned[count]};
        count++;
    }
    return count;
}

int main(int argc, char **argv)
{
    static const struct cases_rows *const all[] = {&cases_rule, &cases_pairs, &cases_readers,
                                                   &cases_protected};
    static struct CMUnitTest cases[CASES_MAX];
    size_t count = 0;
    cases_kind = guard_find(argc > 1 ? argv[1] : "");
    if (!cases_kind) {
        fprintf(stderr, "usage: guards_contract KIND [--list | CASE]\n");
        return 2;
    }
    for (size_t k = 0; cases_kind->isolations[k]; k++)
        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
            count = plan(all[i], k, cases, count);
    int status = case_select(argc - 1, argv + 1, cases, count);
    if (status != CASE_RUN)
        return status;
    return case_status(_cmocka_run_group_tests("guards", cases, count, setup, teardown));
}
