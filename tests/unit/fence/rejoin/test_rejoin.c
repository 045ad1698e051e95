/* Taking a master back: the steps from the first question to its admission, and which incarnation
 * it gets. Recording, importing and holding have files of their own. */
#include "tests/unit/fence/rejoin/rejoin_fixture.h"

#include <string.h>

static void rejoin_begins_after_a_short_random_delay(void **state)
{
    struct core_fixture *f = rejoin_delayed(state);
    uint64_t first_us = fence_core_deadline(f->core) - f->now_us;
    assert_true(first_us < FENCE_REJOIN_DELAY_US);
    unsigned other = 0;
    for (unsigned again = 0; again < 8; again++) {
        rejoin_begins(f, rejoin_blank());
        uint64_t delay_us = fence_core_deadline(f->core) - f->now_us;
        assert_true(delay_us < FENCE_REJOIN_DELAY_US);
        other += delay_us != first_us;
    }
    assert_true(other > 0);
}

/* Under the view as it is, so that their answer records nothing. */
static void others_are_asked_before_the_member_is_marked(void **state)
{
    struct core_fixture *f = rejoin_delayed(state);
    core_tick(f);
    const struct fence_rejoin_request *ask = assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4));
    assert_int_equal(ask->view->incarnation[MEMBER], rejoin_before());
    rejoin_done(f, 0);
    rejoin_done(f, 3);
    assert_no_effects(f);
    rejoin_done(f, 1);
    assert_step(f, FENCE_REJOIN_MARK, CORE_SET(MEMBER));
}

static void nothing_is_marked_while_too_few_others_answer(void **state)
{
    struct core_fixture *f = rejoin_asking(state);
    rejoin_done(f, 0);
    rejoin_done(f, 1);
    core_tick(f);
    assert_broken_off(f, FENCE_REASON_BLANK);
    assert_int_equal(rejoin_member(f)->meant, 0);
    assert_int_equal(fence_fleet_active(fence_core_fleet(f->core)), CORE_FIRST(2));
}

static void nobody_is_asked_while_too_few_others_are_active(void **state)
{
    struct core_fixture *f = rejoin_delayed(state);
    core_down(f, 0);
    core_down(f, 1);
    core_tick(f);
    assert_broken_off(f, FENCE_REASON_BLANK);
    assert_int_equal(rejoin_member(f)->state, FENCE_MASTER_REFUSED);
}

static void masters_that_are_not_active_are_not_asked(void **state)
{
    struct core_fixture *f = rejoin_delayed(state);
    core_down(f, 2);
    core_tick(f);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4) & ~CORE_SET(2));
}

static void master_that_knows_more_is_asked_again_under_its_view(void **state)
{
    struct core_fixture *f = rejoin_asking(state);
    const struct fence_view known = core_view_after(MEMBER, 3);
    core_hear(f, 2, &known);
    rejoin_changed(f, 1, &known);
    const struct fence_rejoin_request *ask = assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4));
    assert_int_equal(ask->view->incarnation[MEMBER], known.incarnation[MEMBER]);
}

static void mark_is_made_only_of_what_was_seen(void **state)
{
    struct core_fixture *f = rejoin_marking(state);
    const struct fence_rejoin_request *mark = assert_step(f, FENCE_REJOIN_MARK, CORE_SET(MEMBER));
    const struct fence_facts seen = rejoin_blank();
    assert_memory_equal(mark->seen->server_id, seen.server_id, sizeof(seen.server_id));
    assert_false(mark->seen->marked);
    assert_string_equal(mark->fleet_id, core_facts(0).fleet_id);
    assert_int_equal(mark->ttl_max_ms, CORE_TTL_MAX_MS);
    assert_int_equal(mark->incarnation, rejoin_meant(f));
    assert_true(mark->incarnation > rejoin_before());
    for (unsigned i = 0; i < MEMBER; i++)
        assert_int_equal(mark->view->incarnation[i], core_facts(0).view.incarnation[i]);
}

/* The member comes back with @facts; what is the mark that it gets now? */
static int64_t next_mark(struct core_fixture *f, struct fence_facts facts)
{
    rejoin_begins(f, facts);
    for (unsigned i = 0; i < MEMBER; i++)
        f->owed[i].count = 0;
    core_tick(f);
    rejoin_majority_answers(f);
    return assert_step(f, FENCE_REJOIN_MARK, CORE_SET(MEMBER))->incarnation;
}

static void each_mark_has_a_higher_incarnation(void **state)
{
    struct core_fixture *f = rejoin_marking(state);
    const int64_t first = rejoin_meant(f);
    const int64_t second = next_mark(f, rejoin_marked(first));
    assert_true(second > first);
    assert_true(next_mark(f, rejoin_marked(second)) > second);
}

