/* A master knows a newer view than the one that was named: what is begun again, and what is not. */
#include "tests/unit/fence/core_fixture.h"

enum {
    MEMBER = 4, /* one of five: the one that rejoined meanwhile */
};

/* Of one master alone it would not be believed. */
static void stale(struct core_fixture *f, unsigned i, const struct fence_view *view)
{
    if (f->n > 1)
        core_hear(f, i == 0 ? 1 : 0, view);
    core_reply(f, i, (struct fence_reply){.kind = FENCE_REPLY_STALE, .view = view});
}

static void stale_attempt_begins_anew_under_the_view_it_was_told(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 5);
    const struct fence_view view = core_view_after(MEMBER, 10);
    core_acquire(f, 1, 0);
    core_number(f, 0, 7);
    stale(f, 1, &view);
    assert_int_equal(core_answers(f), 0);
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(MEMBER)); /* it is of the past */
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(4));
    assert_int_equal(fence_core_fleet(f->core)->view.incarnation[MEMBER], view.incarnation[MEMBER]);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(4));
    for (unsigned i = 0; i < 3; i++)
        core_number(f, i, 8);
    assert_answer(f, 1, 0);
}

static void confirmation_under_a_newer_view_is_not_sent(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 5, 0);
    core_numbers(f, 7, 8);
    struct fence_facts facts = core_facts(3);
    facts.view.incarnation[3] += CORE_ADMISSIONS(10);
    core_shake_hands(f, 3, facts);
    core_number(f, 2, 7);
    assert_int_equal(core_sent(f, FENCE_REQUEST_CONFIRM), 0);
    assert_int_equal(core_answers(f), 0);
}

static void stale_extension_begins_anew_with_all(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    const struct fence_view view = core_view_after(2, 10);
    core_call(f, core_call_of(FENCE_CALL_EXTEND, 1));
    core_reply_kind(f, 0, FENCE_REPLY_YES);
    stale(f, 1, &view);
    assert_int_equal(core_sent(f, FENCE_REQUEST_EXTEND), CORE_FIRST(2));
    core_reply_kind(f, 1, FENCE_REPLY_YES);
    assert_int_equal(core_answers(f), 0); /* the answer of 0 was under the old view */
    core_reply_kind(f, 0, FENCE_REPLY_YES);
    assert_answer(f, 1, 0);
}

static void stale_release_is_repeated_where_it_was_refused(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    const struct fence_view view = core_view_after(2, 10);
    core_call(f, core_call_of(FENCE_CALL_RELEASE, 1));
    core_reply_kind(f, 0, FENCE_REPLY_YES);
    stale(f, 1, &view);
    assert_int_equal(core_sent(f, FENCE_REQUEST_RELEASE), CORE_SET(1));
    core_reply_kind(f, 1, FENCE_REPLY_YES);
    assert_answer(f, 1, 0);
    assert_true(core_answer_of(f)->release.released);
}

static void master_that_never_agrees_on_a_view_is_not_asked_for_ever(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 1);
    const struct fence_view view = core_facts(0).view;
    core_call(f, core_call_of(FENCE_CALL_RELEASE, 1));
    unsigned asked = 1;
    for (; core_answers(f) == 0; asked++) {
        assert_true(asked <= FENCE_TRIES_MAX + 1);
        stale(f, 0, &view);
    }
    assert_answer(f, 1, FENCE_ENOQUORUM);
}

/* As after a token floor: the marker says which writes are of which incarnation. */
static void master_whose_own_incarnation_rose_is_asked_by_a_handshake(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    struct fence_view view = core_facts(0).view;
    view.incarnation[1] += CORE_ADMISSIONS(1);
    core_hear(f, 1, &view);
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(1));
    struct fence_facts facts = core_facts(1);
    facts.view = view;
    core_shake_hands(f, 1, facts);
    assert_int_equal(fence_core_fleet(f->core)->view.incarnation[1], view.incarnation[1]);
    assert_int_equal(fence_fleet_active(fence_core_fleet(f->core)), CORE_FIRST(3));
}

