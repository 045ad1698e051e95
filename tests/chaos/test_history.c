/* The checker finds what is wrong with a history, and nothing where all is well. A row of the table
 * is a history, and all that is to be found in it. */
#include "tests/chaos/history.h"
#include "tests/lib/case.h"
#include "tests/lib/tempdir.h"

#include <stdlib.h>
#include <string.h>

enum {
    CALLS_MAX = 6,
};

struct row {
    const char *name;
    struct history_findings finds; /* @leases: 0 is not looked at */
    bool no_leases;
    struct history_window touched;    /* when a clock was; 0: never */
    struct history_window tombstones; /* when there may be some; 0: never */
    struct history_call calls[CALLS_MAX];
};

/* ---- the language of the table --------------------------------------------------------------- */

#define FINDS(...)             .finds = {__VA_ARGS__}
#define NOTHING                FINDS(0)
#define NO_LEASES              .no_leases = true
#define TOUCHED(from, till)    .touched = {from, till}
#define TOMBSTONES(from, till) .tombstones = {from, till}
#define CALLS(...)             .calls = {__VA_ARGS__}

#define CALL(what, of_client, of_turn, sent, answered)                                             \
    .kind = HISTORY_##what, .client = (of_client), .turn = (of_turn), .names = 1,                  \
    .sent_us = (sent), .answered_us = (answered)
#define LEASE(got, number, till) .status = (got), .token = (number), .till_us = (till)

/* A client asked and was granted a token until @till. Each turn has its own token. */
#define GRANTED(client, sent, answered, token, till)                                               \
    CALL(ACQUIRE, client, token, sent, answered), LEASE(201, token, till)

/* It asked for the lock of @turn, under its own lock id; and once more. */
#define ASKED(client, turn, sent, answered, token, till)                                           \
    CALL(ACQUIRE, client, turn, sent, answered), LEASE(201, token, till), .ask = HISTORY_OWN
#define ASKED_AGAIN(client, turn, sent, answered, token, till)                                     \
    CALL(ACQUIRE, client, turn, sent, answered), LEASE(200, token, till), .ask = HISTORY_RETRY

/* The same, and no answer came; and it was refused as held. */
#define UNANSWERED(client, turn, sent, gave_up, how)                                               \
    CALL(ACQUIRE, client, turn, sent, gave_up), .ask = HISTORY_##how
#define REFUSED(client, turn, sent, answered, by)                                                  \
    CALL(ACQUIRE, client, turn, sent, answered), .ask = HISTORY_RETRY, .status = 409,              \
                                                 .held_by = HISTORY_BY_##by

/* It extended the lock of @turn; and was granted it again by that. */
#define EXTENDED(client, turn, sent, till)                                                         \
    CALL(EXTEND, client, turn, sent, (sent) + 1), LEASE(200, turn, till)
#define GRANTED_ANEW(client, turn, sent, answered, token, till)                                    \
    CALL(EXTEND, client, turn, sent, answered), LEASE(201, token, till)

#define LEFT(client, turn, sent) CALL(LEAVE, client, turn, sent, (sent) + 1), .status = 200

/* Client 1 took @values of a counter, or read it, and was told @value. */
#define COUNTED(values, sent, answered, value)                                                     \
    .kind = HISTORY_COUNT, .client = 1, .names = (values), .sent_us = (sent),                      \
    .answered_us = (answered), .status = 200, .token = (value)

/* ---- the table ------------------------------------------------------------------------------- */

/* clang-format off */

#define ROW(row_name, ...) {.name = #row_name, __VA_ARGS__}

