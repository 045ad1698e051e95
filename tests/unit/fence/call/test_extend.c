/* Extensions and releases that ask a majority first, and extensions that join. */
#include "tests/unit/fence/core_fixture.h"

#include <string.h>

enum {
    CLIENT = 1,
    EXTENSIONS = 4, /* that the lock has had where it is extended */
};

static struct core_fixture *asked(void **state, unsigned n, enum fence_call_kind kind)
{
    struct core_fixture *f = core_fixture_new_spread(state, n);
    core_call(f, core_call_of(kind, CLIENT));
    return f;
}

static uint32_t extended(const struct core_fixture *f)
{
    return core_sent(f, FENCE_REQUEST_EXTEND);
}

static uint32_t joined(const struct core_fixture *f)
{
    return core_sent(f, FENCE_REQUEST_JOIN);
}

/* The master in place @k answers so; it extends the lock, or joins. */
static void answer(struct core_fixture *f, unsigned k, enum fence_reply_kind kind)
{
    core_reply_kind(f, core_nth(f, k), kind);
}

static void extends(struct core_fixture *f, unsigned k, int64_t extensions)
{
    core_reply(f, core_nth(f, k),
               (struct fence_reply){
                   .kind = FENCE_REPLY_YES,
                   .number = extensions,
                   .owner = "worker",
               });
}

static void extend_asks_a_majority_first(void **state)
{
    struct core_fixture *f = asked(state, 5, FENCE_CALL_EXTEND);
    assert_int_equal(extended(f), core_nths(f, 0, 3));
    const struct fence_request *extend = core_request(f, FENCE_REQUEST_EXTEND, core_nth(f, 0));
    assert_int_equal(extend->extend.extensions_max, CORE_EXTENSIONS);
    assert_int_equal(extend->token, CORE_TOKEN);
    for (unsigned k = 0; k < 3; k++)
        extends(f, k, EXTENSIONS);
    assert_answer(f, CLIENT, 0);
    assert_int_equal(f->effects.count, 1);
    assert_false(core_answer_of(f)->extend.anew);
    assert_int_equal(core_answer_of(f)->token, CORE_TOKEN);
}

static void anything_but_yes_has_all_the_others_asked(void **state)
{
    static const enum fence_reply_kind kinds[] = {
        FENCE_REPLY_NO,         FENCE_REPLY_PAST,      FENCE_REPLY_TAKEN,   FENCE_REPLY_EXHAUSTED,
        FENCE_REPLY_SUPERSEDED, FENCE_REPLY_UNCOUNTED, FENCE_REPLY_REFUSED, FENCE_REPLY_LOST,
    };
    for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        struct core_fixture *f = asked(state, 5, FENCE_CALL_EXTEND);
        extends(f, 0, EXTENSIONS);
        assert_no_effects(f);
        answer(f, 1, kinds[k]);
        assert_int_equal(extended(f), core_nths(f, 3, 2));
        assert_int_equal(f->effects.count, 1);
    }
}

static void as_many_others_are_asked_as_are_late(void **state)
{
    struct core_fixture *f = asked(state, 5, FENCE_CALL_EXTEND);
    extends(f, 0, EXTENSIONS);
    extends(f, 1, EXTENSIONS);
    core_tick(f);
    assert_int_equal(extended(f), core_nths(f, 3, 1));
    assert_int_equal(fence_core_counts(f->core)->hedges, 1);
    extends(f, 3, EXTENSIONS);
    assert_answer(f, CLIENT, 0);
}

