/* The checker finds what is wrong with a history, and nothing where all is well. */
#include "tests/chaos/test_calls.h"
#include "tests/lib/tempdir.h"

#include <stdlib.h>

/* ---- P1 -------------------------------------------------------------------------------------- */

static void nothing_is_found_where_holders_follow_each_other(void **state)
{
    (void)state;
    granted(1, 100, 110, 1, 200);
    granted(2, 120, 210, 2, 300);
    granted(1, 250, 310, 5, 400);
    check(NULL, 0);
    assert_int_equal(history_violations(&findings), 0);
    assert_int_equal(findings.leases, 3);
}

static void one_token_twice_is_found(void **state)
{
    (void)state;
    granted(1, 100, 110, 7, 200);
    granted(2, 105, 210, 7, 300);
    check(NULL, 0);
    assert_int_equal(findings.twice, 1);
    assert_int_equal(findings.disorder, 0); /* it was sent before the other was answered */
    granted(3, 220, 230, 7, 400);
    check(NULL, 0);
    assert_int_equal(findings.disorder, 1);
}

static void a_lower_token_after_an_answer_is_found(void **state)
{
    (void)state;
    granted(1, 100, 110, 7, 200);
    granted(2, 111, 210, 6, 300);
    check(NULL, 0);
    assert_int_equal(findings.disorder, 1);
    assert_int_equal(findings.twice, 0);
}

static void a_lower_token_long_after_is_found(void **state)
{
    (void)state;
    granted(1, 100, 110, 7, 200);
    granted(2, 300, 310, 8, 400);
    granted(3, 500, 510, 5, 600);
    granted(4, 700, 710, 9, 800);
    check(NULL, 0);
    assert_int_equal(findings.disorder, 1);
}

static void a_token_below_one_that_was_answered_before_the_last_is_found(void **state)
{
    (void)state;
    granted(1, 100, 150, 9, 200);
    granted(2, 110, 400, 7, 401); /* beside the first, and late */
    granted(3, 410, 450, 8, 500);
    check(NULL, 0);
    assert_int_equal(findings.disorder, 1);
}

static void attempts_side_by_side_may_end_in_any_order(void **state)
{
    (void)state;
    granted(1, 100, 400, 8, 401);
    granted(2, 110, 150, 7, 200);
    granted(3, 400, 450, 9, 500); /* sent in the moment of an answer: not after it */
    check(NULL, 0);
    assert_int_equal(history_violations(&findings), 0);
}

static void other_names_have_other_tokens(void **state)
{
    (void)state;
    granted(1, 100, 110, 7, 200);
    granted(2, 120, 130, 6, 200);
    history.calls[1].name = 2;
    check(NULL, 0);
    assert_int_equal(history_violations(&findings), 0);
}

static void a_refusal_is_no_grant(void **state)
{
    (void)state;
    granted(1, 100, 110, 7, 200);
    granted(2, 120, 130, 0, 0);
    history.calls[1].status = 409;
    check(NULL, 0);
    assert_int_equal(history_violations(&findings), 0);
}

/* ---- P2 -------------------------------------------------------------------------------------- */

static void two_holders_at_a_time_are_found(void **state)
{
    (void)state;
    granted(1, 100, 110, 1, 200);
    granted(2, 120, 199, 2, 300);
    check(NULL, 0);
    assert_int_equal(findings.overlaps, 1);
}

static void who_leaves_holds_no_more(void **state)
{
    (void)state;
    granted(1, 100, 110, 1, 200);
    called(HISTORY_LEAVE, 1, 150, 1, 0);
    granted(2, 120, 155, 2, 300);
    check(NULL, 0);
    assert_int_equal(findings.overlaps, 0);
    granted(3, 151, 154, 3, 300);
    check(NULL, 0);
    assert_int_equal(findings.overlaps, 1); /* beside the second, though not the first */
}

static void an_extension_makes_the_lease_longer(void **state)
{
    (void)state;
    granted(1, 100, 110, 1, 200);
    called(HISTORY_EXTEND, 1, 150, 1, 400);
    granted(2, 120, 350, 2, 500);
    check(NULL, 0);
    assert_int_equal(findings.overlaps, 1);
}

static void nobody_knew_to_hold_what_was_answered_too_late(void **state)
{
    (void)state;
    granted(1, 100, 250, 1, 200);
    granted(2, 120, 190, 2, 300);
    check(NULL, 0);
    assert_int_equal(findings.overlaps, 0);
    assert_int_equal(findings.leases, 1);
}

static void a_lease_within_a_long_one_is_found(void **state)
{
    (void)state;
    granted(1, 100, 110, 1, 900);
    called(HISTORY_EXTEND, 1, 150, 1, 300); /* which never makes it shorter */
    granted(2, 600, 610, 2, 700);
    check(NULL, 0);
    assert_int_equal(findings.overlaps, 1);
}

static void leases_that_saw_a_touched_clock_are_left_out(void **state)
{
    (void)state;
    granted(1, 100, 110, 1, 200);
    granted(2, 120, 150, 2, 300);
    check(&(struct history_window){130, 160}, 1);
    assert_int_equal(findings.overlaps, 0);
    assert_int_equal(findings.leases, 0);
    check(&(struct history_window){301, 400}, 1);
    assert_int_equal(findings.overlaps, 1);
}

static void order_holds_with_touched_clocks_too(void **state)
{
    (void)state;
    granted(1, 100, 110, 7, 200);
    granted(2, 120, 150, 6, 300);
    check(&(struct history_window){0, UINT64_MAX}, 1);
    assert_int_equal(findings.disorder, 1);
}

