/* What each guard has to do (storage/guard/README.md), as one table of cases, at each isolation.
 *
 *     guards_contract KIND [--list | CASE]
 *
 * All cases of a run share one server, since that of a database takes seconds to be made. */
#include "tests/contract/guards/guard.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CASES_MAX = 128,
    IN_THE_WAY_MS = 300, /* what waits for another transaction has not gone on in this time */
    TRIES = 20,
};

static const char orders[] = "orders/42";
static const int64_t token_max = (INT64_C(1) << 53) - 1;

/* Of the run. */
static const struct guard_kind *guard_kind;
static struct guard_server *server;

/* Of the case: a resource, and a row, that no other case has. */
struct fixture {
    const char *isolation;
    unsigned row;
    struct guard_connection *a, *b;
};

static unsigned rows_used;

static struct fixture begin_case(void **state)
{
    struct fixture f = {.isolation = *state, .row = ++rows_used};
    assert_in_range(f.row, 1, GUARD_ROWS);
    f.a = guard_connect(server, f.isolation);
    f.b = guard_connect(server, f.isolation);
    return f;
}

static void end_case(struct fixture *f)
{
    guard_kind->close(f->a);
    guard_kind->close(f->b);
}

/* ---- transactions ---------------------------------------------------------------------------- */

static void begin(struct guard_connection *connection)
{
    if (guard_kind->begin(connection) != GUARD_DONE)
        fail_msg("begin: %s", connection->error);
}

static void commit(struct guard_connection *connection)
{
    if (guard_kind->commit(connection) != GUARD_DONE)
        fail_msg("commit: %s", connection->error);
}

static void rollback(struct guard_connection *connection)
{
    guard_kind->rollback(connection);
}

static void assert_outcome(const struct guard_connection *connection, enum guard_outcome outcome,
                           enum guard_outcome wanted)
{
    if (outcome != wanted)
        fail_msg("outcome %d, not %d: %s", (int)outcome, (int)wanted, connection->error);
}

typedef enum guard_outcome judge_function(struct guard_connection *connection, const char *resource,
                                          int64_t token);

/* In a transaction of its own. */
static enum guard_outcome alone(judge_function *judge, struct guard_connection *connection,
                                const char *resource, int64_t token)
{
    begin(connection);
    enum guard_outcome outcome = judge(connection, resource, token);
    if (outcome == GUARD_DONE)
        commit(connection);
    else
        rollback(connection);
    return outcome;
}

static void claim(struct guard_connection *connection, const char *resource, int64_t token)
{
    assert_outcome(connection, alone(guard_kind->claim, connection, resource, token), GUARD_DONE);
}

static int64_t token_of(struct guard_connection *connection, const char *resource)
{
    int64_t token = -1;
    begin(connection);
    assert_outcome(connection, guard_kind->token(connection, resource, &token), GUARD_DONE);
    commit(connection);
    return token;
}

static int64_t value_of(struct guard_connection *connection, enum guard_table table, unsigned id)
{
    int64_t value = -1;
    begin(connection);
    assert_outcome(connection, guard_kind->read(connection, table, id, &value), GUARD_DONE);
    commit(connection);
    return value;
}

/* ---- the rule -------------------------------------------------------------------------------- */

static void resource_that_was_never_claimed_has_no_token(void **state)
{
    struct fixture f = begin_case(state);
    assert_int_equal(token_of(f.a, guard_resource(f.row)), 0);
    end_case(&f);
}

static void each_judges(void **state, judge_function *judge)
{
    struct fixture f = begin_case(state);
    const char *resource = guard_resource(f.row);
    static const struct {
        int64_t token;
        enum guard_outcome outcome;
        int64_t after;
    } steps[] = {
        {34, GUARD_DONE, 34},
        {34, GUARD_DONE, 34},
        {33, GUARD_STALE, 34},
        {1, GUARD_STALE, 34},
        {40, GUARD_DONE, 40},
        {34, GUARD_STALE, 40},
        {token_max, GUARD_DONE, token_max},
        {token_max - 1, GUARD_STALE, token_max},
    };
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        assert_outcome(f.a, alone(judge, f.a, resource, steps[i].token), steps[i].outcome);
        assert_int_equal(token_of(f.b, resource), steps[i].after);
    }
    end_case(&f);
}