static void free_masters_join_once_one_has_extended_it(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_EXTEND);
    uint64_t round = f->tag[core_nth(f, 0)];
    answer(f, 1, FENCE_REPLY_NO);
    answer(f, 2, FENCE_REPLY_NO);
    assert_no_effects(f); /* nothing to join yet */
    extends(f, 0, EXTENSIONS);
    assert_int_equal(joined(f), core_nths(f, 1, 2));
    assert_int_equal(f->effects.count, 1);
    const struct fence_request *join = core_request(f, FENCE_REQUEST_JOIN, core_nth(f, 1));
    assert_true(join->tag == round);
    assert_int_equal(join->token, CORE_TOKEN);
    assert_int_equal(join->ttl_ms, CORE_TTL_MS);
    assert_string_equal(join->lock_id, core_lock_id(CLIENT));
    assert_true(join->attempt != 0);
    assert_string_equal(join->owner, "worker");
    extends(f, 1, EXTENSIONS);
    assert_answer(f, CLIENT, 0);
    assert_int_equal(core_answer_of(f)->lease.granted, 2);
    assert_int_equal(core_answer_of(f)->token, CORE_TOKEN);
    /* A silent master is undone, behind the join: the join: the client may release it elsewhere. */
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), core_nths(f, 2, 1));
    assert_int_equal(f->effects.count, 2);
}

/* A lock that joins has had as many extensions as one that was extended in this round. */
static void join_carries_the_most_extensions_and_the_cap(void **state)
{
    struct core_fixture *f = asked(state, 5, FENCE_CALL_EXTEND);
    extends(f, 0, 2);
    extends(f, 1, EXTENSIONS);
    answer(f, 2, FENCE_REPLY_NO);
    answer(f, 3, FENCE_REPLY_NO);
    assert_no_effects(f);
    answer(f, 4, FENCE_REPLY_LOST);
    const struct fence_request *join = core_request(f, FENCE_REQUEST_JOIN, core_nth(f, 2));
    assert_int_equal(join->extend.extended, EXTENSIONS);
    assert_int_equal(join->extend.extensions_max, CORE_EXTENSIONS);
}

/* Its number there is below the token: the grant may never have had it confirmed there. */
static void nobody_joins_a_lock_whose_number_is_below_the_token(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_EXTEND);
    answer(f, 1, FENCE_REPLY_NO);
    extends(f, 0, 0);
    answer(f, 2, FENCE_REPLY_LOST);
    assert_int_equal(joined(f), 0);
    assert_int_equal(core_answers(f), 0); /* it is acquired again: test_reacquire.c */
}

static void nobody_joins_while_those_that_may_extend_it_are_not_late(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_EXTEND);
    extends(f, 0, EXTENSIONS);
    answer(f, 1, FENCE_REPLY_NO);
    assert_int_equal(extended(f), core_nths(f, 2, 1));
    assert_int_equal(joined(f), 0); /* the third may have it */
    core_tick(f);
    assert_int_equal(joined(f), core_nths(f, 1, 1));
    extends(f, 2, EXTENSIONS); /* and it counts as before */
    assert_answer(f, CLIENT, 0);
}

static void second_round_has_another_tag_to_join_by(void **state)
{
    struct core_fixture *f = core_fixture_new_spread(state, 3);
    uint64_t tags[2];
    for (unsigned r = 0; r < 2; r++) {
        core_call(f, core_call_of(FENCE_CALL_EXTEND, CLIENT));
        extends(f, 0, EXTENSIONS);
        answer(f, 1, FENCE_REPLY_NO);
        answer(f, 2, FENCE_REPLY_LOST);
        tags[r] = core_request(f, FENCE_REQUEST_JOIN, core_nth(f, 1))->attempt;
        extends(f, 1, EXTENSIONS);
        assert_answer(f, CLIENT, 0);
    }
    assert_true(tags[0] != tags[1]);
}

/* Of five, one has extended it, two join, one is lost, and the last has not answered. */
static struct core_fixture *two_joining(void **state)
{
    struct core_fixture *f = asked(state, 5, FENCE_CALL_EXTEND);
    extends(f, 0, EXTENSIONS);
    answer(f, 1, FENCE_REPLY_NO);
    answer(f, 2, FENCE_REPLY_NO);
    answer(f, 3, FENCE_REPLY_LOST); /* the last is not enough by itself */
    assert_int_equal(joined(f), core_nths(f, 1, 2));
    return f;
}

