/* What must hold where clients bring lock ids of their own and ask with them once more. */
#include "tests/chaos/test_calls.h"

static void what_is_granted_once_more_may_keep_its_token(void **state)
{
    (void)state;
    asked(1, 1, 100, 110, 7, 200);
    asked_again(1, 1, 120, 130, 7, 195);
    granted(2, 210, 220, 8, 300);
    check(NULL, 0);
    assert_int_equal(history_violations(&findings), 0);
    assert_int_equal(findings.leases, 3);
}

static void what_is_granted_once_more_has_no_lower_token(void **state)
{
    (void)state;
    asked(1, 1, 100, 110, 7, 200);
    asked_again(1, 1, 120, 130, 6, 195);
    check(NULL, 0);
    assert_int_equal(findings.disorder, 1);
    assert_int_equal(findings.twice, 0);
}

static void what_is_granted_once_more_is_above_whom_it_follows(void **state)
{
    (void)state;
    asked(1, 1, 100, 110, 7, 200);
    granted(2, 210, 220, 8, 300);
    asked_again(1, 1, 310, 320, 7, 400); /* as if nobody had had it in between */
    check(NULL, 0);
    assert_int_equal(findings.disorder, 1);
    history.calls[2].token = 9;
    findings = (struct history_findings){0};
    check(NULL, 0);
    assert_int_equal(history_violations(&findings), 0);
}

static void the_next_lock_of_a_client_has_a_token_of_its_own(void **state)
{
    (void)state;
    asked(1, 1, 100, 110, 7, 105);
    asked(1, 2, 110, 120, 7, 125);
    asked_again(1, 1, 112, 113, 7, 112); /* between the two, in the order of tokens alone */
    check(NULL, 0);
    assert_int_equal(findings.twice, 1);
}

static void a_lock_that_was_granted_again_is_above_all_that_was_told(void **state)
{
    (void)state;
    asked(1, 1, 100, 110, 7, 105);
    asked_again(1, 1, 120, 130, 9, 125);
    granted(2, 140, 150, 8, 160);
    check(NULL, 0);
    assert_int_equal(findings.disorder, 1);
}

static void what_is_granted_once_more_has_the_same_holder(void **state)
{
    (void)state;
    asked(1, 1, 100, 110, 7, 200);
    asked_again(1, 1, 120, 130, 8, 300); /* part of it had to be taken anew */
    check(NULL, 0);
    assert_int_equal(findings.overlaps, 0);
    granted(2, 190, 250, 9, 400);
    check(NULL, 0);
    assert_int_equal(findings.overlaps, 1);
}

static void the_next_lock_of_a_client_has_another_holder(void **state)
{
    (void)state;
    asked(1, 1, 100, 110, 7, 200);
    asked(1, 2, 120, 130, 8, 300);
    check(NULL, 0);
    assert_int_equal(findings.overlaps, 1);
}

static void an_answer_that_is_lost_makes_nobody_a_holder(void **state)
{
    (void)state;
    asked(1, 1, 100, 150, 0, 0);
    granted(2, 120, 130, 7, 160);
    asked_again(1, 1, 155, 170, 8, 300);
    check(NULL, 0);
    assert_int_equal(history_violations(&findings), 0);
    assert_int_equal(findings.leases, 2);
}

static void what_becomes_of_asking_once_more_takes_nothing_from_a_lease(void **state)
{
    (void)state;
    asked(1, 1, 100, 110, 7, 300);
    asked_again(1, 1, 120, 130, 0, 0);
    granted(2, 140, 150, 8, 200);
    check(NULL, 0);
    assert_int_equal(findings.overlaps, 1);
}

static void who_leaves_holds_nothing_that_was_granted_once_more_either(void **state)
{
    (void)state;
    asked(1, 7, 100, 110, 7, 200);
    asked_again(1, 7, 120, 130, 8, 300);
    called(HISTORY_LEAVE, 1, 140, 7, 0); /* of turn 7 */
    granted(2, 145, 155, 9, 400);
    check(NULL, 0);
    assert_int_equal(findings.overlaps, 0);
}

static void a_lock_lives_from_when_it_was_asked_for_first(void **state)
{
    (void)state;
    asked(1, 1, 100, 150, 0, 0);
    asked_again(1, 1, 160, 170, 7, 300);
    granted(2, 180, 190, 8, 400);
    check(&(struct history_window){110, 120}, 1); /* the lost answer may have granted it */
    assert_int_equal(findings.overlaps, 0);
    assert_int_equal(findings.leases, 1);
    check(&(struct history_window){50, 90}, 1);
    assert_int_equal(findings.overlaps, 1);
}

/* The last call was refused as held. */
static void refused_by(enum history_held_by held_by)
{
    struct history_call *call = &history.calls[history.count - 1];
    call->status = 409;
    call->held_by = held_by;
}