static void claim_accepts_equal_and_higher_tokens_only(void **state)
{
    each_judges(state, guard_kind->claim);
}

static void check_accepts_equal_and_higher_tokens_only(void **state)
{
    each_judges(state, guard_kind->check);
}

static void holder_writes_many_times_under_one_token(void **state)
{
    struct fixture f = begin_case(state);
    const char *resource = guard_resource(f.row);
    claim(f.a, resource, 5);
    for (int64_t value = 1; value <= 3; value++) {
        begin(f.a);
        assert_outcome(f.a, guard_kind->check(f.a, resource, 5), GUARD_DONE);
        assert_outcome(f.a, guard_kind->check(f.a, resource, 5), GUARD_DONE);
        assert_outcome(f.a, guard_kind->write(f.a, GUARD_PLAIN, f.row, value), GUARD_DONE);
        commit(f.a);
    }
    assert_int_equal(value_of(f.b, GUARD_PLAIN, f.row), 3);
    end_case(&f);
}

static void refusal_names_the_resource_and_both_tokens(void **state)
{
    struct fixture f = begin_case(state);
    const char *resource = guard_resource(f.row);
    claim(f.a, resource, 7654);
    assert_outcome(f.b, alone(guard_kind->check, f.b, resource, 3210), GUARD_STALE);
    assert_non_null(strstr(f.b->error, resource));
    assert_non_null(strstr(f.b->error, "7654"));
    assert_non_null(strstr(f.b->error, "3210"));
    end_case(&f);
}

static void refused_write_leaves_nothing(void **state)
{
    struct fixture f = begin_case(state);
    const char *resource = guard_resource(f.row);
    claim(f.b, resource, 2);
    begin(f.a);
    assert_outcome(f.a, guard_kind->write(f.a, GUARD_PLAIN, f.row, 9), GUARD_DONE);
    assert_outcome(f.a, guard_kind->check(f.a, resource, 1), GUARD_STALE);
    rollback(f.a);
    assert_int_equal(value_of(f.b, GUARD_PLAIN, f.row), 0);
    assert_int_equal(token_of(f.b, resource), 2);
    end_case(&f);
}

static void claim_that_is_rolled_back_never_was(void **state)
{
    struct fixture f = begin_case(state);
    const char *resource = guard_resource(f.row);
    begin(f.a);
    assert_outcome(f.a, guard_kind->claim(f.a, resource, 50), GUARD_DONE);
    rollback(f.a);
    assert_int_equal(token_of(f.b, resource), 0);
    claim(f.b, resource, 49);
    end_case(&f);
}

/* ---- names and tokens ------------------------------------------------------------------------ */

static void resources_are_apart(void **state)
{
    struct fixture f = begin_case(state);
    char upper[64], longer[64];
    snprintf(upper, sizeof(upper), "ROWS/%u", f.row);
    snprintf(longer, sizeof(longer), "rows/%u/x", f.row);
    claim(f.a, guard_resource(f.row), 9);
    claim(f.a, upper, 1);
    claim(f.a, longer, 2);
    assert_int_equal(token_of(f.b, guard_resource(f.row)), 9);
    assert_int_equal(token_of(f.b, upper), 1);
    assert_int_equal(token_of(f.b, longer), 2);
    end_case(&f);
}

static void each_valid_name_is_one(void **state)
{
    struct fixture f = begin_case(state);
    char name[256];
    memset(name, 'a', 255);
    name[255] = '\0';
    claim(f.a, name, 1);
    claim(f.a, "A-Z.a_z~0:9@x", 1);
    claim(f.a, "...", 1);
    end_case(&f);
}

