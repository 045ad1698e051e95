#include "fence/protocol/error.h"
#include "fence/round/attempt.h"
#include "tests/lib/case.h"

#include <string.h>

enum {
    ID = 42,
    BEGAN_US = 1000,
};

static struct fence_counter_votes votes; /* votes of the attempt under test */

static void number(struct fence_attempt *attempt, unsigned i, int64_t number)
{
    struct fence_reply answer = {.kind = FENCE_REPLY_NUMBER, .number = number};
    fence_attempt_reply(attempt, i, &answer);
}

/* Replies as letters, one for each master in order: a digit, the number that it gives; a and b,
 * held by that holder; y yes, n no, r refused, l lost, f foreign; '-' not asked, '.' no answer
 * yet. */
static void reply(struct fence_attempt *attempt, unsigned i, char letter)
{
    struct fence_reply answer = {.kind = FENCE_REPLY_HELD, .owner = "", .remaining_ms = 100};
    switch (letter) {
    case 'a':
        answer.holder = "holder-a";
        break;
    case 'b':
        answer.holder = "holder-b";
        break;
    case 'y':
        answer.kind = FENCE_REPLY_YES;
        break;
    case 'n':
        answer.kind = FENCE_REPLY_NO;
        break;
    case 'r':
        answer.kind = FENCE_REPLY_REFUSED;
        break;
    case 'l':
        answer.kind = FENCE_REPLY_LOST;
        break;
    case 'f':
        answer.kind = FENCE_REPLY_FOREIGN;
        break;
    default:
        number(attempt, i, letter - '0');
        return;
    }
    fence_attempt_reply(attempt, i, &answer);
}

static void reply_all(struct fence_attempt *attempt, const char *letters)
{
    for (unsigned i = 0; letters[i] != '\0'; i++)
        if (letters[i] != '-' && letters[i] != '.')
            reply(attempt, i, letters[i]);
}

static struct fence_attempt begin(struct fence_attempt_masters masters, const char *letters)
{
    struct fence_attempt attempt;
    memset(&attempt, 0xff, sizeof(attempt)); /* nothing is as it should be by chance */
    fence_attempt_begin(&attempt, ID, (struct fence_token_votes){.count = 1, .each = &votes},
                        masters, BEGAN_US);
    reply_all(&attempt, letters);
    return attempt;
}

/* An attempt of as many masters as there are @letters, after these replies. */
static struct fence_attempt after(const char *letters)
{
    struct fence_attempt_masters masters = {.n = (unsigned)strlen(letters)};
    for (unsigned i = 0; i < masters.n; i++)
        if (letters[i] != '-')
            masters.first |= UINT32_C(1) << i;
    return begin(masters, letters);
}

/* Its state, or why it failed. */
static int outcome(const struct fence_attempt *attempt)
{
    unsigned member = 0;
    return attempt->state == FENCE_ATTEMPT_FAILED ? fence_attempt_error(attempt, &member)
                                                  : (int)attempt->state;
}

static int outcome_after(const char *letters)
{
    const struct fence_attempt attempt = after(letters);
    return outcome(&attempt);
}

#define IS(letters, expected) assert_int_equal(outcome_after(letters), FENCE_##expected)

/* Five masters, of which 1, 3 and 4 were frozen with the token 9. */
static struct fence_attempt confirming(void)
{
    struct fence_attempt attempt = after(".9.78");
    assert_int_equal(attempt.state, FENCE_ATTEMPT_CONFIRMING);
    return attempt;
}

static void wins_as_soon_as_a_majority_gave_one_number(void **state)
{
    for (unsigned n = 1; n <= FENCE_MASTERS_MAX; n += 2) {
        struct fence_attempt attempt =
            begin((struct fence_attempt_masters){.n = n, .first = (UINT32_C(1) << n) - 1}, "");
        for (unsigned i = 0; i < n / 2; i++) {
            number(&attempt, i, 7);
            assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
        }
        number(&attempt, n / 2, 7);
        assert_int_equal(attempt.state, FENCE_ATTEMPT_WON);
        assert_int_equal(votes.token, 7);
    }
}