static const struct row rows[] = {
    /* P1 */
    ROW(nothing_is_found_where_holders_follow_each_other, FINDS(.leases = 3),
        CALLS({GRANTED(1, 100, 110, 1, 200)},
              {GRANTED(2, 120, 210, 2, 300)},
              {GRANTED(1, 250, 310, 5, 400)})),
    ROW(one_token_twice_is_found, FINDS(.twice = 1),
        CALLS({GRANTED(1, 100, 110, 7, 200)},
              {GRANTED(2, 105, 210, 7, 300)})), /* it was sent before the other was answered */
    ROW(one_token_twice_after_an_answer_is_out_of_order_too, FINDS(.twice = 1, .disorder = 1),
        CALLS({GRANTED(1, 100, 110, 7, 200)},
              {GRANTED(2, 220, 230, 7, 400)})),
    ROW(lower_token_after_an_answer_is_found, FINDS(.disorder = 1),
        CALLS({GRANTED(1, 100, 110, 7, 200)},
              {GRANTED(2, 111, 210, 6, 300)})),
    ROW(lower_token_long_after_is_found, FINDS(.disorder = 1),
        CALLS({GRANTED(1, 100, 110, 7, 200)},
              {GRANTED(2, 300, 310, 8, 400)},
              {GRANTED(3, 500, 510, 5, 600)},
              {GRANTED(4, 700, 710, 9, 800)})),
    ROW(token_below_one_that_was_answered_before_the_last_is_found, FINDS(.disorder = 1),
        CALLS({GRANTED(1, 100, 150, 9, 200)},
              {GRANTED(2, 110, 400, 7, 401)}, /* granted at the same time as the first, and late */
              {GRANTED(3, 410, 450, 8, 500)})),
    ROW(attempts_side_by_side_may_end_in_any_order, NOTHING,
        CALLS({GRANTED(1, 100, 400, 8, 401)},
              {GRANTED(2, 110, 150, 7, 200)},
              {GRANTED(3, 400, 450, 9, 500)})), /* sent in the moment of an answer: not after it */
    ROW(other_names_have_other_tokens, NOTHING,
        CALLS({GRANTED(1, 100, 110, 7, 200)},
              {GRANTED(2, 120, 130, 6, 200), .name = 2})),
    ROW(refusal_is_no_grant, NOTHING,
        CALLS({GRANTED(1, 100, 110, 7, 200)},
              {REFUSED(2, 1, 120, 130, OTHER)})),

    /* P2 */
    ROW(two_holders_at_a_time_are_found, FINDS(.overlaps = 1),
        CALLS({GRANTED(1, 100, 110, 1, 200)},
              {GRANTED(2, 120, 199, 2, 300)})),
    ROW(who_leaves_holds_no_more, NOTHING,
        CALLS({GRANTED(1, 100, 110, 1, 200)},
              {LEFT(1, 1, 150)},
              {GRANTED(2, 120, 155, 2, 300)})),
    ROW(who_comes_after_one_that_left_holds, FINDS(.overlaps = 1),
        CALLS({GRANTED(1, 100, 110, 1, 200)},
              {LEFT(1, 1, 150)},
              {GRANTED(2, 120, 155, 2, 300)},
              {GRANTED(3, 151, 154, 3, 300)})), /* granted at the same time as the second, though not the first */
    ROW(extension_makes_the_lease_longer, FINDS(.overlaps = 1),
        CALLS({GRANTED(1, 100, 110, 1, 200)},
              {EXTENDED(1, 1, 150, 400)},
              {GRANTED(2, 120, 350, 2, 500)})),
    ROW(nobody_knew_to_hold_what_was_answered_too_late, FINDS(.leases = 1),
        CALLS({GRANTED(1, 100, 250, 1, 200)},
              {GRANTED(2, 120, 190, 2, 300)})),
    ROW(lease_within_a_long_one_is_found, FINDS(.overlaps = 1),
        CALLS({GRANTED(1, 100, 110, 1, 900)},
              {EXTENDED(1, 1, 150, 300)}, /* which never makes it shorter */
              {GRANTED(2, 600, 610, 2, 700)})),
    ROW(leases_that_saw_a_touched_clock_are_left_out, NOTHING, NO_LEASES, TOUCHED(130, 160),
        CALLS({GRANTED(1, 100, 110, 1, 200)},
              {GRANTED(2, 120, 150, 2, 300)})),
    ROW(leases_that_ended_before_a_clock_was_touched_are_not, FINDS(.overlaps = 1),
        TOUCHED(301, 400),
        CALLS({GRANTED(1, 100, 110, 1, 200)},
              {GRANTED(2, 120, 150, 2, 300)})),
    ROW(order_holds_with_touched_clocks_too, FINDS(.disorder = 1), TOUCHED(0, UINT64_MAX),
        CALLS({GRANTED(1, 100, 110, 7, 200)},
              {GRANTED(2, 120, 150, 6, 300)})),

    /* lock ids of the client's own, and asking with them once more */
    ROW(what_is_granted_once_more_may_keep_its_token, FINDS(.leases = 3),
        CALLS({ASKED(1, 1, 100, 110, 7, 200)},
              {ASKED_AGAIN(1, 1, 120, 130, 7, 195)},
              {GRANTED(2, 210, 220, 8, 300)})),
    ROW(what_is_granted_once_more_has_no_lower_token, FINDS(.disorder = 1),
        CALLS({ASKED(1, 1, 100, 110, 7, 200)},
              {ASKED_AGAIN(1, 1, 120, 130, 6, 195)})),
    ROW(what_is_granted_once_more_is_above_whom_it_follows, NOTHING,
        CALLS({ASKED(1, 1, 100, 110, 7, 200)},
              {GRANTED(2, 210, 220, 8, 300)},
              {ASKED_AGAIN(1, 1, 310, 320, 9, 400)})),
    ROW(what_is_granted_once_more_below_whom_it_follows_is_found, FINDS(.disorder = 1),
        CALLS({ASKED(1, 1, 100, 110, 7, 200)},
              {GRANTED(2, 210, 220, 8, 300)},
              {ASKED_AGAIN(1, 1, 310, 320, 7, 400)})), /* as if no holder had had it in between */
    ROW(next_lock_of_a_client_has_a_token_of_its_own, FINDS(.twice = 1),
        CALLS({ASKED(1, 1, 100, 110, 7, 105)},
              {ASKED(1, 2, 110, 120, 7, 125)},
              {ASKED_AGAIN(1, 1, 112, 113, 7, 112)})), /* between, in the order of tokens alone */
    ROW(lock_that_was_granted_again_is_above_all_that_was_told, FINDS(.disorder = 1),
        CALLS({ASKED(1, 1, 100, 110, 7, 105)},
              {ASKED_AGAIN(1, 1, 120, 130, 9, 125)},
              {GRANTED(2, 140, 150, 8, 160)})),
    ROW(what_is_granted_once_more_has_the_same_holder, NOTHING,
        CALLS({ASKED(1, 1, 100, 110, 7, 200)},
              {ASKED_AGAIN(1, 1, 120, 130, 8, 300)})), /* part of it had to be taken again */
    ROW(what_is_granted_once_more_is_held_for_longer, FINDS(.overlaps = 1),
        CALLS({ASKED(1, 1, 100, 110, 7, 200)},
              {ASKED_AGAIN(1, 1, 120, 130, 8, 300)},
              {GRANTED(2, 190, 250, 9, 400)})),
    ROW(next_lock_of_a_client_has_another_holder, FINDS(.overlaps = 1),
        CALLS({ASKED(1, 1, 100, 110, 7, 200)},
              {ASKED(1, 2, 120, 130, 8, 300)})),
    ROW(answer_that_is_lost_makes_nobody_a_holder, FINDS(.leases = 2),
        CALLS({UNANSWERED(1, 1, 100, 150, OWN)},
              {GRANTED(2, 120, 130, 7, 160)},
              {ASKED_AGAIN(1, 1, 155, 170, 8, 300)})),
    ROW(what_becomes_of_asking_once_more_takes_nothing_from_a_lease, FINDS(.overlaps = 1),
        CALLS({ASKED(1, 1, 100, 110, 7, 300)},
              {UNANSWERED(1, 1, 120, 130, RETRY)},
              {GRANTED(2, 140, 150, 8, 200)})),
    ROW(who_leaves_holds_nothing_that_was_granted_once_more_either, NOTHING,
        CALLS({ASKED(1, 7, 100, 110, 7, 200)},
              {ASKED_AGAIN(1, 7, 120, 130, 8, 300)},
              {LEFT(1, 7, 140)},
              {GRANTED(2, 145, 155, 9, 400)})),
    ROW(lock_lives_from_when_it_was_asked_for_first, FINDS(.leases = 1), TOUCHED(110, 120),
        CALLS({UNANSWERED(1, 1, 100, 150, OWN)}, /* this may have granted it */
              {ASKED_AGAIN(1, 1, 160, 170, 7, 300)},
              {GRANTED(2, 180, 190, 8, 400)})),
    ROW(lock_lives_from_no_moment_before, FINDS(.overlaps = 1), TOUCHED(50, 90),
        CALLS({UNANSWERED(1, 1, 100, 150, OWN)},
              {ASKED_AGAIN(1, 1, 160, 170, 7, 300)},
              {GRANTED(2, 180, 190, 8, 400)})),

    /* a caller that is refused for the sake of its own lock */
    ROW(another_may_be_in_the_way_of_who_asks_again, NOTHING,
        CALLS({ASKED(1, 1, 100, 110, 7, 200)},
              {REFUSED(1, 1, 120, 199, OTHER)})),
    ROW(who_is_refused_for_its_own_lock_is_found, FINDS(.shut_out = 1),
        CALLS({ASKED(1, 1, 100, 110, 7, 200)},
              {REFUSED(1, 1, 120, 199, ITSELF)})),
    ROW(nobody_knows_what_a_clock_did_to_the_own_lock, NOTHING, TOUCHED(115, 118),
        CALLS({ASKED(1, 1, 100, 110, 7, 200)},
              {REFUSED(1, 1, 120, 199, ITSELF)})),
    ROW(who_is_refused_once_its_lease_has_ended_has_no_lock, NOTHING,
        CALLS({ASKED(1, 1, 100, 110, 7, 200)},
              {REFUSED(1, 1, 190, 200, ITSELF)})),
    ROW(who_was_told_nothing_yet_has_no_lock, NOTHING,
        CALLS({UNANSWERED(1, 2, 210, 220, OWN)},
              {REFUSED(1, 2, 230, 240, ITSELF)})),
    ROW(who_is_refused_by_nobody_before_there_may_be_tombstones_is_found, FINDS(.shut_out = 1),
        TOMBSTONES(150, 160),
        CALLS({ASKED(1, 1, 100, 110, 7, 200)},
              {REFUSED(1, 1, 120, 149, NOBODY)})),
    ROW(who_is_refused_by_nobody_after_there_may_be_tombstones_is_found, FINDS(.shut_out = 1),
        TOMBSTONES(100, 119),
        CALLS({ASKED(1, 1, 100, 110, 7, 200)},
              {REFUSED(1, 1, 120, 149, NOBODY)})),
    ROW(tombstone_may_be_in_the_way, NOTHING, TOMBSTONES(150, 160),
        CALLS({ASKED(1, 1, 100, 110, 7, 200)},
              {REFUSED(1, 1, 120, 150, NOBODY)})),
    ROW(tombstone_excuses_no_refusal_that_names_the_holder, FINDS(.shut_out = 1),
        TOMBSTONES(150, 160),
        CALLS({ASKED(1, 1, 100, 110, 7, 200)},
              {REFUSED(1, 1, 120, 150, ITSELF)})),

    /* extensions that are a grant again */
    ROW(extension_that_is_a_grant_anew_is_above_whom_it_follows, NOTHING,
        CALLS({ASKED(1, 1, 100, 110, 7, 120)},
              {GRANTED(2, 200, 210, 8, 220)},
              {GRANTED_ANEW(1, 1, 300, 310, 9, 400)})),
    ROW(extension_that_is_a_grant_anew_has_no_token_of_another, FINDS(.twice = 1, .disorder = 1),
        CALLS({ASKED(1, 1, 100, 110, 7, 120)},
              {GRANTED(2, 200, 210, 8, 220)},
              {GRANTED_ANEW(1, 1, 320, 330, 8, 400)})),
    ROW(extension_that_is_a_grant_anew_excludes, FINDS(.overlaps = 1),
        CALLS({ASKED(1, 1, 100, 110, 7, 120)},
              {GRANTED_ANEW(1, 1, 111, 115, 8, 300)},
              {GRANTED(2, 200, 210, 9, 250)})),

    /* named counters */
    ROW(nothing_is_found_where_values_rise, NOTHING,
        CALLS({COUNTED(10, 100, 200, 10)},
              {COUNTED(5, 150, 300, 20)},
              {COUNTED(0, 310, 320, 20)},
              {COUNTED(0, 150, 320, 12)},
              {COUNTED(1, 330, 340, 21)})),
    ROW(value_given_twice_is_found, FINDS(.values_twice = 1),
        CALLS({COUNTED(10, 100, 200, 10)},
              {COUNTED(5, 150, 300, 14)})),
    ROW(values_below_one_that_was_told_before_are_found, FINDS(.values_fell = 1),
        CALLS({COUNTED(10, 100, 200, 20)},
              {COUNTED(10, 201, 300, 10)})),
    ROW(value_below_one_that_was_read_before_is_found, FINDS(.values_fell = 1),
        CALLS({COUNTED(0, 100, 200, 20)},
              {COUNTED(1, 201, 300, 20)})),
    ROW(reading_of_less_than_was_told_before_is_found, FINDS(.values_fell = 1),
        CALLS({COUNTED(1, 100, 200, 20)},
              {COUNTED(0, 201, 300, 19)})),
};