static void wrong_names_and_tokens_are_refused(void **state)
{
    struct fixture f = begin_case(state);
    char longer[257];
    memset(longer, 'a', 256);
    longer[256] = '\0';
    const char *const names[] = {"",  "a b",  "a//b", "/a",       "a/",  "a/../b",
                                 ".", "a\nb", "a\n",  "\xc3\xa4", longer};
    static const int64_t tokens[] = {0, -1, INT64_MIN, (INT64_C(1) << 53), INT64_MAX};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_outcome(f.a, alone(guard_kind->claim, f.a, names[i], 1), GUARD_INVALID);
        assert_outcome(f.a, alone(guard_kind->check, f.a, names[i], 1), GUARD_INVALID);
    }
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++)
        assert_outcome(f.a, alone(guard_kind->claim, f.a, orders, tokens[i]), GUARD_INVALID);
    assert_int_equal(token_of(f.b, orders), 0);
    end_case(&f);
}

static void several_resources_are_all_claimed_or_none(void **state)
{
    struct fixture f = begin_case(state);
    char other[64];
    snprintf(other, sizeof(other), "rows/%u/other", f.row);
    claim(f.b, other, 8);
    begin(f.a);
    assert_outcome(f.a, guard_kind->claim(f.a, guard_resource(f.row), 7), GUARD_DONE);
    assert_outcome(f.a, guard_kind->claim(f.a, other, 7), GUARD_STALE);
    rollback(f.a);
    assert_int_equal(token_of(f.b, guard_resource(f.row)), 0);
    begin(f.a);
    assert_outcome(f.a, guard_kind->claim(f.a, guard_resource(f.row), 9), GUARD_DONE);
    assert_outcome(f.a, guard_kind->claim(f.a, other, 9), GUARD_DONE);
    commit(f.a);
    assert_int_equal(token_of(f.b, guard_resource(f.row)), 9);
    assert_int_equal(token_of(f.b, other), 9);
    end_case(&f);
}

/* ---- two at once ----------------------------------------------------------------------------- */

/* A claim and a reading in a thread of their own: what a new holder does. */
struct newcomer {
    struct guard_connection *connection;
    pthread_t thread;
    int64_t token;
    unsigned row;
    bool snapshot_first; /* the transaction is older than the claim */
    atomic_bool done;
    enum guard_outcome outcome;
    int64_t value; /* that was read, if the outcome is DONE */
};

static void *claim_and_read(void *arg)
{
    struct newcomer *newcomer = arg;
    struct guard_connection *connection = newcomer->connection;
    newcomer->outcome =
        guard_kind->claim(connection, guard_resource(newcomer->row), newcomer->token);
    if (newcomer->outcome == GUARD_DONE)
        newcomer->outcome =
            guard_kind->read(connection, GUARD_PLAIN, newcomer->row, &newcomer->value);
    if (newcomer->outcome == GUARD_DONE)
        newcomer->outcome = guard_kind->commit(connection);
    if (newcomer->outcome != GUARD_DONE)
        guard_kind->rollback(connection);
    newcomer->done = true;
    return NULL;
}

/* SQLite has one writer at a time, and its begin() waits already. */
static void *begin_claim_and_read(void *arg)
{
    struct newcomer *newcomer = arg;
    newcomer->outcome = guard_kind->begin(newcomer->connection);
    if (newcomer->outcome == GUARD_DONE)
        return claim_and_read(arg);
    newcomer->done = true;
    return NULL;
}

static void set_out(struct newcomer *newcomer)
{
    assert_int_equal(pthread_create(&newcomer->thread, NULL, begin_claim_and_read, newcomer), 0);
}

static void arrive(struct newcomer *newcomer)
{
    assert_int_equal(pthread_join(newcomer->thread, NULL), 0);
}

