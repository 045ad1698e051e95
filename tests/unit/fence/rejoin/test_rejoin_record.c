/* Taking a master back: its new incarnation is recorded on a majority of others, under one view;
 * and two leaders, or two members, at once. */
#include "tests/unit/fence/rejoin/rejoin_fixture.h"

enum {
    OTHER = 3, /* another member that rejoins at the same time */
};

static void record_names_the_new_incarnation_and_the_view_of_the_others(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    const struct fence_rejoin_request *record = assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4));
    assert_int_equal(record->view->incarnation[MEMBER], rejoin_meant(f));
    for (unsigned i = 0; i < MEMBER; i++)
        assert_int_equal(record->view->incarnation[i], core_facts(0).view.incarnation[i]);
}

static void masters_that_are_not_active_do_not_record(void **state)
{
    struct core_fixture *f = rejoin_clearing(state);
    core_down(f, 1);
    rejoin_done(f, MEMBER);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4) & ~CORE_SET(1));
}

static void nothing_is_read_before_a_majority_of_others_recorded(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    rejoin_done(f, 3);
    assert_no_step(f);
    rejoin_done(f, 1);
    assert_no_step(f);
    rejoin_done(f, 2);
    assert_step(f, FENCE_REJOIN_READ, CORE_SET(1) | CORE_SET(2) | CORE_SET(3));
}

/* From then on this server names it too, so that those that recorded do not refuse it. */
static void recorded_incarnation_is_named_by_this_server(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    rejoin_done(f, 0);
    assert_int_equal(fence_core_fleet(f->core)->view.incarnation[MEMBER], rejoin_meant(f));
}

static void master_that_recorded_and_went_down_is_not_read(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    rejoin_done(f, 0);
    core_down(f, 0);
    rejoin_done(f, 1);
    rejoin_done(f, 2);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4) & ~CORE_SET(0));
}

static void recording_is_put_off_while_too_few_others_are_active(void **state)
{
    struct core_fixture *f = rejoin_clearing(state);
    core_down(f, 0);
    core_down(f, 1);
    rejoin_done(f, MEMBER);
    assert_broken_off(f, FENCE_REASON_BLANK);
    assert_int_equal(rejoin_member(f)->state, FENCE_MASTER_REFUSED);
}

/* Member 3 was admitted again meanwhile, and master @i knows; so does another. */
static void refuse_to_record(struct core_fixture *f, unsigned i)
{
    const struct fence_view known = core_view_after(OTHER, 10);
    core_hear(f, i == 2 ? 1 : 2, &known);
    rejoin_changed(f, i, &known);
}

static void refusal_to_record_teaches_the_view_and_begins_anew(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    refuse_to_record(f, 1);
    const struct fence_view known = core_view_after(OTHER, 10);
    /* Member 3 is of the past, by what was learnt. */
    const struct fence_rejoin_request *record = assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(3));
    assert_int_equal(record->view->incarnation[OTHER], known.incarnation[OTHER]);
    assert_int_equal(record->view->incarnation[MEMBER], rejoin_meant(f));
}

static void all_that_are_read_recorded_under_one_view(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    rejoin_done(f, 0);
    rejoin_done(f, 2);
    refuse_to_record(f, 1);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(3)); /* 0 and 2 again */
    rejoin_done(f, 1);
    assert_no_step(f);
    rejoin_done(f, 0);
    assert_no_step(f);
    rejoin_done(f, 2);
    const struct fence_view *read = assert_step(f, FENCE_REJOIN_READ, CORE_FIRST(3))->view;
    assert_int_equal(read->incarnation[OTHER], core_view_after(OTHER, 10).incarnation[OTHER]);
}

static void late_reply_of_an_earlier_round_is_dropped(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    refuse_to_record(f, 1);
    rejoin_done(f, 0); /* to the first round */
    rejoin_done(f, 2);
    rejoin_done(f, 1); /* to the second */
    assert_no_step(f);
    rejoin_done(f, 0);
    assert_no_step(f);
    rejoin_done(f, 2);
    assert_step(f, FENCE_REJOIN_READ, CORE_FIRST(3));
}