static void failed_round_undoes_what_joined_by_its_tag(void **state)
{
    struct core_fixture *f = two_joining(state);
    uint64_t tag = core_request(f, FENCE_REQUEST_JOIN, core_nth(f, 1))->attempt;
    answer(f, 4, FENCE_REPLY_LOST);
    extends(f, 1, EXTENSIONS);
    answer(f, 2, FENCE_REPLY_LOST);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), core_nths(f, 1, 2));
    const struct fence_request *undo = core_request(f, FENCE_REQUEST_UNDO, core_nth(f, 1));
    assert_true(undo->attempt == tag);
    assert_string_equal(undo->lock_id, core_lock_id(CLIENT));
    assert_true(undo->tag != 0); /* it is remembered until it is acknowledged */
}

static void round_in_which_nobody_joined_undoes_nothing(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_EXTEND);
    extends(f, 0, EXTENSIONS);
    answer(f, 1, FENCE_REPLY_LOST);
    answer(f, 2, FENCE_REPLY_LOST);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
    assert_int_equal(f->effects.count, 1);
}

static void join_that_is_never_answered_is_undone_at_the_end_of_the_round(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_EXTEND);
    uint64_t asked_us = f->now_us;
    extends(f, 0, EXTENSIONS);
    answer(f, 1, FENCE_REPLY_NO);
    answer(f, 2, FENCE_REPLY_LOST);
    assert_int_equal(joined(f), core_nths(f, 1, 1));
    while (core_answers(f) == 0)
        core_tick(f);
    assert_int_equal(f->now_us - asked_us, FENCE_MASTER_DEADLINE_US);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), core_nths(f, 1, 1));
}

/* The server stood still, so that no master was late before the round was over. */
static void round_that_ends_before_anybody_joined_is_over(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_EXTEND);
    extends(f, 0, EXTENSIONS);
    answer(f, 1, FENCE_REPLY_NO);
    core_later_us(f, FENCE_MASTER_DEADLINE_US);
    core_tick(f);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
    assert_int_equal(joined(f), 0);
    assert_int_equal(fence_core_calls(f->core), 0);
}

static void join_where_all_are_asked_waits_for_those_that_are_not_late(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_call(f, core_call_of(FENCE_CALL_EXTEND, CLIENT));
    assert_int_equal(extended(f), CORE_FIRST(3));
    extends(f, 0, EXTENSIONS);
    answer(f, 1, FENCE_REPLY_NO);
    assert_no_effects(f);
    core_tick(f);
    assert_int_equal(joined(f), core_nths(f, 1, 1));
}

/* It was asked to join long after it was asked first. */
static void answer_to_a_join_says_nothing_of_how_long_a_master_takes(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_EXTEND);
    core_later_us(f, 1000);
    extends(f, 0, EXTENSIONS);
    answer(f, 1, FENCE_REPLY_NO);
    answer(f, 2, FENCE_REPLY_LOST);
    assert_int_equal(joined(f), core_nths(f, 1, 1));
    core_later_us(f, 15000);
    extends(f, 1, EXTENSIONS);
    assert_answer(f, CLIENT, 0);
    core_call(f, core_call_of(FENCE_CALL_EXTEND, CLIENT));
    assert_int_equal(fence_core_deadline(f->core), f->now_us + 2 * (1000 + UINT64_C(4) * 500));
}

/* All stay active, but what they are named is another view. */
static void change_view(struct core_fixture *f, unsigned i)
{
    struct fence_facts facts = core_facts(i);
    facts.view.incarnation[i] += CORE_ADMISSIONS(1);
    core_shake_hands(f, i, facts);
    assert_int_equal(fence_fleet_active(fence_core_fleet(f->core)), CORE_FIRST(f->n));
}