/* clang-format on */

static void check_row(void **state)
{
    const struct row *row = *state;
    const struct history_times times = {
        .clocks = &row->touched,
        .clocks_count = row->touched.till_us > 0,
        .tombstones = &row->tombstones,
        .tombstones_count = row->tombstones.till_us > 0,
    };
    struct history history = {0};
    struct history_findings found = {0};
    for (size_t i = 0; i < CALLS_MAX && row->calls[i].sent_us > 0; i++) {
        history_add(&history, &row->calls[i]);
        if (history.calls[i].name == 0)
            history.calls[i].name = 1;
    }
    history_check_order(&history, &found);
    history_check_exclusion(&history, times.clocks, times.clocks_count, &found);
    history_check_counters(&history, &found);
    history_check_asking(&history, &times, &found);
    assert_int_equal(found.twice, row->finds.twice);
    assert_int_equal(found.disorder, row->finds.disorder);
    assert_int_equal(found.overlaps, row->finds.overlaps);
    assert_int_equal(found.shut_out, row->finds.shut_out);
    assert_int_equal(found.values_twice, row->finds.values_twice);
    assert_int_equal(found.values_fell, row->finds.values_fell);
    if (row->no_leases || row->finds.leases > 0)
        assert_int_equal(found.leases, row->finds.leases);
    history_fini(&history);
}