static void recording_that_is_refused_for_ever_is_put_off(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    unsigned rounds = 2; /* one for asking, and this one */
    while (rejoin_sent(f, FENCE_REJOIN_RECORD)) {
        assert_true(rounds <= FENCE_REJOIN_ROUNDS_MAX);
        rejoin_changed(f, 0, NULL);
        f->owed[1].count = f->owed[2].count = f->owed[3].count = 0;
        rounds++;
    }
    assert_broken_off(f, FENCE_REASON_BLANK);
    assert_int_equal(rounds, FENCE_REJOIN_ROUNDS_MAX + 1);
}

static void masters_that_do_not_record_in_time_are_silent(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    assert_int_equal(fence_core_deadline(f->core), f->now_us + FENCE_REJOIN_TIMEOUT_US);
    rejoin_done(f, 0);
    rejoin_done(f, 1);
    core_tick(f);
    const uint32_t silent = CORE_SET(2) | CORE_SET(3);
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), silent | CORE_SET(MEMBER));
    assert_int_equal(fence_fleet_active(fence_core_fleet(f->core)), CORE_FIRST(2));
    assert_int_equal(fence_core_fleet(f->core)->master[2].reason, FENCE_REASON_SILENT);
}

static void round_that_lost_too_many_is_not_waited_for(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    rejoin_cut_off(f, 0);
    assert_no_effects(f); /* three may do it yet */
    rejoin_cut_off(f, 1);
    assert_broken_off(f, FENCE_REASON_BLANK);
}

/* Its question went down with its connection. */
static void master_that_went_and_came_back_is_asked_again(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    rejoin_cut_off(f, 0);
    core_shake_hands(f, 0, core_facts(0));
    rejoin_done(f, 1);
    rejoin_done(f, 2);
    assert_no_step(f); /* the last of the four may do it yet */
    rejoin_cut_off(f, 3);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(3));
}

static void higher_incarnation_of_the_member_beats_this_leader(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    const struct fence_view known = core_view_after(MEMBER, 10);
    core_hear(f, 2, &known);
    rejoin_changed(f, 1, &known);
    assert_broken_off(f, FENCE_REASON_BLANK);
}

static void leader_that_was_beaten_waits_longer_before_the_next_try(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    const struct fence_view known = core_view_after(MEMBER, 10);
    core_hear(f, 2, &known);
    rejoin_changed(f, 1, &known);
    f->random = UINT64_C(0x123456789abcdef);
    core_shake_hands(f, MEMBER, rejoin_blank());
    assert_true(fence_core_deadline(f->core) > f->now_us + FENCE_REJOIN_DELAY_US);
    assert_true(fence_core_deadline(f->core) < f->now_us + FENCE_REJOIN_BEATEN_US);
}

static void higher_incarnation_stops_the_admission(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    rejoin_counters_come(f);
    rejoin_page(f, 0, "", 0);
    rejoin_page(f, 1, "", 0);
    struct fence_facts facts = core_facts(3);
    facts.view = core_view_after(MEMBER, 10);
    core_hear(f, 2, &facts.view);
    core_shake_hands(f, 3, facts);
    rejoin_page(f, 2, "", 0);
    assert_broken_off(f, FENCE_REASON_BLANK);
}

/* Three others are enough. */
static void what_one_master_alone_says_stops_no_leader(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    struct fence_view known = core_view_after(MEMBER, 10);
    known.incarnation[OTHER] = FENCE_INCARNATION_MAX;
    rejoin_changed(f, 1, &known);
    rejoin_drop_late(f);
    rejoin_changed(f, 1, &known); /* also to what it alone is named since */
    rejoin_done(f, 0);
    rejoin_done(f, 2);
    rejoin_done(f, 3);
    assert_step(f, FENCE_REJOIN_READ, CORE_FIRST(4) & ~CORE_SET(1));
}

/* It may be true where it is needed: the next mark is above it. */
static void next_mark_is_above_what_one_master_says_of_the_member(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    struct fence_view known = core_view_after(MEMBER, 10);
    rejoin_cut_off(f, 3);
    rejoin_changed(f, 1, &known);
    rejoin_drop_late(f);
    rejoin_changed(f, 1, &known);
    assert_broken_off(f, FENCE_REASON_BLANK);
    for (unsigned i = 0; i < 5; i++)
        f->owed[i].count = 0;
    core_shake_hands(f, MEMBER, rejoin_blank());
    core_tick(f);
    for (unsigned i = 0; i < 3; i++)
        rejoin_done(f, i);
    assert_step(f, FENCE_REJOIN_MARK, CORE_SET(MEMBER));
    assert_true(rejoin_meant(f) > known.incarnation[MEMBER]);
}