/* The writer has checked, and has written, and has not committed. What the newcomer reads is what
 * the writer leaves, or it is told to begin anew. */
static void newcomer_meets_writer(void **state, int64_t claimed, bool commits)
{
    struct fixture f = begin_case(state);
    struct newcomer newcomer = {.connection = f.b, .token = 21, .row = f.row};
    if (claimed > 0)
        claim(f.a, guard_resource(f.row), claimed);
    begin(f.a);
    assert_outcome(f.a, guard_kind->check(f.a, guard_resource(f.row), 20), GUARD_DONE);
    assert_outcome(f.a, guard_kind->write(f.a, GUARD_PLAIN, f.row, 77), GUARD_DONE);
    set_out(&newcomer);
    wait_ms(IN_THE_WAY_MS);
    assert_false(newcomer.done);
    if (commits)
        commit(f.a);
    else
        rollback(f.a);
    arrive(&newcomer);
    for (unsigned tries = 0; newcomer.outcome == GUARD_AGAIN && tries < TRIES; tries++) {
        set_out(&newcomer);
        arrive(&newcomer);
    }
    assert_outcome(f.b, newcomer.outcome, GUARD_DONE);
    assert_int_equal(newcomer.value, commits ? 77 : 0);
    assert_outcome(f.a, alone(guard_kind->check, f.a, guard_resource(f.row), 20), GUARD_STALE);
    end_case(&f);
}

static void claim_waits_for_a_writer_and_reads_what_it_left(void **state)
{
    newcomer_meets_writer(state, 19, true);
}

/* The writer's check changes nothing in its row, and all the same the newcomer has to see it. */
static void claim_waits_for_a_writer_that_checked_its_own_token(void **state)
{
    newcomer_meets_writer(state, 20, true);
}

static void claim_waits_for_the_first_writer_of_all(void **state)
{
    newcomer_meets_writer(state, 0, true);
}

static void claim_waits_for_a_writer_that_rolls_back(void **state)
{
    newcomer_meets_writer(state, 20, false);
}

static void writer_that_slept_is_refused_after_a_newer_claim(void **state)
{
    struct fixture f = begin_case(state);
    claim(f.a, guard_resource(f.row), 33);
    claim(f.b, guard_resource(f.row), 34);
    begin(f.a);
    assert_outcome(f.a, guard_kind->check(f.a, guard_resource(f.row), 33), GUARD_STALE);
    rollback(f.a);
    end_case(&f);
}

/* A transaction that has a snapshot already, and then is overtaken: it may be refused, or told to
 * begin anew. It may not write. */
static void writer_with_an_older_snapshot_does_not_write(void **state)
{
    struct fixture f = begin_case(state);
    int64_t value;
    claim(f.a, guard_resource(f.row), 33);
    if (!guard_kind
             ->has_server) { /* SQLite: one transaction at a time, so there is no such thing */
        end_case(&f);
        return;
    }
    begin(f.a);
    assert_outcome(f.a, guard_kind->read(f.a, GUARD_PLAIN, f.row, &value), GUARD_DONE);
    claim(f.b, guard_resource(f.row), 34);
    enum guard_outcome outcome = guard_kind->check(f.a, guard_resource(f.row), 33);
    assert_true(outcome == GUARD_STALE || outcome == GUARD_AGAIN);
    rollback(f.a);
    end_case(&f);
}

/* ---- protected tables ------------------------------------------------------------------------ */

/* In a transaction of its own. */
static enum guard_outcome write_protected(struct guard_connection *connection, unsigned row,
                                          unsigned claimed, int64_t token, int64_t value)
{
    begin(connection);
    enum guard_outcome outcome =
        claimed > 0 ? guard_kind->check(connection, guard_resource(claimed), token) : GUARD_DONE;
    if (outcome == GUARD_DONE)
        outcome = guard_kind->write(connection, GUARD_PROTECTED, row, value);
    if (outcome == GUARD_DONE)
        commit(connection);
    else
        rollback(connection);
    return outcome;
}