/* Others may still be about to record it. */
static void mark_is_above_one_that_the_member_forgot(void **state)
{
    struct core_fixture *f = rejoin_marking(state);
    const int64_t first = rejoin_meant(f);
    assert_true(next_mark(f, rejoin_blank()) > first);
}

static void mark_is_above_the_one_of_another_leader(void **state)
{
    struct core_fixture *f = rejoin_delayed(state);
    struct fence_facts facts = rejoin_restarted();
    facts.next = rejoin_before() + CORE_ADMISSIONS(7);
    assert_true(next_mark(f, facts) > facts.next);
}

static void mark_is_above_what_the_member_was(void **state)
{
    struct core_fixture *f = rejoin_delayed(state);
    struct fence_facts facts = rejoin_restarted();
    facts.view.incarnation[MEMBER] += CORE_ADMISSIONS(7);
    assert_true(next_mark(f, facts) > facts.view.incarnation[MEMBER]);
}

static void mark_is_above_what_others_recorded(void **state)
{
    struct core_fixture *f = rejoin_delayed(state);
    struct fence_facts facts = core_facts(0);
    facts.view.incarnation[MEMBER] += CORE_ADMISSIONS(7);
    core_shake_hands(f, 0, facts);
    assert_true(next_mark(f, rejoin_blank()) > facts.view.incarnation[MEMBER]);
}

static const struct fence_rejoin_request *mark_of(struct core_fixture *f)
{
    core_tick(f);
    rejoin_majority_answers(f);
    return assert_step(f, FENCE_REJOIN_MARK, CORE_SET(MEMBER));
}

/* The member is at its place with @facts when its rejoin begins. */
static const struct fence_rejoin_request *mark_with(void **state, struct fence_facts facts)
{
    struct core_fixture *f = rejoin_delayed(state);
    rejoin_begins(f, facts);
    return mark_of(f);
}

static void member_that_restarted_is_marked_within_its_memory(void **state)
{
    const struct fence_rejoin_request *mark = mark_with(state, rejoin_restarted());
    assert_true(mark->keeps);
    assert_true(fence_incarnation_same_memory(mark->incarnation, rejoin_before()));
}

static void another_try_is_within_the_same_memory(void **state)
{
    struct core_fixture *f = rejoin_delayed(state);
    rejoin_begins(f, rejoin_restarted());
    const int64_t first = mark_of(f)->incarnation;
    rejoin_begins(f, rejoin_marked(first));
    for (unsigned i = 0; i < MEMBER; i++)
        f->owed[i].count = 0;
    const struct fence_rejoin_request *mark = mark_of(f);
    assert_true(mark->keeps);
    assert_true(mark->incarnation > first);
    assert_true(fence_incarnation_same_memory(mark->incarnation, first));
}

static void member_that_forgot_is_marked_with_a_new_memory(void **state)
{
    const struct fence_rejoin_request *mark = mark_with(state, rejoin_blank());
    assert_false(mark->keeps);
    assert_false(fence_incarnation_same_memory(mark->incarnation, rejoin_before()));
}

/* Another server may have taken back a replacement under an incarnation between. */
static void member_is_marked_as_one_that_forgot_where_a_replacement_is_heard_of(void **state)
{
    struct core_fixture *f = rejoin_delayed(state);
    struct fence_facts facts = core_facts(0);
    facts.view.incarnation[MEMBER] += CORE_ADMISSIONS(1);
    core_shake_hands(f, 0, facts);
    rejoin_begins(f, rejoin_restarted());
    const struct fence_rejoin_request *mark = mark_of(f);
    assert_false(mark->keeps);
    assert_true(mark->incarnation > facts.view.incarnation[MEMBER]);
}

/* Another server took it back meanwhile, and all that it has since is on its disk. */
static void mark_that_the_member_refused_is_no_memory(void **state)
{
    struct core_fixture *f = rejoin_marking(state);
    rejoin_changed(f, MEMBER, NULL);
    rejoin_begins(f, rejoin_restarted());
    for (unsigned i = 0; i < MEMBER; i++)
        f->owed[i].count = 0;
    const struct fence_rejoin_request *mark = mark_of(f);
    assert_true(mark->keeps);
    assert_true(fence_incarnation_same_memory(mark->incarnation, rejoin_before()));
}

/* The other machine at the address may have been marked, and its record be on its way. */
static void mark_without_an_answer_may_be_a_memory(void **state)
{
    struct core_fixture *f = rejoin_marking(state);
    const int64_t meant = rejoin_meant(f);
    rejoin_begins(f, rejoin_restarted());
    for (unsigned i = 0; i < MEMBER; i++)
        f->owed[i].count = 0;
    const struct fence_rejoin_request *mark = mark_of(f);
    assert_false(mark->keeps);
    assert_true(mark->incarnation > meant);
}