/* Master @i answers as it should: it records nothing for who knows less than itself. */
static void answer_honestly(struct core_fixture *f, unsigned i, struct fence_view *known)
{
    const struct core_step *asked = &f->owed[i].steps[0];
    struct fence_view named = asked->view;
    const bool knows_more = fence_view_merge(&named, known, 5);
    if (asked->step == FENCE_REJOIN_RECORD && knows_more) {
        rejoin_changed(f, i, known);
        return;
    }
    if (asked->step == FENCE_REJOIN_RECORD)
        (void)fence_view_merge(known, &asked->view, 5);
    rejoin_done(f, i);
}

/* The master that got its admission in the last step. */
static uint32_t admitted(const struct core_fixture *f)
{
    const uint32_t set = rejoin_sent(f, FENCE_REJOIN_ADMIT);
    for (unsigned member = OTHER; member <= MEMBER; member++) {
        if (!(set & CORE_SET(member)))
            continue;
        const struct fence_rejoin_request *admit = rejoin_request(f, FENCE_REJOIN_ADMIT, member);
        const int64_t meant = fence_core_fleet(f->core)->master[member].meant;
        assert_int_equal(admit->member, member);
        assert_int_equal(admit->incarnation, meant);
        assert_int_equal(admit->view->incarnation[member], meant);
    }
    return set;
}

/* Three are left of five, which are the majority of others of either. They refuse to record the
 * second that comes, since it does not name the first yet. */
static void two_members_are_taken_back_at_once(void **state)
{
    struct core_fixture *f = rejoin_delayed(state);
    struct fence_facts facts = core_facts(OTHER);
    facts.marked = false;
    core_down(f, OTHER);
    core_shake_hands(f, OTHER, facts);
    core_tick(f);
    core_tick(f);
    struct fence_view known[5];
    for (unsigned i = 0; i < 5; i++)
        known[i] = facts.view;
    uint32_t done = 0;
    for (unsigned turn = 0; turn < 64; turn++) {
        const unsigned i = turn % 5;
        if (f->owed[i].count == 0)
            continue;
        answer_honestly(f, i, &known[i]);
        done |= admitted(f);
        assert_int_equal(rejoin_sent(f, FENCE_REJOIN_READ) & ~CORE_FIRST(3), 0);
        assert_int_equal(rejoin_sent(f, FENCE_REJOIN_RECORD) & ~CORE_FIRST(3), 0);
    }
    assert_int_equal(done, CORE_SET(MEMBER) | CORE_SET(OTHER));
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(record_names_the_new_incarnation_and_the_view_of_the_others),
    CORE_CASE(masters_that_are_not_active_do_not_record),
    CORE_CASE(nothing_is_read_before_a_majority_of_others_recorded),
    CORE_CASE(recorded_incarnation_is_named_by_this_server),
    CORE_CASE(master_that_recorded_and_went_down_is_not_read),
    CORE_CASE(recording_is_put_off_while_too_few_others_are_active),
    CORE_CASE(refusal_to_record_teaches_the_view_and_begins_anew),
    CORE_CASE(all_that_are_read_recorded_under_one_view),
    CORE_CASE(late_reply_of_an_earlier_round_is_dropped),
    CORE_CASE(recording_that_is_refused_for_ever_is_put_off),
    CORE_CASE(masters_that_do_not_record_in_time_are_silent),
    CORE_CASE(round_that_lost_too_many_is_not_waited_for),
    CORE_CASE(master_that_went_and_came_back_is_asked_again),
    CORE_CASE(higher_incarnation_of_the_member_beats_this_leader),
    CORE_CASE(leader_that_was_beaten_waits_longer_before_the_next_try),
    CORE_CASE(higher_incarnation_stops_the_admission),
    CORE_CASE(what_one_master_alone_says_stops_no_leader),
    CORE_CASE(next_mark_is_above_what_one_master_says_of_the_member),
    CORE_CASE(two_members_are_taken_back_at_once),
};

CASE_MAIN(cases, NULL, NULL)