static void join_under_another_view_begins_anew(void **state)
{
    struct core_fixture *f = asked(state, 5, FENCE_CALL_EXTEND);
    extends(f, 0, EXTENSIONS);
    answer(f, 1, FENCE_REPLY_NO);
    answer(f, 2, FENCE_REPLY_NO);
    change_view(f, core_nth(f, 4));
    answer(f, 3, FENCE_REPLY_LOST);
    assert_int_equal(joined(f), 0);
    assert_int_equal(extended(f), core_nths(f, 0, 3));
    assert_int_equal(core_answers(f), 0);
}

static void hedge_under_another_view_begins_anew(void **state)
{
    struct core_fixture *f = asked(state, 5, FENCE_CALL_EXTEND);
    uint64_t round = f->tag[core_nth(f, 0)];
    extends(f, 0, EXTENSIONS);
    change_view(f, core_nth(f, 4));
    core_tick(f);
    assert_int_equal(extended(f), core_nths(f, 0, 3));
    assert_true(core_request(f, FENCE_REQUEST_EXTEND, core_nth(f, 0))->tag != round);
    extends(f, 1, EXTENSIONS);
    extends(f, 2, EXTENSIONS);
    assert_no_effects(f); /* the first answer was under the old view */
    extends(f, 0, EXTENSIONS);
    assert_answer(f, CLIENT, 0);
}

static void join_that_is_stale_begins_anew_and_undoes_what_joined(void **state)
{
    struct core_fixture *f = two_joining(state);
    uint64_t tag = core_request(f, FENCE_REQUEST_JOIN, core_nth(f, 1))->attempt;
    answer(f, 4, FENCE_REPLY_LOST);
    const struct fence_view view = core_view_after(core_nth(f, 4), 10);
    core_hear(f, core_nth(f, 0), &view);
    core_reply(f, core_nth(f, 1), (struct fence_reply){.kind = FENCE_REPLY_STALE, .view = &view});
    assert_int_equal(core_answers(f), 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), core_nths(f, 1, 2));
    assert_true(core_request(f, FENCE_REQUEST_UNDO, core_nth(f, 1))->attempt == tag);
    assert_int_equal(extended(f), core_nths(f, 0, 3));
    for (unsigned k = 0; k < 2; k++)
        extends(f, k, EXTENSIONS);
    assert_int_equal(core_answers(f), 0);
    extends(f, 2, EXTENSIONS);
    assert_answer(f, CLIENT, 0);
}

static void release_asks_a_majority_and_nobody_else(void **state)
{
    struct core_fixture *f = asked(state, 5, FENCE_CALL_RELEASE);
    assert_int_equal(core_sent(f, FENCE_REQUEST_RELEASE), core_nths(f, 0, 3));
    for (unsigned k = 0; k < 3; k++)
        answer(f, k, FENCE_REPLY_YES);
    assert_answer(f, CLIENT, 0);
    assert_true(core_answer_of(f)->release.released);
    assert_int_equal(f->effects.count, 1);
}

static void release_tells_the_rest_while_members_may_have_imported_it(void **state)
{
    struct core_fixture *f = asked(state, 5, FENCE_CALL_RELEASE);
    struct fence_view view = fence_core_fleet(f->core)->view;
    view.incarnation[core_nth(f, 4)] += CORE_ADMISSIONS(1);
    for (unsigned k = 0; k < 2; k++)
        core_reply(f, core_nth(f, k),
                   (struct fence_reply){.kind = FENCE_REPLY_STALE, .view = &view});
    for (unsigned k = 0; k < 3; k++)
        answer(f, k, FENCE_REPLY_YES);
    assert_answer(f, CLIENT, 0);
    assert_true(core_sent(f, FENCE_REQUEST_RELEASE) & core_nths(f, 3, 1));
}