/* ---- what is a grant ------------------------------------------------------------------------- */

static void being_told_once_more_is_no_new_grant(void **state)
{
    static const struct {
        struct history_call call;
        bool is_grant, is_new;
    } calls[] = {
        {{UNANSWERED(1, 1, 100, 110, OWN)}, false, false},
        {{ASKED_AGAIN(1, 1, 120, 130, 7, 200)}, true, true},
        {{GRANTED_ANEW(1, 1, 140, 150, 8, 200)}, true, false},
        {{CALL(ACQUIRE, 1, 1, 140, 150), .status = 200, .ask = HISTORY_TOLD}, true, false},
    };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        assert_int_equal(history_is_grant(&calls[i].call), calls[i].is_grant);
        assert_int_equal(history_is_new_grant(&calls[i].call), calls[i].is_new);
    }
}

/* ---- P4 and the sum -------------------------------------------------------------------------- */

static void accepted_tokens_that_fall_are_found(void **state)
{
    const struct history_entry rising[] = {{1, 5, 0, 0}, {1, 5, 1, 1}, {2, 3, 1, 1}, {1, 6, 2, 2}};
    const struct history_entry falling[] = {{1, 5, 0, 0}, {1, 6, 0, 0}, {1, 5, 1, 1}};
    struct history_findings findings = {0};
    history_check_fencing(rising, 4, &findings);
    assert_int_equal(findings.fell, 0);
    history_check_fencing(falling, 3, &findings);
    assert_int_equal(findings.fell, 1);
}