/* The others may grant the same number to somebody else. */
static void majority_is_of_all_masters_not_of_those_that_answered(void **state)
{
    IS("77ll.", ATTEMPT_TAKING);
    IS("77lll", ENOQUORUM);
}

static void majority_is_of_all_masters_not_of_those_that_are_up(void **state)
{
    IS("77.--", ATTEMPT_TAKING);
    IS("777--", ATTEMPT_WON);
}

static void with_too_few_masters_up_nothing_is_sent(void **state)
{
    struct fence_attempt attempt = after("..---");
    assert_int_equal(outcome(&attempt), FENCE_ENOQUORUM);
    assert_int_equal(attempt.sent, 0);
}

static void all_that_were_asked_count_as_sent_to(void **state)
{
    struct fence_attempt attempt = after(".-...");
    assert_int_equal(attempt.sent, 0x1d);
    assert_int_equal(attempt.id, ID);
    assert_int_equal(attempt.began_us, BEGAN_US);
}

static void same_number_twice_from_one_master_is_one_vote(void **state)
{
    struct fence_attempt attempt = after("7..");
    number(&attempt, 0, 7);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
    number(&attempt, 0, 8);
    number(&attempt, 1, 7);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_WON);
    assert_int_equal(votes.token, 7);
}

static void number_after_a_lost_reply_does_not_count(void **state)
{
    struct fence_attempt attempt = after("l7.");
    number(&attempt, 0, 7);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
}

static void number_of_a_master_that_was_not_asked_does_not_count(void **state)
{
    struct fence_attempt attempt = after("77..-");
    number(&attempt, 4, 7);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
}

static void token_is_the_greatest_of_the_frozen_numbers(void **state)
{
    struct fence_attempt attempt = confirming();
    assert_int_equal(votes.token, 9);
    assert_int_equal(attempt.frozen, 1 << 1 | 1 << 3 | 1 << 4);
}

static void late_number_does_not_join_after_token_is_fixed(void **state)
{
    struct fence_attempt attempt = confirming();
    number(&attempt, 0, 12);
    number(&attempt, 2, 9);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_CONFIRMING);
    assert_int_equal(votes.token, 9);
    assert_int_equal(attempt.frozen, 1 << 1 | 1 << 3 | 1 << 4);
}

/* Masters 0 and 2 give t exactly, yet two confirmations of the frozen set are not enough. */
static void late_number_is_no_confirmation_by_the_others(void **state)
{
    struct fence_attempt attempt = confirming();
    reply_all(&attempt, "9.9..");
    reply_all(&attempt, "yy.y.");
    assert_int_equal(attempt.state, FENCE_ATTEMPT_CONFIRMING);
    reply(&attempt, 4, 'y');
    assert_int_equal(attempt.state, FENCE_ATTEMPT_WON);
    assert_int_equal(votes.token, 9);
}

static void master_that_gave_the_token_itself_must_confirm_too(void **state)
{
    struct fence_attempt attempt = confirming();
    reply_all(&attempt, "...yy");
    assert_int_equal(attempt.state, FENCE_ATTEMPT_CONFIRMING);
    reply(&attempt, 1, 'n');
    assert_int_equal(outcome(&attempt), FENCE_ECONTENDED);
}

static void same_confirmation_twice_is_one_vote(void **state)
{
    struct fence_attempt attempt = confirming();
    reply_all(&attempt, "...yy");
    reply(&attempt, 3, 'y');
    assert_int_equal(attempt.state, FENCE_ATTEMPT_CONFIRMING);
}

