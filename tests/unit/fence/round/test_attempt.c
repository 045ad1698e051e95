#include "fence/protocol/error.h"
#include "fence/round/attempt.h"
#include "tests/lib/case.h"

enum {
    ID = 42,
    BEGAN_US = 1000,
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

static struct fence_counter_votes votes; /* of the attempt under test */
static const char *const holder_a = "holder-a";
static const char *const holder_b = "holder-b";

static struct fence_attempt begin(unsigned n, uint32_t active)
{
    struct fence_attempt attempt;
    fence_attempt_begin(&attempt, ID, (struct fence_token_votes){.count = 1, .each = &votes},
                        (struct fence_attempt_masters){.n = n, .first = active}, BEGAN_US);
    return attempt;
}

static struct fence_attempt begin_all(unsigned n)
{
    return begin(n, (UINT32_C(1) << n) - 1);
}

static void reply(struct fence_attempt *attempt, unsigned i, enum fence_reply_kind kind)
{
    struct fence_reply answer = {.kind = kind};
    fence_attempt_reply(attempt, i, &answer);
}

static void number(struct fence_attempt *attempt, unsigned i, int64_t number)
{
    struct fence_reply answer = {.kind = FENCE_REPLY_NUMBER, .number = number};
    fence_attempt_reply(attempt, i, &answer);
}

static void held(struct fence_attempt *attempt, unsigned i, const char *holder)
{
    struct fence_reply answer = {
        .kind = FENCE_REPLY_HELD,
        .holder = holder,
        .owner = "",
        .remaining_ms = 100,
    };
    fence_attempt_reply(attempt, i, &answer);
}

static void assert_failed(const struct fence_attempt *attempt, int error)
{
    assert_int_equal(attempt->state, FENCE_ATTEMPT_FAILED);
    unsigned member = 0;
    assert_int_equal(fence_attempt_error(attempt, &member), error);
}

/* Five masters, of which 1, 3 and 4 were frozen with the token 9. */
static struct fence_attempt confirming(void)
{
    struct fence_attempt attempt = begin_all(5);
    number(&attempt, 3, 7);
    number(&attempt, 1, 9);
    number(&attempt, 4, 8);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_CONFIRMING);
    return attempt;
}

static void wins_as_soon_as_a_majority_gave_one_number(void **state)
{
    for (unsigned n = 1; n <= FENCE_MASTERS_MAX; n += 2) {
        struct fence_attempt attempt = begin_all(n);
        for (unsigned i = 0; i < n / 2; i++) {
            number(&attempt, i, 7);
            assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
        }
        number(&attempt, n / 2, 7);
        assert_int_equal(attempt.state, FENCE_ATTEMPT_WON);
        assert_int_equal(votes.token, 7);
    }
}

static void majority_is_of_all_masters_not_of_those_that_answered(void **state)
{
    /* Two of the three that answer are no majority of five: the others may grant the same number
     * to somebody else. */
    struct fence_attempt attempt = begin_all(5);
    reply(&attempt, 2, FENCE_REPLY_LOST);
    reply(&attempt, 3, FENCE_REPLY_LOST);
    number(&attempt, 0, 7);
    number(&attempt, 1, 7);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
    reply(&attempt, 4, FENCE_REPLY_LOST);
    assert_failed(&attempt, FENCE_ENOQUORUM);
}

static void majority_is_of_all_masters_not_of_those_that_are_up(void **state)
{
    struct fence_attempt attempt = begin(5, 0x7);
    number(&attempt, 0, 7);
    number(&attempt, 1, 7);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
    number(&attempt, 2, 7);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_WON);
}

static void with_too_few_masters_up_nothing_is_sent(void **state)
{
    struct fence_attempt attempt = begin(5, 0x3);
    assert_failed(&attempt, FENCE_ENOQUORUM);
    assert_int_equal(attempt.sent, 0);
}

static void all_that_were_asked_count_as_sent_to(void **state)
{
    struct fence_attempt attempt = begin(5, 0x1d);
    assert_int_equal(attempt.sent, 0x1d);
    assert_int_equal(attempt.id, ID);
    assert_int_equal(attempt.began_us, BEGAN_US);
}

static void same_number_twice_from_one_master_is_one_vote(void **state)
{
    struct fence_attempt attempt = begin_all(3);
    number(&attempt, 0, 7);
    number(&attempt, 0, 7);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
    number(&attempt, 0, 8);
    number(&attempt, 1, 7);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_WON);
    assert_int_equal(votes.token, 7);
}