static void member_whose_tries_are_used_up_is_marked_as_one_that_forgot(void **state)
{
    const int64_t last = rejoin_before() | ((1 << FENCE_INCARNATION_TRY_BITS) - 1);
    struct fence_facts facts = rejoin_restarted();
    facts.view.incarnation[MEMBER] = last;
    const struct fence_rejoin_request *mark = mark_with(state, facts);
    assert_false(mark->keeps);
    assert_true(mark->incarnation > last);
}

static void incarnation_that_nothing_can_follow_is_no_crash(void **state)
{
    struct core_fixture *f = rejoin_delayed(state);
    for (unsigned i = 0; i < 2; i++) {
        struct fence_facts facts = core_facts(i);
        facts.view.incarnation[MEMBER] = FENCE_INCARNATION_MAX;
        core_shake_hands(f, i, facts);
    }
    core_tick(f);
    rejoin_majority_answers(f);
    assert_broken_off(f, FENCE_REASON_BLANK);
}

static void marker_that_is_not_the_one_seen_is_looked_at_again(void **state)
{
    struct core_fixture *f = rejoin_marking(state);
    rejoin_changed(f, MEMBER, NULL);
    assert_shaken(f);
}

static void all_locks_are_cleared_before_anything_is_recorded(void **state)
{
    struct core_fixture *f = rejoin_marking(state);
    rejoin_done(f, MEMBER);
    const struct fence_rejoin_request *clear = assert_step(f, FENCE_REJOIN_CLEAR, CORE_SET(MEMBER));
    assert_int_equal(clear->cursor, 0);
    assert_int_equal(clear->incarnation, rejoin_meant(f));
    rejoin_done_until(f, MEMBER, 77);
    assert_int_equal(assert_step(f, FENCE_REJOIN_CLEAR, CORE_SET(MEMBER))->cursor, 77);
    rejoin_done_until(f, MEMBER, 5);
    assert_int_equal(assert_step(f, FENCE_REJOIN_CLEAR, CORE_SET(MEMBER))->cursor, 5);
    rejoin_done(f, MEMBER);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4));
}

static void mark_that_was_replaced_stops_the_clearing(void **state)
{
    struct core_fixture *f = rejoin_clearing(state);
    rejoin_changed(f, MEMBER, NULL);
    assert_shaken(f);
}

static void admission_names_the_incarnation_and_the_view(void **state)
{
    struct core_fixture *f = rejoin_admitting(state);
    const struct fence_rejoin_request *admit = assert_step(f, FENCE_REJOIN_ADMIT, CORE_SET(MEMBER));
    assert_int_equal(admit->incarnation, rejoin_meant(f));
    assert_int_equal(admit->view->incarnation[MEMBER], rejoin_meant(f));
    for (unsigned i = 0; i < MEMBER; i++)
        assert_int_equal(admit->view->incarnation[i], core_facts(0).view.incarnation[i]);
}

static void admission_names_the_steps_that_were_done(void **state)
{
    struct core_fixture *f = rejoin_clearing(state);
    rejoin_done_until(f, MEMBER, 77);
    rejoin_done(f, MEMBER);
    rejoin_majority_answers(f);
    f->owed[3].count = 0;
    for (unsigned i = 0; i < SOURCES; i++)
        rejoin_page(f, i, "counters", 0);
    rejoin_locks_come(f);
    for (unsigned i = 0; i < SOURCES; i++)
        rejoin_done(f, MEMBER);
    const struct fence_rejoin_request *admit = assert_step(f, FENCE_REJOIN_ADMIT, CORE_SET(MEMBER));
    assert_int_equal(admit->steps, 2 + 3);
}

static void steps_are_counted_from_the_mark(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    rejoin_begins(f, rejoin_marked(rejoin_meant(f)));
    rejoin_goes_well(f);
    rejoin_counters_come(f);
    rejoin_locks_come(f);
    assert_int_equal(assert_step(f, FENCE_REJOIN_ADMIT, CORE_SET(MEMBER))->steps, 1);
}

static void admitted_master_votes_after_another_handshake(void **state)
{
    struct core_fixture *f = rejoin_admitting(state);
    assert_int_equal(fence_core_counts(f->core)->rejoins[MEMBER], 0);
    rejoin_done(f, MEMBER);
    assert_shaken(f);
    assert_int_equal(fence_core_counts(f->core)->rejoins[MEMBER], 1);
    assert_int_equal(fence_fleet_active(fence_core_fleet(f->core)), CORE_FIRST(4));
    struct fence_facts facts = rejoin_restarted();
    facts.view = fence_core_fleet(f->core)->view;
    memcpy(facts.marked_server_id, facts.server_id, sizeof(facts.server_id));
    core_shake_hands(f, MEMBER, facts);
    assert_no_effects(f);
    assert_int_equal(fence_fleet_active(fence_core_fleet(f->core)), CORE_FIRST(5));
    assert_true(fence_core_deadline(f->core) == FENCE_NEVER);
}