static void confirmation_fails_at_the_first_that_does_not_agree(void **state)
{
    for (const char *letter = "0anrl"; *letter != '\0'; letter++) {
        struct fence_attempt attempt = confirming();
        reply(&attempt, 3, *letter);
        assert_int_equal(outcome(&attempt), FENCE_ECONTENDED);
    }
    struct fence_attempt without_one = after("78-");
    reply(&without_one, 0, 'n');
    assert_int_equal(outcome(&without_one), FENCE_ECONTENDED);
}

static void parts_of_the_first_round_stay_for_those_not_frozen(void **state)
{
    struct fence_attempt attempt = after("-9a78");
    assert_int_equal(attempt.state, FENCE_ATTEMPT_CONFIRMING);
    assert_int_equal(attempt.tally.parts[0], FENCE_PART_DOWN);
    assert_int_equal(attempt.tally.parts[2], FENCE_PART_HELD);
    assert_int_equal(attempt.tally.parts[3], FENCE_PART_PENDING);
}

static void held_as_soon_as_a_majority_names_one_holder(void **state)
{
    IS("aa...", ATTEMPT_TAKING);
    IS("aa..a", EHELD);
}

static void only_master_of_a_single_fleet_decides(void **state)
{
    IS("a", EHELD);
    IS("l", ENOQUORUM);
    IS("r", ENOQUORUM);
}

static void split_vote_is_contended(void **state)
{
    IS("7ab", ECONTENDED);
    IS("ab7", ECONTENDED);
}

static void contended_as_soon_as_no_holder_can_have_a_majority(void **state)
{
    IS("7ab..", ATTEMPT_TAKING);
    IS("7abb.", ATTEMPT_TAKING); /* the last may name b */
    IS("7abba", ECONTENDED);
    IS("77abl", ECONTENDED);
}

static void waits_for_the_answer_that_tells_held_from_contended(void **state)
{
    IS("aba..", ATTEMPT_TAKING);
    IS("abaa.", EHELD);
}

static void no_quorum_as_soon_as_too_many_are_lost_or_refuse(void **state)
{
    IS("l...-", ATTEMPT_TAKING);
    IS("lr..-", ENOQUORUM);
}

static void reply_that_does_not_fit_the_question_is_a_refusal(void **state)
{
    IS("yn.", ENOQUORUM);
    assert_int_equal(after("y..").tally.parts[0], FENCE_PART_REFUSED);
}

static void giving_up_on_a_silent_majority_is_no_quorum(void **state)
{
    struct fence_attempt attempt = after("77...");
    fence_attempt_give_up(&attempt);
    assert_int_equal(outcome(&attempt), FENCE_ENOQUORUM);
    assert_int_equal(attempt.tally.parts[2], FENCE_PART_TIMEOUT);
}

static void giving_up_where_a_majority_answered_is_contended(void **state)
{
    struct fence_attempt attempt = after("7a.");
    fence_attempt_give_up(&attempt);
    assert_int_equal(outcome(&attempt), FENCE_ECONTENDED);
}

static void one_silent_confirmer_is_contended(void **state)
{
    struct fence_attempt attempt = confirming();
    reply_all(&attempt, ".y.y.");
    fence_attempt_give_up(&attempt);
    assert_int_equal(outcome(&attempt), FENCE_ECONTENDED);
}

static void ended_attempt_takes_no_more_replies(void **state)
{
    IS("779", ATTEMPT_WON);
    assert_int_equal(votes.token, 7);
    IS("aa7", EHELD);
    assert_int_equal(after("aa7").frozen, 0);
}

enum {
    FIRST = 0x7,  /* three of five, asked first, ... */
    SPARE = 0x18, /* ... and later */
};

/* The attempt asks the spare masters in @set; and those in @set can no more be asked. */
static void ask_spare(struct fence_attempt *attempt, uint32_t set)
{
    fence_tally_ask(&attempt->tally, set);
    fence_attempt_asked(attempt, set);
}