static void protected_row_is_written_by_whoever_claimed_it(void **state)
{
    struct fixture f = begin_case(state);
    assert_outcome(f.a, write_protected(f.a, f.row, f.row, 3, 30), GUARD_DONE);
    assert_outcome(f.a, write_protected(f.a, f.row, f.row, 3, 31), GUARD_DONE);
    assert_int_equal(value_of(f.b, GUARD_PROTECTED, f.row), 31);
    end_case(&f);
}

static void protected_row_is_closed_to_whoever_did_not_claim(void **state)
{
    struct fixture f = begin_case(state);
    assert_outcome(f.a, write_protected(f.a, f.row, 0, 0, 30), GUARD_UNCLAIMED);
    assert_outcome(f.b, write_protected(f.b, f.row, f.row, 3, 31), GUARD_DONE);
    assert_outcome(f.a, write_protected(f.a, f.row, 0, 0, 30), GUARD_UNCLAIMED);
    assert_int_equal(value_of(f.b, GUARD_PROTECTED, f.row), 31);
    end_case(&f);
}

static void claim_of_another_resource_opens_no_row(void **state)
{
    struct fixture f = begin_case(state);
    const unsigned other = ++rows_used;
    assert_outcome(f.a, write_protected(f.a, other, f.row, 3, 30), GUARD_UNCLAIMED);
    assert_int_equal(value_of(f.b, GUARD_PROTECTED, other), 0);
    end_case(&f);
}

static void claim_that_was_rolled_back_opens_no_row(void **state)
{
    struct fixture f = begin_case(state);
    begin(f.a);
    assert_outcome(f.a, guard_kind->claim(f.a, guard_resource(f.row), 4), GUARD_DONE);
    rollback(f.a);
    assert_outcome(f.a, write_protected(f.a, f.row, 0, 0, 30), GUARD_UNCLAIMED);
    end_case(&f);
}

/* Where a claim holds for the connection, the trigger checks its token again. */
static void claim_of_an_earlier_transaction_opens_no_row_to_a_stale_holder(void **state)
{
    struct fixture f = begin_case(state);
    claim(f.a, guard_resource(f.row), 4);
    enum guard_outcome outcome = write_protected(f.a, f.row, 0, 0, 30);
    assert_outcome(f.a, outcome,
                   guard_kind->claims_end_with_transaction ? GUARD_UNCLAIMED : GUARD_DONE);
    claim(f.b, guard_resource(f.row), 5);
    outcome = write_protected(f.a, f.row, 0, 0, 31);
    assert_outcome(f.a, outcome,
                   guard_kind->claims_end_with_transaction ? GUARD_UNCLAIMED : GUARD_STALE);
    end_case(&f);
}

/* ---- crashes --------------------------------------------------------------------------------- */

static void claim_that_was_committed_outlives_the_server(void **state)
{
    struct fixture f = begin_case(state);
    claim(f.a, guard_resource(f.row), 90);
    begin(f.b);
    assert_outcome(f.b, guard_kind->claim(f.b, guard_resource(f.row), 91), GUARD_DONE);
    guard_kind->kill(server);
    guard_kind->restart(server);
    struct guard_connection *c = guard_connect(server, f.isolation);
    assert_int_equal(token_of(c, guard_resource(f.row)), 90);
    assert_outcome(c, alone(guard_kind->claim, c, guard_resource(f.row), 89), GUARD_STALE);
    guard_kind->close(c);
    end_case(&f);
}

/* ---- the table ------------------------------------------------------------------------------- */

enum wants {
    ANY,
    PROTECTS,
    SERVER,
};