static void writes_that_the_balance_does_not_show_are_lost(void **state)
{
    const struct history_entry entries[] = {
        {1, 5, 1, 1}, {1, 6, 2, 2}, {2, 3, 1, 1}, {1, 5, 2, 3}, {1, 7, 0, 0}, {2, 4, 2, 2},
    };
    assert_int_equal(history_lost_updates(entries, 2), 0);
    assert_int_equal(history_lost_updates(entries, 6), 1);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void what_is_written_is_read_but_for_a_torn_last_line(void **state)
{
    char *dir = tempdir_new();
    char path[256], line[HISTORY_LINE_MAX], read[HISTORY_LINE_MAX];
    struct history history = {0};
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
    history_fini(&history);
    tempdir_remove(dir);
}

static const struct CMUnitTest others[] = {
    cmocka_unit_test(being_told_once_more_is_no_new_grant),
    cmocka_unit_test(accepted_tokens_that_fall_are_found),
    cmocka_unit_test(writes_that_the_balance_does_not_show_are_lost),
    cmocka_unit_test(what_is_written_is_read_but_for_a_torn_last_line),
};

enum {
    ROWS = sizeof(rows) / sizeof(rows[0]),
    OTHERS = sizeof(others) / sizeof(others[0]),
};

int main(int argc, char **argv)
{
    struct CMUnitTest cases[ROWS + OTHERS];
    for (size_t i = 0; i < ROWS; i++)
        cases[i] = (struct CMUnitTest){
            .name = rows[i].name, .test_func = check_row, .initial_state = (void *)&rows[i]};
    memcpy(&cases[ROWS], others, sizeof(others));
    int status = case_select(argc, argv, cases, ROWS + OTHERS);
    if (status != CASE_RUN)
        return status;
    return case_status(_cmocka_run_group_tests("history", cases, ROWS + OTHERS, NULL, NULL));
}