static void number_after_a_lost_reply_does_not_count(void **state)
{
    struct fence_attempt attempt = begin_all(3);
    reply(&attempt, 0, FENCE_REPLY_LOST);
    number(&attempt, 0, 7);
    number(&attempt, 1, 7);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
}

static void number_of_a_master_that_was_not_asked_does_not_count(void **state)
{
    struct fence_attempt attempt = begin(5, 0xf);
    number(&attempt, 4, 7);
    number(&attempt, 0, 7);
    number(&attempt, 1, 7);
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

static void late_number_is_no_confirmation_by_the_others(void **state)
{
    /* Masters 0 and 2 give t exactly, yet two confirmations of the frozen set are not enough. */
    struct fence_attempt attempt = confirming();
    number(&attempt, 0, 9);
    number(&attempt, 2, 9);
    reply(&attempt, 0, FENCE_REPLY_YES);
    reply(&attempt, 1, FENCE_REPLY_YES);
    reply(&attempt, 3, FENCE_REPLY_YES);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_CONFIRMING);
    reply(&attempt, 4, FENCE_REPLY_YES);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_WON);
    assert_int_equal(votes.token, 9);
}

static void master_that_gave_the_token_itself_must_confirm_too(void **state)
{
    struct fence_attempt attempt = confirming();
    reply(&attempt, 3, FENCE_REPLY_YES);
    reply(&attempt, 4, FENCE_REPLY_YES);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_CONFIRMING);
    reply(&attempt, 1, FENCE_REPLY_NO);
    assert_failed(&attempt, FENCE_ECONTENDED);
}

static void same_confirmation_twice_is_one_vote(void **state)
{
    struct fence_attempt attempt = confirming();
    reply(&attempt, 3, FENCE_REPLY_YES);
    reply(&attempt, 3, FENCE_REPLY_YES);
    reply(&attempt, 4, FENCE_REPLY_YES);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_CONFIRMING);
}

static void confirmation_fails_at_the_first_that_does_not_agree(void **state)
{
    static const enum fence_reply_kind kinds[] = {
        FENCE_REPLY_NUMBER, FENCE_REPLY_HELD, FENCE_REPLY_NO, FENCE_REPLY_REFUSED, FENCE_REPLY_LOST,
    };
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        struct fence_attempt attempt = confirming();
        reply(&attempt, 3, kinds[k]);
        assert_failed(&attempt, FENCE_ECONTENDED);
    }
}

static void parts_of_the_first_round_stay_for_those_not_frozen(void **state)
{
    struct fence_attempt attempt = begin(5, 0x1e);
    held(&attempt, 2, holder_a);
    number(&attempt, 3, 7);
    number(&attempt, 1, 9);
    number(&attempt, 4, 8);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_CONFIRMING);
    assert_int_equal(attempt.tally.parts[0], FENCE_PART_DOWN);
    assert_int_equal(attempt.tally.parts[2], FENCE_PART_HELD);
    assert_int_equal(attempt.tally.parts[3], FENCE_PART_PENDING);
}

static void held_as_soon_as_a_majority_names_one_holder(void **state)
{
    struct fence_attempt attempt = begin_all(5);
    held(&attempt, 0, holder_a);
    held(&attempt, 1, holder_a);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
    held(&attempt, 4, holder_a);
    assert_failed(&attempt, FENCE_EHELD);
}

static void only_master_of_a_single_fleet_decides(void **state)
{
    struct fence_attempt attempt = begin_all(1);
    held(&attempt, 0, holder_a);
    assert_failed(&attempt, FENCE_EHELD);
    attempt = begin_all(1);
    reply(&attempt, 0, FENCE_REPLY_LOST);
    assert_failed(&attempt, FENCE_ENOQUORUM);
    attempt = begin_all(1);
    reply(&attempt, 0, FENCE_REPLY_REFUSED);
    assert_failed(&attempt, FENCE_ENOQUORUM);
}

static void split_vote_is_contended(void **state)
{
    struct fence_attempt attempt = begin_all(3);
    number(&attempt, 0, 7);
    held(&attempt, 1, holder_a);
    held(&attempt, 2, holder_b);
    assert_failed(&attempt, FENCE_ECONTENDED);
}