static void drop_spare(struct fence_attempt *attempt, uint32_t set)
{
    fence_tally_drop(&attempt->tally, set);
    fence_attempt_asked(attempt, 0);
}

/* After these replies of the first of five. */
static struct fence_attempt after_first(const char *letters)
{
    return begin((struct fence_attempt_masters){.n = 5, .first = FIRST, .spare = SPARE}, letters);
}

static bool wants_more_after(const char *letters)
{
    const struct fence_attempt attempt = after_first(letters);
    return fence_attempt_wants_more(&attempt);
}

static void spare_masters_are_not_sent_to_before_they_are_asked(void **state)
{
    struct fence_attempt attempt = after_first("...");
    assert_int_equal(attempt.sent, FIRST);
    assert_false(fence_attempt_wants_more(&attempt));
    ask_spare(&attempt, 0x8);
    assert_int_equal(attempt.sent, 0xf);
    assert_int_equal(attempt.tally.spare, 0x10);
}

static void first_majority_wins_without_the_others(void **state)
{
    assert_false(wants_more_after("7.."));
    assert_false(wants_more_after("77."));
    assert_false(wants_more_after("777"));
    assert_int_equal(after_first("777").state, FENCE_ATTEMPT_WON);
}

static void number_of_one_asked_later_counts_alike(void **state)
{
    struct fence_attempt attempt = after_first("7..");
    ask_spare(&attempt, 0x10);
    reply_all(&attempt, "..7.7");
    assert_int_equal(attempt.state, FENCE_ATTEMPT_WON);
    assert_int_equal(attempt.frozen, 0x15);
}

static void others_are_wanted_at_once_where_one_refuses_or_is_lost(void **state)
{
    for (const char *letter = "rlf"; *letter != '\0'; letter++) {
        struct fence_attempt attempt = after_first("...");
        reply(&attempt, 1, *letter);
        assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
        assert_true(fence_attempt_wants_more(&attempt));
        ask_spare(&attempt, SPARE);
        assert_false(fence_attempt_wants_more(&attempt));
    }
}

static void others_are_wanted_where_numbers_and_held_mix(void **state)
{
    assert_false(wants_more_after("7.."));
    assert_true(wants_more_after("7a."));
}

static void others_are_wanted_where_holders_differ_once_all_have_answered(void **state)
{
    assert_false(wants_more_after("ab.")); /* one is still to be heard */
    struct fence_attempt attempt = after_first("aba");
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
    assert_true(fence_attempt_wants_more(&attempt));
    ask_spare(&attempt, SPARE);
    reply(&attempt, 3, 'a');
    assert_int_equal(outcome(&attempt), FENCE_EHELD);
}

static void held_by_one_holder_at_all_that_were_asked_is_held_at_once(void **state)
{
    struct fence_attempt attempt = after_first("aa.");
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
    assert_false(fence_attempt_wants_more(&attempt));
    reply(&attempt, 2, 'a');
    assert_false(fence_attempt_wants_more(&attempt));
    assert_int_equal(outcome(&attempt), FENCE_EHELD);
    assert_int_equal(attempt.sent, FIRST);
}

static void attempt_fails_once_those_it_needs_cannot_be_asked(void **state)
{
    struct fence_attempt attempt = after_first("l..");
    drop_spare(&attempt, 0x8);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
    drop_spare(&attempt, 0x10);
    assert_int_equal(outcome(&attempt), FENCE_ENOQUORUM);
    assert_int_equal(attempt.tally.parts[4], FENCE_PART_DOWN);
}

static void outdated_attempt_may_win_by_those_that_were_asked(void **state)
{
    struct fence_attempt attempt = after_first("7..");
    fence_attempt_outdate(&attempt);
    assert_int_equal(attempt.tally.spare, 0);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
    reply_all(&attempt, ".77");
    assert_int_equal(attempt.state, FENCE_ATTEMPT_WON);
}