static void release_of_a_lock_that_spread_tells_the_rest_and_does_not_wait(void **state)
{
    struct core_fixture *f = asked(state, 5, FENCE_CALL_RELEASE);
    answer(f, 0, FENCE_REPLY_YES);
    core_reply(f, core_nth(f, 1), (struct fence_reply){.kind = FENCE_REPLY_YES, .adopted = true});
    assert_no_effects(f);
    answer(f, 2, FENCE_REPLY_YES);
    assert_answer(f, CLIENT, 0);
    assert_true(core_answer_of(f)->release.released);
    assert_int_equal(core_sent(f, FENCE_REQUEST_RELEASE), core_nths(f, 3, 2));
    assert_int_equal(fence_core_calls(f->core), 0);
    answer(f, 3, FENCE_REPLY_YES);
    assert_no_effects(f);
}

static void release_that_is_not_there_at_one_asks_all(void **state)
{
    struct core_fixture *f = asked(state, 5, FENCE_CALL_RELEASE);
    answer(f, 1, FENCE_REPLY_NO);
    assert_int_equal(core_sent(f, FENCE_REQUEST_RELEASE), core_nths(f, 3, 2));
    answer(f, 0, FENCE_REPLY_YES);
    answer(f, 2, FENCE_REPLY_YES);
    assert_no_effects(f);
    answer(f, 3, FENCE_REPLY_YES);
    assert_answer(f, CLIENT, 0);
    assert_true(core_answer_of(f)->release.released);
}

static void release_that_no_majority_can_have_is_done(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_RELEASE);
    answer(f, 0, FENCE_REPLY_YES);
    answer(f, 1, FENCE_REPLY_NO);
    answer(f, 2, FENCE_REPLY_LOST);
    assert_answer(f, CLIENT, 0);
    assert_true(core_answer_of(f)->release.released);
}

static void release_that_is_late_asks_others(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_RELEASE);
    answer(f, 0, FENCE_REPLY_YES);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_RELEASE), core_nths(f, 2, 1));
    answer(f, 2, FENCE_REPLY_YES);
    assert_answer(f, CLIENT, 0);
}

/* Another server does not know who was asked for the lock. */
static void inspect_asks_all(void **state)
{
    struct core_fixture *f = asked(state, 5, FENCE_CALL_INSPECT);
    assert_int_equal(core_sent(f, FENCE_REQUEST_INSPECT), CORE_FIRST(5));
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(extend_asks_a_majority_first),
    CORE_CASE(anything_but_yes_has_all_the_others_asked),
    CORE_CASE(as_many_others_are_asked_as_are_late),
    CORE_CASE(free_masters_join_once_one_has_extended_it),
    CORE_CASE(join_carries_the_most_extensions_and_the_cap),
    CORE_CASE(nobody_joins_a_lock_whose_number_is_below_the_token),
    CORE_CASE(nobody_joins_while_those_that_may_extend_it_are_not_late),
    CORE_CASE(second_round_has_another_tag_to_join_by),
    CORE_CASE(failed_round_undoes_what_joined_by_its_tag),
    CORE_CASE(round_in_which_nobody_joined_undoes_nothing),
    CORE_CASE(join_that_is_never_answered_is_undone_at_the_end_of_the_round),
    CORE_CASE(round_that_ends_before_anybody_joined_is_over),
    CORE_CASE(join_where_all_are_asked_waits_for_those_that_are_not_late),
    CORE_CASE(answer_to_a_join_says_nothing_of_how_long_a_master_takes),
    CORE_CASE(join_under_another_view_begins_anew),
    CORE_CASE(hedge_under_another_view_begins_anew),
    CORE_CASE(join_that_is_stale_begins_anew_and_undoes_what_joined),
    CORE_CASE(release_asks_a_majority_and_nobody_else),
    CORE_CASE(release_tells_the_rest_while_members_may_have_imported_it),
    CORE_CASE(release_of_a_lock_that_spread_tells_the_rest_and_does_not_wait),
    CORE_CASE(release_that_is_not_there_at_one_asks_all),
    CORE_CASE(release_that_no_majority_can_have_is_done),
    CORE_CASE(release_that_is_late_asks_others),
    CORE_CASE(inspect_asks_all),
};

CASE_MAIN(cases, NULL, NULL)