static void who_is_refused_for_its_own_lock_is_found(void **state)
{
    (void)state;
    asked(1, 1, 100, 110, 7, 200);
    asked_again(1, 1, 120, 199, 0, 0);
    history.calls[1].status = 409;
    check(NULL, 0);
    assert_int_equal(history_violations(&findings), 0); /* another may be in the way */
    refused_by(HISTORY_BY_ITSELF);
    check(&(struct history_window){115, 118}, 1);
    assert_int_equal(history_violations(&findings), 0); /* who knows what a clock did to it */
    check(NULL, 0);
    assert_int_equal(findings.shut_out, 1);
    assert_int_equal(history_violations(&findings), 1);
}

static void who_is_refused_once_its_lease_has_ended_has_no_lock(void **state)
{
    (void)state;
    asked(1, 1, 100, 110, 7, 200);
    asked_again(1, 1, 190, 200, 0, 0);
    refused_by(HISTORY_BY_ITSELF);
    asked(1, 2, 210, 220, 0, 0); /* nor has who was told nothing yet, of this lock */
    asked_again(1, 2, 230, 240, 0, 0);
    refused_by(HISTORY_BY_ITSELF);
    check(NULL, 0);
    assert_int_equal(history_violations(&findings), 0);
}

static void who_is_refused_by_nobody_is_found_where_no_tombstones_can_be(void **state)
{
    (void)state;
    const struct history_window before = {100, 119}, meanwhile = {150, 160};
    asked(1, 1, 100, 110, 7, 200);
    asked_again(1, 1, 120, 149, 0, 0);
    refused_by(HISTORY_BY_NOBODY);
    history_check_asking(
        &history, &(struct history_times){.tombstones = &before, .tombstones_count = 1}, &findings);
    history_check_asking(&history,
                         &(struct history_times){.tombstones = &meanwhile, .tombstones_count = 1},
                         &findings);
    assert_int_equal(findings.shut_out, 2);
    history.calls[1].answered_us = 150;
    history_check_asking(&history,
                         &(struct history_times){.tombstones = &meanwhile, .tombstones_count = 1},
                         &findings);
    assert_int_equal(findings.shut_out, 2);
    refused_by(HISTORY_BY_ITSELF);
    history_check_asking(&history,
                         &(struct history_times){.tombstones = &meanwhile, .tombstones_count = 1},
                         &findings);
    assert_int_equal(findings.shut_out, 3);
}

static void being_told_once_more_is_no_new_grant(void **state)
{
    (void)state;
    asked(1, 1, 100, 110, 0, 0);
    asked_again(1, 1, 120, 130, 7, 200);
    asked_again(1, 1, 140, 150, 7, 200);
    history.calls[2].ask = HISTORY_TOLD;
    const bool is_grant[] = {false, true, true}, is_new[] = {false, true, false};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(history_is_grant(&history.calls[i]), is_grant[i]);
        assert_int_equal(history_is_new_grant(&history.calls[i]), is_new[i]);
    }
}

/* ---- extensions that are a grant anew -------------------------------------------------------- */

static void extension_that_is_a_grant_anew_is_above_whom_it_follows(void **state)
{
    (void)state;
    asked(1, 1, 100, 110, 7, 120);
    granted(2, 200, 210, 8, 220);
    granted_anew(1, 1, 300, 310, 9, 400);
    check(NULL, 0);
    assert_int_equal(history_violations(&findings), 0);
    assert_false(history_is_new_grant(&history.calls[2]));
    granted_anew(1, 1, 320, 330, 8, 400);
    check(NULL, 0);
    assert_int_equal(findings.disorder, 1);
    assert_int_equal(findings.twice, 1);
}

static void extension_that_is_a_grant_anew_excludes(void **state)
{
    (void)state;
    asked(1, 1, 100, 110, 7, 120);
    granted_anew(1, 1, 111, 115, 8, 300);
    granted(2, 200, 210, 9, 250);
    check(NULL, 0);
    assert_int_equal(findings.overlaps, 1);
}

static const struct CMUnitTest cases[] = {
    CASE(what_is_granted_once_more_may_keep_its_token),
    CASE(what_is_granted_once_more_has_no_lower_token),
    CASE(what_is_granted_once_more_is_above_whom_it_follows),
    CASE(the_next_lock_of_a_client_has_a_token_of_its_own),
    CASE(a_lock_that_was_granted_again_is_above_all_that_was_told),
    CASE(what_is_granted_once_more_has_the_same_holder),
    CASE(the_next_lock_of_a_client_has_another_holder),
    CASE(an_answer_that_is_lost_makes_nobody_a_holder),
    CASE(what_becomes_of_asking_once_more_takes_nothing_from_a_lease),
    CASE(who_leaves_holds_nothing_that_was_granted_once_more_either),
    CASE(a_lock_lives_from_when_it_was_asked_for_first),
    CASE(who_is_refused_for_its_own_lock_is_found),
    CASE(who_is_refused_by_nobody_is_found_where_no_tombstones_can_be),
    CASE(who_is_refused_once_its_lease_has_ended_has_no_lock),
    CASE(being_told_once_more_is_no_new_grant),
    CASE(extension_that_is_a_grant_anew_is_above_whom_it_follows),
    CASE(extension_that_is_a_grant_anew_excludes),
};

CASE_MAIN(cases, NULL, NULL)
