/* The rule: what one connection after the other is told, and what names and tokens are. */
#include "tests/contract/guards/cases.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

static const char orders[] = "orders/42";
static const int64_t token_max = (INT64_C(1) << 53) - 1;

/* ---- the rule -------------------------------------------------------------------------------- */

static void resource_that_was_never_claimed_has_no_token(struct cases_fixture *f)
{
    assert_int_equal(cases_token(f->a, guard_resource(f->row)), 0);
}

static void each_judges(struct cases_fixture *f, cases_judge *judge)
{
    const char *resource = guard_resource(f->row);
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
        cases_expect(f->a, cases_alone(judge, f->a, resource, steps[i].token), steps[i].outcome);
        assert_int_equal(cases_token(f->b, resource), steps[i].after);
    }
}

static void claim_accepts_equal_and_higher_tokens_only(struct cases_fixture *f)
{
    each_judges(f, guard_claim);
}

static void check_accepts_equal_and_higher_tokens_only(struct cases_fixture *f)
{
    each_judges(f, guard_check);
}

static void holder_writes_many_times_under_one_token(struct cases_fixture *f)
{
    const char *resource = guard_resource(f->row);
    cases_claim(f->a, resource, 5);
    for (int64_t value = 1; value <= 3; value++) {
        cases_begin(f->a);
        cases_expect(f->a, guard_check(f->a, resource, 5), GUARD_DONE);
        cases_expect(f->a, guard_check(f->a, resource, 5), GUARD_DONE);
        cases_expect(f->a, cases_kind->write(f->a, GUARD_PLAIN, f->row, value), GUARD_DONE);
        cases_commit(f->a);
    }
    assert_int_equal(cases_value(f->b, GUARD_PLAIN, f->row), 3);
}

static void refusal_names_the_resource_and_both_tokens(struct cases_fixture *f)
{
    const char *resource = guard_resource(f->row);
    cases_claim(f->a, resource, 7654);
    cases_expect(f->b, cases_alone(guard_check, f->b, resource, 3210), GUARD_STALE);
    assert_non_null(strstr(f->b->error, resource));
    assert_non_null(strstr(f->b->error, "7654"));
    assert_non_null(strstr(f->b->error, "3210"));
}

static void refused_write_leaves_nothing(struct cases_fixture *f)
{
    const char *resource = guard_resource(f->row);
    cases_claim(f->b, resource, 2);
    cases_begin(f->a);
    cases_expect(f->a, cases_kind->write(f->a, GUARD_PLAIN, f->row, 9), GUARD_DONE);
    cases_expect(f->a, guard_check(f->a, resource, 1), GUARD_STALE);
    cases_rollback(f->a);
    assert_int_equal(cases_value(f->b, GUARD_PLAIN, f->row), 0);
    assert_int_equal(cases_token(f->b, resource), 2);
}

static void claim_that_is_rolled_back_never_was(struct cases_fixture *f)
{
    const char *resource = guard_resource(f->row);
    cases_begin(f->a);
    cases_expect(f->a, guard_claim(f->a, resource, 50), GUARD_DONE);
    cases_rollback(f->a);
    assert_int_equal(cases_token(f->b, resource), 0);
    cases_claim(f->b, resource, 49);
}

/* ---- names and tokens ------------------------------------------------------------------------ */

static void resources_are_apart(struct cases_fixture *f)
{
    char upper[64], longer[64];
    snprintf(upper, sizeof(upper), "ROWS/%u", f->row);
    snprintf(longer, sizeof(longer), "rows/%u/x", f->row);
    cases_claim(f->a, guard_resource(f->row), 9);
    cases_claim(f->a, upper, 1);
    cases_claim(f->a, longer, 2);
    assert_int_equal(cases_token(f->b, guard_resource(f->row)), 9);
    assert_int_equal(cases_token(f->b, upper), 1);
    assert_int_equal(cases_token(f->b, longer), 2);
}

static void each_valid_name_is_one(struct cases_fixture *f)
{
    char name[256];
    memset(name, 'a', 255);
    name[255] = '\0';
    cases_claim(f->a, name, 1);
    cases_claim(f->a, "A-Z.a_z~0:9@x", 1);
    cases_claim(f->a, "...", 1);
}

static void wrong_names_and_tokens_are_refused(struct cases_fixture *f)
{
    char longer[257];
    memset(longer, 'a', 256);
    longer[256] = '\0';
    const char *const names[] = {"",  "a b",  "a//b", "/a",       "a/",  "a/../b",
                                 ".", "a\nb", "a\n",  "\xc3\xa4", longer};
    static const int64_t tokens[] = {0, -1, INT64_MIN, (INT64_C(1) << 53), INT64_MAX};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cases_expect(f->a, cases_alone(guard_claim, f->a, names[i], 1), GUARD_INVALID);
        cases_expect(f->a, cases_alone(guard_check, f->a, names[i], 1), GUARD_INVALID);
    }
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++)
        cases_expect(f->a, cases_alone(guard_claim, f->a, orders, tokens[i]), GUARD_INVALID);
    assert_int_equal(cases_token(f->b, orders), 0);
}

static void several_resources_are_all_claimed_or_none(struct cases_fixture *f)
{
    char other[64];
    snprintf(other, sizeof(other), "rows/%u/other", f->row);
    cases_claim(f->b, other, 8);
    cases_begin(f->a);
    cases_expect(f->a, guard_claim(f->a, guard_resource(f->row), 7), GUARD_DONE);
    cases_expect(f->a, guard_claim(f->a, other, 7), GUARD_STALE);
    cases_rollback(f->a);
    assert_int_equal(cases_token(f->b, guard_resource(f->row)), 0);
    cases_begin(f->a);
    cases_expect(f->a, guard_claim(f->a, guard_resource(f->row), 9), GUARD_DONE);
    cases_expect(f->a, guard_claim(f->a, other, 9), GUARD_DONE);
    cases_commit(f->a);
    assert_int_equal(cases_token(f->b, guard_resource(f->row)), 9);
    assert_int_equal(cases_token(f->b, other), 9);
}

static const struct cases_row rows[] = {
    CASES_ROW(CASES_ANY, resource_that_was_never_claimed_has_no_token),
    CASES_ROW(CASES_ANY, claim_accepts_equal_and_higher_tokens_only),
    CASES_ROW(CASES_ANY, check_accepts_equal_and_higher_tokens_only),
    CASES_ROW(CASES_ANY, holder_writes_many_times_under_one_token),
    CASES_ROW(CASES_ANY, refusal_names_the_resource_and_both_tokens),
    CASES_ROW(CASES_ANY, refused_write_leaves_nothing),
    CASES_ROW(CASES_ANY, claim_that_is_rolled_back_never_was),
    CASES_ROW(CASES_ANY, resources_are_apart),
    CASES_ROW(CASES_ANY, each_valid_name_is_one),
    CASES_ROW(CASES_ANY, wrong_names_and_tokens_are_refused),
    CASES_ROW(CASES_ANY, several_resources_are_all_claimed_or_none),
};

const struct cases_rows cases_rule = CASES_ROWS(rows);