static void outdated_attempt_that_needs_others_is_contended(void **state)
{
    struct fence_attempt attempt = after_first("l..");
    fence_attempt_outdate(&attempt);
    assert_int_equal(outcome(&attempt), FENCE_ECONTENDED);
    assert_true(attempt.stale);

    attempt = confirming();
    fence_attempt_outdate(&attempt);
    assert_int_equal(outcome(&attempt), FENCE_ECONTENDED);
}

static void highest_number_so_far_is_of_those_that_answered(void **state)
{
    struct fence_attempt attempt = after_first("...");
    votes.numbers[2] = 99; /* a number of an attempt before */
    assert_int_equal(fence_attempt_highest(&attempt, 0), 0);
    reply_all(&attempt, "75.");
    assert_int_equal(fence_attempt_highest(&attempt, 0), 7);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(wins_as_soon_as_a_majority_gave_one_number),
    cmocka_unit_test(majority_is_of_all_masters_not_of_those_that_answered),
    cmocka_unit_test(majority_is_of_all_masters_not_of_those_that_are_up),
    cmocka_unit_test(with_too_few_masters_up_nothing_is_sent),
    cmocka_unit_test(all_that_were_asked_count_as_sent_to),
    cmocka_unit_test(same_number_twice_from_one_master_is_one_vote),
    cmocka_unit_test(number_after_a_lost_reply_does_not_count),
    cmocka_unit_test(number_of_a_master_that_was_not_asked_does_not_count),
    cmocka_unit_test(token_is_the_greatest_of_the_frozen_numbers),
    cmocka_unit_test(late_number_does_not_join_after_token_is_fixed),
    cmocka_unit_test(late_number_is_no_confirmation_by_the_others),
    cmocka_unit_test(master_that_gave_the_token_itself_must_confirm_too),
    cmocka_unit_test(same_confirmation_twice_is_one_vote),
    cmocka_unit_test(confirmation_fails_at_the_first_that_does_not_agree),
    cmocka_unit_test(parts_of_the_first_round_stay_for_those_not_frozen),
    cmocka_unit_test(held_as_soon_as_a_majority_names_one_holder),
    cmocka_unit_test(only_master_of_a_single_fleet_decides),
    cmocka_unit_test(split_vote_is_contended),
    cmocka_unit_test(contended_as_soon_as_no_holder_can_have_a_majority),
    cmocka_unit_test(waits_for_the_answer_that_tells_held_from_contended),
    cmocka_unit_test(no_quorum_as_soon_as_too_many_are_lost_or_refuse),
    cmocka_unit_test(reply_that_does_not_fit_the_question_is_a_refusal),
    cmocka_unit_test(giving_up_on_a_silent_majority_is_no_quorum),
    cmocka_unit_test(giving_up_where_a_majority_answered_is_contended),
    cmocka_unit_test(one_silent_confirmer_is_contended),
    cmocka_unit_test(ended_attempt_takes_no_more_replies),
    cmocka_unit_test(spare_masters_are_not_sent_to_before_they_are_asked),
    cmocka_unit_test(first_majority_wins_without_the_others),
    cmocka_unit_test(number_of_one_asked_later_counts_alike),
    cmocka_unit_test(others_are_wanted_at_once_where_one_refuses_or_is_lost),
    cmocka_unit_test(others_are_wanted_where_numbers_and_held_mix),
    cmocka_unit_test(others_are_wanted_where_holders_differ_once_all_have_answered),
    cmocka_unit_test(held_by_one_holder_at_all_that_were_asked_is_held_at_once),
    cmocka_unit_test(attempt_fails_once_those_it_needs_cannot_be_asked),
    cmocka_unit_test(outdated_attempt_may_win_by_those_that_were_asked),
    cmocka_unit_test(outdated_attempt_that_needs_others_is_contended),
    cmocka_unit_test(highest_number_so_far_is_of_those_that_answered),
};

CASE_MAIN(cases, NULL, NULL)