static void contended_as_soon_as_no_holder_can_have_a_majority(void **state)
{
    struct fence_attempt attempt = begin_all(5);
    number(&attempt, 0, 7);
    held(&attempt, 1, holder_a);
    held(&attempt, 2, holder_b);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
    held(&attempt, 3, holder_b);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING); /* the last may name b */
    held(&attempt, 4, holder_a);
    assert_failed(&attempt, FENCE_ECONTENDED);

    attempt = begin_all(5);
    number(&attempt, 0, 7);
    number(&attempt, 1, 7);
    held(&attempt, 2, holder_a);
    held(&attempt, 3, holder_b);
    reply(&attempt, 4, FENCE_REPLY_LOST);
    assert_failed(&attempt, FENCE_ECONTENDED);
}

static void waits_for_the_answer_that_tells_held_from_contended(void **state)
{
    struct fence_attempt attempt = begin_all(5);
    held(&attempt, 0, holder_a);
    held(&attempt, 1, holder_b);
    held(&attempt, 2, holder_a);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
    held(&attempt, 3, holder_a);
    assert_failed(&attempt, FENCE_EHELD);
}

static void no_quorum_as_soon_as_too_many_are_lost_or_refuse(void **state)
{
    struct fence_attempt attempt = begin(5, 0xf);
    reply(&attempt, 0, FENCE_REPLY_LOST);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
    reply(&attempt, 1, FENCE_REPLY_REFUSED);
    assert_failed(&attempt, FENCE_ENOQUORUM);
}

static void reply_that_does_not_fit_the_question_is_a_refusal(void **state)
{
    struct fence_attempt attempt = begin_all(3);
    reply(&attempt, 0, FENCE_REPLY_YES);
    assert_int_equal(attempt.tally.parts[0], FENCE_PART_REFUSED);
    reply(&attempt, 1, FENCE_REPLY_NO);
    assert_failed(&attempt, FENCE_ENOQUORUM);
}

static void giving_up_on_a_silent_majority_is_no_quorum(void **state)
{
    struct fence_attempt attempt = begin_all(5);
    number(&attempt, 0, 7);
    number(&attempt, 1, 7);
    fence_attempt_give_up(&attempt);
    assert_failed(&attempt, FENCE_ENOQUORUM);
    assert_int_equal(attempt.tally.parts[2], FENCE_PART_TIMEOUT);
}

static void giving_up_where_a_majority_answered_is_contended(void **state)
{
    struct fence_attempt attempt = begin_all(3);
    number(&attempt, 0, 7);
    held(&attempt, 1, holder_a);
    fence_attempt_give_up(&attempt);
    assert_failed(&attempt, FENCE_ECONTENDED);
}

static void one_silent_confirmer_is_contended(void **state)
{
    struct fence_attempt attempt = confirming();
    reply(&attempt, 1, FENCE_REPLY_YES);
    reply(&attempt, 3, FENCE_REPLY_YES);
    fence_attempt_give_up(&attempt);
    assert_failed(&attempt, FENCE_ECONTENDED);
}

static void ended_attempt_takes_no_more_replies(void **state)
{
    struct fence_attempt attempt = begin_all(3);
    number(&attempt, 0, 7);
    number(&attempt, 1, 7);
    number(&attempt, 2, 99);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_WON);
    assert_int_equal(votes.token, 7);

    attempt = begin_all(3);
    held(&attempt, 0, holder_a);
    held(&attempt, 1, holder_a);
    number(&attempt, 2, 7);
    assert_failed(&attempt, FENCE_EHELD);
    assert_int_equal(attempt.frozen, 0);
}

enum {
    FIRST = 0x7,  /* of five, asked first, ... */
    SPARE = 0x18, /* ... and later */
};

static struct fence_attempt begin_with_spare(void)
{
    struct fence_attempt attempt;
    fence_attempt_begin(&attempt, ID, (struct fence_token_votes){.count = 1, .each = &votes},
                        (struct fence_attempt_masters){.n = 5, .first = FIRST, .spare = SPARE},
                        BEGAN_US);
    return attempt;
}

static void spare_masters_are_not_sent_to_before_they_are_asked(void **state)
{
    struct fence_attempt attempt = begin_with_spare();
    assert_int_equal(attempt.sent, FIRST);
    assert_false(fence_attempt_wants_more(&attempt));
    ask_spare(&attempt, 0x8);
    assert_int_equal(attempt.sent, 0xf);
    assert_int_equal(attempt.tally.spare, 0x10);
}