static const struct {
    const char *name;
    void (*play)(void **state);
    enum wants wants;
} table[] = {
#define ROW(wants, name)                                                                           \
    {                                                                                              \
#name, name, wants                                                                         \
    }
    ROW(ANY, resource_that_was_never_claimed_has_no_token),
    ROW(ANY, claim_accepts_equal_and_higher_tokens_only),
    ROW(ANY, check_accepts_equal_and_higher_tokens_only),
    ROW(ANY, holder_writes_many_times_under_one_token),
    ROW(ANY, refusal_names_the_resource_and_both_tokens),
    ROW(ANY, refused_write_leaves_nothing),
    ROW(ANY, claim_that_is_rolled_back_never_was),
    ROW(ANY, resources_are_apart),
    ROW(ANY, each_valid_name_is_one),
    ROW(ANY, wrong_names_and_tokens_are_refused),
    ROW(ANY, several_resources_are_all_claimed_or_none),
    ROW(ANY, claim_waits_for_a_writer_and_reads_what_it_left),
    ROW(ANY, claim_waits_for_a_writer_that_checked_its_own_token),
    ROW(ANY, claim_waits_for_the_first_writer_of_all),
    ROW(ANY, claim_waits_for_a_writer_that_rolls_back),
    ROW(ANY, writer_that_slept_is_refused_after_a_newer_claim),
    ROW(ANY, writer_with_an_older_snapshot_does_not_write),
    ROW(PROTECTS, protected_row_is_written_by_whoever_claimed_it),
    ROW(PROTECTS, protected_row_is_closed_to_whoever_did_not_claim),
    ROW(PROTECTS, claim_of_another_resource_opens_no_row),
    ROW(PROTECTS, claim_that_was_rolled_back_opens_no_row),
    ROW(PROTECTS, claim_of_an_earlier_transaction_opens_no_row_to_a_stale_holder),
    ROW(SERVER, claim_that_was_committed_outlives_the_server),
#undef ROW
};

static bool is_for_kind(enum wants wants)
{
    return wants == ANY || (wants == PROTECTS && guard_kind->protects) ||
           (wants == SERVER && guard_kind->has_server);
}

static int setup(void **state)
{
    (void)state;
    if (guard_kind->missing() == NULL)
        server = guard_server_new(guard_kind);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    guard_server_free(server);
    process_kill_all();
    return 0;
}

/* A case runs alone where CTest asks for it, or all of them in one server. */
static void play(void **state)
{
    const char *const *names = *state;
    if (guard_kind->missing() != NULL)
        case_skip(guard_kind->missing());
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].name, names[0]) == 0) {
            void *isolation = (void *)names[1];
            table[i].play(&isolation);
            return;
        }
}

/* The name of a case at an isolation that is not the default ends with that. */
static const char *name_of_case(const char *name, size_t isolation)
{
    char *text = NULL;
    if (isolation == 0)
        return name;
    if (asprintf(&text, "%s_at_%s", name, guard_kind->isolations[isolation]) < 0)
        fail_msg("out of memory");
    for (char *c = text; *c; c++)
        if (*c == ' ')
            *c = '_';
    return text;
}

int main(int argc, char **argv)
{
    static struct CMUnitTest cases[CASES_MAX];
    static const char *names[CASES_MAX][2];
    size_t count = 0;
    guard_kind = guard_find(argc > 1 ? argv[1] : "");
    if (!guard_kind) {
        fprintf(stderr, "usage: guards_contract KIND [--list | CASE]\n");
        return 2;
    }
    for (size_t k = 0; guard_kind->isolations[k]; k++)
        for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
            if (!is_for_kind(table[i].wants))
                continue;
            assert_in_range(count, 0, CASES_MAX - 1);
            names[count][0] = table[i].name;
            names[count][1] = guard_kind->isolations[k];
            cases[count] = (struct CMUnitTest){.name = name_of_case(table[i].name, k),
                                               .test_func = play,
                                               .initial_state = (void *)names[count]};
            count++;
        }
    int status = case_select(argc - 1, argv + 1, cases, count);
    if (status != CASE_RUN)
        return status;
    return case_status(_cmocka_run_group_tests("guards", cases, count, setup, teardown));
}