/* ---- P4 and the sum -------------------------------------------------------------------------- */

static void accepted_tokens_that_fall_are_found(void **state)
{
    (void)state;
    const struct history_entry rising[] = {{1, 5, 0, 0}, {1, 5, 1, 1}, {2, 3, 1, 1}, {1, 6, 2, 2}};
    const struct history_entry falling[] = {{1, 5, 0, 0}, {1, 6, 0, 0}, {1, 5, 1, 1}};
    history_check_fencing(rising, 4, &findings);
    assert_int_equal(findings.fell, 0);
    history_check_fencing(falling, 3, &findings);
    assert_int_equal(findings.fell, 1);
}

static void writes_that_the_balance_does_not_show_are_lost(void **state)
{
    (void)state;
    const struct history_entry entries[] = {
        {1, 5, 1, 1}, {1, 6, 2, 2}, {2, 3, 1, 1}, {1, 5, 2, 3}, {1, 7, 0, 0}, {2, 4, 2, 2},
    };
    assert_int_equal(history_lost_updates(entries, 2), 0);
    assert_int_equal(history_lost_updates(entries, 6), 1);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void what_is_written_is_read_but_for_a_torn_last_line(void **state)
{
    (void)state;
    char *dir = tempdir_new();
    char path[256], line[HISTORY_LINE_MAX], read[HISTORY_LINE_MAX];
    const struct history_call call = {
        HISTORY_ACQUIRE, 3, 17, 5, HISTORY_RETRY, 2, true, 1200, 1450, 201, 34, 901200,
    };
    snprintf(path, sizeof(path), "%s/history", dir);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    history_format(&call, line);
    assert_string_equal(line, "acquire 3 17 5 retry 2 1 1200 1450 201 34 901200\n");
    fprintf(file, "%snonsense\n%.*s", line, 20, line);
    fclose(file);
    assert_int_equal(history_read(&history, path), 1);
    assert_int_equal(history.count, 1);
    history_format(&history.calls[0], read);
    assert_string_equal(read, line);
    tempdir_remove(dir);
}

/* ---- named counters -------------------------------------------------------------------------- */

/* Client 1 took @values of counter 1, or read it, and was told @value. */
static void counted(unsigned values, uint64_t sent, uint64_t answered, int64_t value)
{
    const struct history_call call = {.kind = HISTORY_COUNT,
                                      .name = 1,
                                      .client = 1,
                                      .names = values,
                                      .sent_us = sent,
                                      .answered_us = answered,
                                      .status = 200,
                                      .token = value};
    history_add(&history, &call);
}

static void nothing_is_found_where_values_rise(void **state)
{
    (void)state;
    counted(10, 100, 200, 10);
    counted(5, 150, 300, 20);
    counted(0, 310, 320, 20);
    counted(0, 150, 320, 12);
    counted(1, 330, 340, 21);
    check(NULL, 0);
    assert_int_equal(history_violations(&findings), 0);
}

static void value_given_twice_is_found(void **state)
{
    (void)state;
    counted(10, 100, 200, 10);
    counted(5, 150, 300, 14);
    check(NULL, 0);
    assert_int_equal(findings.values_twice, 1);
    assert_int_equal(findings.values_fell, 0);
}

static void values_below_one_that_was_told_before_are_found(void **state)
{
    (void)state;
    counted(10, 100, 200, 20);
    counted(10, 201, 300, 10);
    check(NULL, 0);
    assert_int_equal(findings.values_twice, 0);
    assert_int_equal(findings.values_fell, 1);
}

static void value_below_one_that_was_read_before_is_found(void **state)
{
    (void)state;
    counted(0, 100, 200, 20);
    counted(1, 201, 300, 20);
    check(NULL, 0);
    assert_int_equal(findings.values_fell, 1);
}

static void reading_of_less_than_was_told_before_is_found(void **state)
{
    (void)state;
    counted(1, 100, 200, 20);
    counted(0, 201, 300, 19);
    check(NULL, 0);
    assert_int_equal(findings.values_fell, 1);
}

static const struct CMUnitTest cases[] = {
    CASE(nothing_is_found_where_holders_follow_each_other),
    CASE(one_token_twice_is_found),
    CASE(nothing_is_found_where_values_rise),
    CASE(value_given_twice_is_found),
    CASE(values_below_one_that_was_told_before_are_found),
    CASE(value_below_one_that_was_read_before_is_found),
    CASE(reading_of_less_than_was_told_before_is_found),
    CASE(a_lower_token_after_an_answer_is_found),
    CASE(a_lower_token_long_after_is_found),
    CASE(a_token_below_one_that_was_answered_before_the_last_is_found),
    CASE(attempts_side_by_side_may_end_in_any_order),
    CASE(other_names_have_other_tokens),
    CASE(a_refusal_is_no_grant),
    CASE(two_holders_at_a_time_are_found),
    CASE(who_leaves_holds_no_more),
    CASE(an_extension_makes_the_lease_longer),
    CASE(nobody_knew_to_hold_what_was_answered_too_late),
    CASE(a_lease_within_a_long_one_is_found),
    CASE(leases_that_saw_a_touched_clock_are_left_out),
    CASE(order_holds_with_touched_clocks_too),
    CASE(accepted_tokens_that_fall_are_found),
    CASE(writes_that_the_balance_does_not_show_are_lost),
    CASE(what_is_written_is_read_but_for_a_torn_last_line),
};

CASE_MAIN(cases, NULL, NULL)