static void clean_up_that_was_stale_is_told_again(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_meet_holder(f, 1000);
    assert_answer(f, 1, FENCE_EHELD);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(3));
    const struct fence_view view = core_view_after(2, 10);
    stale(f, 0, &view);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_SET(0));
}

static void expect_granted_by_others(struct core_fixture *f, unsigned i,
                                     const struct fence_view *view)
{
    core_acquire(f, 1, 0);
    for (unsigned tries = 0; tries <= FENCE_UNBACKED_TRIES_MAX; tries++) {
        if (tries > 0)
            core_tick(f);
        assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(5));
        core_reply(f, i, (struct fence_reply){.kind = FENCE_REPLY_STALE, .view = view});
    }
    for (unsigned k = 1; k < 4; k++)
        core_number(f, k, 8);
    assert_answer(f, 1, 0);
}

static void what_one_master_says_of_others_that_vote_puts_none_out(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 5);
    struct fence_view view = core_facts(0).view;
    for (unsigned i = 1; i < 5; i++)
        view.incarnation[i] = FENCE_INCARNATION_MAX;
    expect_granted_by_others(f, 0, &view);
    assert_int_equal(fence_fleet_active(fence_core_fleet(f->core)), CORE_FIRST(5));
    assert_int_equal(fence_core_fleet(f->core)->view.incarnation[1],
                     core_facts(0).view.incarnation[1]);
}

/* Nor does an attempt restart for a refusal that teaches nothing. */
static void refusal_of_the_view_that_holds_is_one_refusal(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 5);
    const struct fence_view view = core_facts(0).view;
    expect_granted_by_others(f, 0, &view);
}

static void clean_up_that_is_refused_for_the_view_that_holds_is_not_told_again(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    const struct fence_view view = core_facts(0).view;
    core_acquire(f, 1, 0);
    core_meet_holder(f, 1000);
    core_reply(f, 0, (struct fence_reply){.kind = FENCE_REPLY_STALE, .view = &view});
    assert_false(core_is_due(f));
}

/* A leader broke off after one master had recorded. The member may never come back. */
static void what_one_master_says_of_a_member_that_is_gone_is_named_to_it_alone(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    const struct fence_view view = core_view_after(2, 10);
    core_down(f, 2);
    core_acquire(f, 1, 0);
    core_number(f, 0, 7);
    core_reply(f, 1, (struct fence_reply){.kind = FENCE_REPLY_STALE, .view = &view});
    const struct fence_fleet *fleet = fence_core_fleet(f->core);
    assert_int_equal(fleet->master[1].named.incarnation[2], view.incarnation[2]);
    assert_int_equal(fleet->master[0].named.incarnation[2], core_facts(0).view.incarnation[2]);
    core_tick(f);
    core_numbers(f, 8, 8);
    assert_answer(f, 1, 0);

    /* It is back, as it was: it votes, and the other is refused what it says of it. */
    core_shake_hands(f, 2, core_facts(2));
    assert_int_equal(fence_fleet_active(fleet), CORE_FIRST(3));
    assert_int_equal(fleet->master[1].named.incarnation[2], core_facts(0).view.incarnation[2]);
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(what_one_master_says_of_others_that_vote_puts_none_out),
    CORE_CASE(refusal_of_the_view_that_holds_is_one_refusal),
    CORE_CASE(clean_up_that_is_refused_for_the_view_that_holds_is_not_told_again),
    CORE_CASE(what_one_master_says_of_a_member_that_is_gone_is_named_to_it_alone),
    CORE_CASE(stale_attempt_begins_anew_under_the_view_it_was_told),
    CORE_CASE(confirmation_under_a_newer_view_is_not_sent),
    CORE_CASE(stale_extension_begins_anew_with_all),
    CORE_CASE(stale_release_is_repeated_where_it_was_refused),
    CORE_CASE(master_that_never_agrees_on_a_view_is_not_asked_for_ever),
    CORE_CASE(master_whose_own_incarnation_rose_is_asked_by_a_handshake),
    CORE_CASE(clean_up_that_was_stale_is_told_again),
};

CASE_MAIN(cases, NULL, NULL)