static void admission_that_is_refused_is_looked_at_again(void **state)
{
    struct core_fixture *f = rejoin_admitting(state);
    rejoin_changed(f, MEMBER, NULL);
    assert_shaken(f);
}

static struct core_fixture *(*const waits_for_the_member[])(void **state) = {
    rejoin_marking,
    rejoin_clearing,
    rejoin_admitting,
};

static void silent_member_is_left_alone(void **state)
{
    for (unsigned k = 0; k < 3; k++) {
        struct core_fixture *f = waits_for_the_member[k](state);
        assert_int_equal(fence_core_deadline(f->core), f->now_us + FENCE_REJOIN_TIMEOUT_US);
        core_tick(f);
        assert_broken_off(f, FENCE_REASON_SILENT);
        assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(MEMBER));
    }
}

static void member_that_answers_with_an_error_is_left_alone(void **state)
{
    for (unsigned k = 0; k < 3; k++) {
        struct core_fixture *f = waits_for_the_member[k](state);
        rejoin_reply(f, MEMBER, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_LOST});
        assert_broken_off(f, FENCE_REASON_UNREACHABLE);
    }
}

static void lost_member_is_begun_anew(void **state)
{
    static struct core_fixture *(*const at[])(void **) = {
        rejoin_delayed,   rejoin_asking,    rejoin_marking,   rejoin_clearing,
        rejoin_recording, rejoin_importing, rejoin_admitting,
    };
    for (unsigned k = 0; k < sizeof(at) / sizeof(at[0]); k++) {
        struct core_fixture *f = at[k](state);
        rejoin_cut_off(f, MEMBER);
        assert_no_effects(f);
        assert_true(fence_core_deadline(f->core) == FENCE_NEVER);
        assert_int_equal(rejoin_member(f)->state, FENCE_MASTER_DOWN);
        core_shake_hands(f, MEMBER, rejoin_blank());
        core_tick(f);
        const struct fence_rejoin_request *ask = assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4));
        assert_ptr_equal(ask->view, &fence_core_fleet(f->core)->view); /* as it is */
    }
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(rejoin_begins_after_a_short_random_delay),
    CORE_CASE(others_are_asked_before_the_member_is_marked),
    CORE_CASE(nothing_is_marked_while_too_few_others_answer),
    CORE_CASE(nobody_is_asked_while_too_few_others_are_active),
    CORE_CASE(masters_that_are_not_active_are_not_asked),
    CORE_CASE(master_that_knows_more_is_asked_again_under_its_view),
    CORE_CASE(mark_is_made_only_of_what_was_seen),
    CORE_CASE(each_mark_has_a_higher_incarnation),
    CORE_CASE(mark_is_above_one_that_the_member_forgot),
    CORE_CASE(mark_is_above_the_one_of_another_leader),
    CORE_CASE(mark_is_above_what_the_member_was),
    CORE_CASE(mark_is_above_what_others_recorded),
    CORE_CASE(member_that_restarted_is_marked_within_its_memory),
    CORE_CASE(another_try_is_within_the_same_memory),
    CORE_CASE(member_that_forgot_is_marked_with_a_new_memory),
    CORE_CASE(mark_that_the_member_refused_is_no_memory),
    CORE_CASE(mark_without_an_answer_may_be_a_memory),
    CORE_CASE(member_is_marked_as_one_that_forgot_where_a_replacement_is_heard_of),
    CORE_CASE(member_whose_tries_are_used_up_is_marked_as_one_that_forgot),
    CORE_CASE(incarnation_that_nothing_can_follow_is_no_crash),
    CORE_CASE(marker_that_is_not_the_one_seen_is_looked_at_again),
    CORE_CASE(all_locks_are_cleared_before_anything_is_recorded),
    CORE_CASE(mark_that_was_replaced_stops_the_clearing),
    CORE_CASE(admission_names_the_incarnation_and_the_view),
    CORE_CASE(admission_names_the_steps_that_were_done),
    CORE_CASE(steps_are_counted_from_the_mark),
    CORE_CASE(admitted_master_votes_after_another_handshake),
    CORE_CASE(admission_that_is_refused_is_looked_at_again),
    CORE_CASE(silent_member_is_left_alone),
    CORE_CASE(member_that_answers_with_an_error_is_left_alone),
    CORE_CASE(lost_member_is_begun_anew),
};

CASE_MAIN(cases, NULL, NULL)