static void first_majority_wins_without_the_others(void **state)
{
    struct fence_attempt attempt = begin_with_spare();
    for (unsigned i = 0; i < 3; i++) {
        number(&attempt, i, 7);
        assert_false(fence_attempt_wants_more(&attempt));
    }
    assert_int_equal(attempt.state, FENCE_ATTEMPT_WON);
}

static void number_of_one_asked_later_counts_alike(void **state)
{
    struct fence_attempt attempt = begin_with_spare();
    number(&attempt, 0, 7);
    ask_spare(&attempt, 0x10);
    number(&attempt, 4, 7);
    number(&attempt, 2, 7);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_WON);
    assert_int_equal(attempt.frozen, 0x15);
}

static void others_are_wanted_at_once_where_one_refuses_or_is_lost(void **state)
{
    static const enum fence_reply_kind kinds[] = {FENCE_REPLY_REFUSED, FENCE_REPLY_LOST,
                                                  FENCE_REPLY_FOREIGN};
    for (unsigned k = 0; k < 3; k++) {
        struct fence_attempt attempt = begin_with_spare();
        reply(&attempt, 1, kinds[k]);
        assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
        assert_true(fence_attempt_wants_more(&attempt));
        ask_spare(&attempt, SPARE);
        assert_false(fence_attempt_wants_more(&attempt));
    }
}

static void others_are_wanted_where_numbers_and_held_mix(void **state)
{
    struct fence_attempt attempt = begin_with_spare();
    number(&attempt, 0, 7);
    assert_false(fence_attempt_wants_more(&attempt));
    held(&attempt, 1, holder_a);
    assert_true(fence_attempt_wants_more(&attempt));
}

static void others_are_wanted_where_holders_differ_once_all_have_answered(void **state)
{
    struct fence_attempt attempt = begin_with_spare();
    held(&attempt, 0, holder_a);
    held(&attempt, 1, holder_b);
    assert_false(fence_attempt_wants_more(&attempt)); /* one is still to be heard */
    held(&attempt, 2, holder_a);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
    assert_true(fence_attempt_wants_more(&attempt));
    ask_spare(&attempt, SPARE);
    held(&attempt, 3, holder_a);
    assert_failed(&attempt, FENCE_EHELD);
}

static void held_by_one_holder_at_all_that_were_asked_is_held_at_once(void **state)
{
    struct fence_attempt attempt = begin_with_spare();
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
        held(&attempt, i, holder_a);
        assert_false(fence_attempt_wants_more(&attempt));
    }
    assert_failed(&attempt, FENCE_EHELD);
    assert_int_equal(attempt.sent, FIRST);
}

static void attempt_fails_once_those_it_needs_cannot_be_asked(void **state)
{
    struct fence_attempt attempt = begin_with_spare();
    reply(&attempt, 0, FENCE_REPLY_LOST);
    drop_spare(&attempt, 0x8);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
    drop_spare(&attempt, 0x10);
    assert_failed(&attempt, FENCE_ENOQUORUM);
    assert_int_equal(attempt.tally.parts[4], FENCE_PART_DOWN);
}

static void outdated_attempt_may_win_by_those_that_were_asked(void **state)
{
    struct fence_attempt attempt = begin_with_spare();
    number(&attempt, 0, 7);
    fence_attempt_outdate(&attempt);
    assert_int_equal(attempt.tally.spare, 0);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_TAKING);
    number(&attempt, 1, 7);
    number(&attempt, 2, 7);
    assert_int_equal(attempt.state, FENCE_ATTEMPT_WON);
}

static void outdated_attempt_that_needs_others_is_contended(void **state)
{
    struct fence_attempt attempt = begin_with_spare();
    reply(&attempt, 0, FENCE_REPLY_LOST);
    fence_attempt_outdate(&attempt);
    assert_failed(&attempt, FENCE_ECONTENDED);
    assert_true(attempt.stale);

    attempt = confirming();
    fence_attempt_outdate(&attempt);
    assert_failed(&attempt, FENCE_ECONTENDED);
}

static void highest_number_so_far_is_of_those_that_answered(void **state)
{
    struct fence_attempt attempt = begin_with_spare();
    votes.numbers[2] = 99; /* of an attempt before */
    assert_int_equal(fence_attempt_highest(&attempt, 0), 0);
    number(&attempt, 0, 7);
    number(&attempt, 1, 5);
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
