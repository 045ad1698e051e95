/* Protected tables, and databases that are killed. */
#include "tests/contract/guards/cases.h"
#include "tests/lib/case.h"

/* ---- protected tables ------------------------------------------------------------------------ */

/* In its own transaction. */
static enum guard_outcome write_protected(struct guard_connection *connection, unsigned row,
                                          unsigned claimed, int64_t token, int64_t value)
{
    cases_begin(connection);
    enum guard_outcome outcome =
        claimed > 0 ? guard_check(connection, guard_resource(claimed), token) : GUARD_DONE;
    if (outcome == GUARD_DONE)
        outcome = cases_kind->write(connection, GUARD_PROTECTED, row, value);
    if (outcome == GUARD_DONE)
        cases_commit(connection);
    else
        cases_rollback(connection);
    return outcome;
}

static void protected_row_is_written_by_whoever_claimed_it(struct cases_fixture *f)
{
    cases_expect(f->a, write_protected(f->a, f->row, f->row, 3, 30), GUARD_DONE);
    cases_expect(f->a, write_protected(f->a, f->row, f->row, 3, 31), GUARD_DONE);
    assert_int_equal(cases_value(f->b, GUARD_PROTECTED, f->row), 31);
}

static void protected_row_is_closed_to_whoever_did_not_claim(struct cases_fixture *f)
{
    cases_expect(f->a, write_protected(f->a, f->row, 0, 0, 30), GUARD_UNCLAIMED);
    cases_expect(f->b, write_protected(f->b, f->row, f->row, 3, 31), GUARD_DONE);
    cases_expect(f->a, write_protected(f->a, f->row, 0, 0, 30), GUARD_UNCLAIMED);
    assert_int_equal(cases_value(f->b, GUARD_PROTECTED, f->row), 31);
}

static void claim_of_another_resource_opens_no_row(struct cases_fixture *f)
{
    const unsigned other = cases_more();
    cases_expect(f->a, write_protected(f->a, other, f->row, 3, 30), GUARD_UNCLAIMED);
    assert_int_equal(cases_value(f->b, GUARD_PROTECTED, other), 0);
}

static void claim_that_was_rolled_back_opens_no_row(struct cases_fixture *f)
{
    cases_begin(f->a);
    cases_expect(f->a, guard_claim(f->a, guard_resource(f->row), 4), GUARD_DONE);
    cases_rollback(f->a);
    cases_expect(f->a, write_protected(f->a, f->row, 0, 0, 30), GUARD_UNCLAIMED);
}

/* If a claim holds for the connection, the trigger checks its token again. */
static void claim_of_an_earlier_transaction_opens_no_row_to_a_stale_holder(struct cases_fixture *f)
{
    cases_claim(f->a, guard_resource(f->row), 4);
    enum guard_outcome outcome = write_protected(f->a, f->row, 0, 0, 30);
    cases_expect(f->a, outcome,
                 cases_kind->claims_end_with_transaction ? GUARD_UNCLAIMED : GUARD_DONE);
    cases_claim(f->b, guard_resource(f->row), 5);
    outcome = write_protected(f->a, f->row, 0, 0, 31);
    cases_expect(f->a, outcome,
                 cases_kind->claims_end_with_transaction ? GUARD_UNCLAIMED : GUARD_STALE);
}

/* ---- crashes --------------------------------------------------------------------------------- */

static void claim_that_was_committed_outlives_the_server(struct cases_fixture *f)
{
    cases_claim(f->a, guard_resource(f->row), 90);
    cases_begin(f->b);
    cases_expect(f->b, guard_claim(f->b, guard_resource(f->row), 91), GUARD_DONE);
    cases_kind->kill(cases_server);
    cases_kind->restart(cases_server);
    struct guard_connection *c = guard_connect(cases_server, f->isolation);
    assert_int_equal(cases_token(c, guard_resource(f->row)), 90);
    cases_expect(c, cases_alone(guard_claim, c, guard_resource(f->row), 89), GUARD_STALE);
    cases_kind->close(c);
}

static const struct cases_row rows[] = {
    CASES_ROW(CASES_PROTECTS, protected_row_is_written_by_whoever_claimed_it),
    CASES_ROW(CASES_PROTECTS, protected_row_is_closed_to_whoever_did_not_claim),
    CASES_ROW(CASES_PROTECTS, claim_of_another_resource_opens_no_row),
    CASES_ROW(CASES_PROTECTS, claim_that_was_rolled_back_opens_no_row),
    CASES_ROW(CASES_PROTECTS, claim_of_an_earlier_transaction_opens_no_row_to_a_stale_holder),
    CASES_ROW(CASES_SERVER, claim_that_was_committed_outlives_the_server),
};

const struct cases_rows cases_protected = CASES_ROWS(rows);
