/* Masters that forgot: what is asked of whom until one votes again, and what breaks it off. */
#include "fence/lease.h"
#include "tests/unit/fence/core_fixture.h"

#include <string.h>

enum {
    MEMBER = 4, /* of five: the one that forgot */
};

static const struct fence_master *member(const struct core_fixture *f)
{
    return &fence_core_fleet(f->core)->master[MEMBER];
}

static struct fence_facts blank(void)
{
    struct fence_facts facts = core_facts(MEMBER);
    facts.marked = false;
    memset(facts.run_id, 'b', FENCE_ID_HEX_LEN);
    return facts;
}

static struct fence_facts restarted(void)
{
    struct fence_facts facts = core_facts(MEMBER);
    memset(facts.run_id, 'e', FENCE_ID_HEX_LEN);
    return facts;
}

/* The step of this name was sent to exactly these masters. */
static const struct fence_rejoin_request *assert_step(const struct core_fixture *f,
                                                      enum fence_rejoin_step step, uint32_t masters)
{
    const struct fence_effect *effect = core_step(f);
    assert_non_null(effect);
    assert_int_equal(effect->rejoin.step, step);
    assert_int_equal(effect->rejoin.member, MEMBER);
    assert_int_equal(effect->masters, masters);
    return &effect->rejoin;
}

static void done(struct core_fixture *f, unsigned i)
{
    core_rejoin(f, i, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_DONE});
}

static void counted(struct core_fixture *f, unsigned i, int64_t number)
{
    static struct fence_counters counters;
    memset(&counters, 0, sizeof(counters));
    counters.slot[i] = number; /* each knows another slot best */
    counters.slot[100] = number;
    counters.floor = number;
    core_rejoin(f, i,
                (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_DONE, .counters = &counters});
}

static struct core_fixture *claiming(void **state, struct fence_facts facts)
{
    struct core_fixture *f = core_fixture_new(state, 5);
    core_down(f, MEMBER);
    core_shake_hands(f, MEMBER, facts);
    assert_no_effects(f);
    core_tick(f); /* after a short delay */
    assert_step(f, FENCE_REJOIN_CLAIM, CORE_SET(MEMBER));
    return f;
}

/* The others are asked first, under the view as it is. */
static struct core_fixture *asking(void **state)
{
    struct core_fixture *f = claiming(state, blank());
    done(f, MEMBER);
    done(f, MEMBER);
    const struct fence_view *view = assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4))->view;
    assert_int_equal(view->incarnation[MEMBER], core_facts(0).view.incarnation[MEMBER]);
    return f;
}

static void answer(struct core_fixture *f)
{
    for (unsigned i = 0; i < 3; i++)
        done(f, i);
}

static struct core_fixture *recording(void **state)
{
    struct core_fixture *f = asking(state);
    answer(f);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4));
    return f;
}

static struct core_fixture *holding(void **state)
{
    struct core_fixture *f = recording(state);
    for (unsigned i = 0; i < 3; i++)
        counted(f, i, 10 + i);
    assert_null(core_step(f));
    return f;
}

/* ---- the steps ------------------------------------------------------------------------------- */

static void blank_master_is_claimed_as_it_was_seen(void **state)
{
    struct core_fixture *f = claiming(state, blank());
    const struct fence_rejoin_request *claim = &core_step(f)->rejoin;
    assert_false(claim->keep_locks);
    assert_false(claim->seen->marked);
    assert_true(claim->nonce != 0);
    assert_int_equal(member(f)->state, FENCE_MASTER_REJOIN);
    assert_int_equal(member(f)->reason, FENCE_REASON_BLANK);
}

static void locks_are_wiped_until_the_cursor_is_back(void **state)
{
    struct core_fixture *f = claiming(state, blank());
    done(f, MEMBER);
    assert_int_equal(assert_step(f, FENCE_REJOIN_WIPE, CORE_SET(MEMBER))->cursor, 0);
    core_rejoin(f, MEMBER, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_DONE, .cursor = 77});
    assert_int_equal(assert_step(f, FENCE_REJOIN_WIPE, CORE_SET(MEMBER))->cursor, 77);
    done(f, MEMBER);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4));
}

static void record_names_the_new_incarnation_and_the_view_of_the_others(void **state)
{
    struct core_fixture *f = recording(state);
    const struct fence_view *view = core_step(f)->rejoin.view;
    assert_true(view->incarnation[MEMBER] > core_facts(0).view.incarnation[MEMBER]);
    for (unsigned i = 0; i < MEMBER; i++)
        assert_int_equal(view->incarnation[i], core_facts(0).view.incarnation[i]);
}

static void two_others_of_five_are_not_enough_to_be_read(void **state)
{
    struct core_fixture *f = recording(state);
    counted(f, 0, 10);
    counted(f, 3, 10);
    counted(f, 3, 10); /* twice is once */
    assert_int_equal(member(f)->state, FENCE_MASTER_REJOIN);
    assert_true(fence_core_deadline(f->core) <= f->now_us + FENCE_REJOIN_PATIENCE_US);
}

static void admission_waits_for_the_longest_lease(void **state)
{
    struct core_fixture *f = holding(state);
    const uint64_t hold_us = fence_hold_us(CORE_TTL_MAX_MS);
    assert_int_equal(fence_core_deadline(f->core), f->now_us + hold_us);
    assert_int_equal(member(f)->back_us, f->now_us + hold_us);
    core_tick(f);
    assert_step(f, FENCE_REJOIN_ADMIT, CORE_SET(MEMBER));
}

static void admission_brings_the_maxima_of_all_that_were_read(void **state)
{
    struct core_fixture *f = holding(state);
    core_tick(f);
    const struct fence_rejoin_request *admit = assert_step(f, FENCE_REJOIN_ADMIT, CORE_SET(MEMBER));
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(admit->counters->slot[i], 10 + i);
    assert_int_equal(admit->counters->slot[3], 0);
    assert_int_equal(admit->counters->slot[100], 12);
    assert_int_equal(admit->counters->floor, 12);
}

static void admitted_master_votes_after_another_handshake(void **state)
{
    struct core_fixture *f = holding(state);
    core_tick(f);
    struct fence_facts facts = blank();
    facts.marked = true;
    facts.view = *core_step(f)->rejoin.view;
    memcpy(facts.marked_run_id, facts.run_id, sizeof(facts.run_id));
    done(f, MEMBER);
    assert_int_equal(core_effect(f, FENCE_EFFECT_SHAKE), CORE_SET(MEMBER));
    assert_int_equal(fence_fleet_active(fence_core_fleet(f->core)), CORE_FIRST(4));
    core_shake_hands(f, MEMBER, facts);
    assert_int_equal(fence_fleet_active(fence_core_fleet(f->core)), CORE_FIRST(5));
    assert_true(fence_core_deadline(f->core) == FENCE_NEVER);
}

static void durable_master_keeps_its_locks_and_does_not_wait(void **state)
{
    struct core_fixture *f = claiming(state, restarted());
    assert_true(core_step(f)->rejoin.keep_locks);
    done(f, MEMBER);
    answer(f);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4));
    for (unsigned i = 0; i < 3; i++)
        counted(f, i, 10);
    assert_step(f, FENCE_REJOIN_ADMIT, CORE_SET(MEMBER));
}

/* ---- what breaks it off ---------------------------------------------------------------------- */

static void marker_that_changed_is_looked_at_again(void **state)
{
    struct core_fixture *f = claiming(state, blank());
    core_rejoin(f, MEMBER, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_CHANGED});
    assert_int_equal(core_effect(f, FENCE_EFFECT_SHAKE), CORE_SET(MEMBER));
    assert_true(fence_core_deadline(f->core) == FENCE_NEVER);
}

static void each_try_has_a_nonce_of_its_own(void **state)
{
    struct core_fixture *f = claiming(state, blank());
    const uint64_t first = core_step(f)->rejoin.nonce;
    core_down(f, MEMBER);
    struct fence_facts facts = blank();
    facts.marked = true;
    facts.marked_active = false;
    facts.nonce = first;
    core_shake_hands(f, MEMBER, facts);
    core_tick(f);
    const struct fence_rejoin_request *claim = assert_step(f, FENCE_REJOIN_CLAIM, CORE_SET(MEMBER));
    assert_true(claim->nonce != first);
    assert_int_equal(claim->seen->nonce, first);
}

static void broken_connection_begins_anew_even_while_holding(void **state)
{
    struct core_fixture *f = holding(state);
    core_down(f, MEMBER);
    assert_true(fence_core_deadline(f->core) == FENCE_NEVER);
    assert_int_equal(member(f)->state, FENCE_MASTER_DOWN);
}

/* Another member turns out to be another: what was read until now is void. */
static void begin_another_round(struct core_fixture *f)
{
    struct fence_view known = core_facts(0).view;
    known.incarnation[3] += CORE_MACHINES(10);
    core_rejoin(f, 1, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_CHANGED, .view = &known});
}

static void late_reply_of_an_earlier_round_does_not_count(void **state)
{
    struct core_fixture *f = recording(state);
    const uint64_t old = f->rejoin_tag;
    begin_another_round(f);
    answer(f);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(3)); /* 3 is out, by what was learnt */
    const uint64_t round = f->rejoin_tag;
    f->rejoin_tag = old;
    for (unsigned i = 0; i < 3; i++)
        counted(f, i, 10);
    f->rejoin_tag = round;
    counted(f, 0, 10);
    counted(f, 1, 10);
    assert_int_equal(fence_core_deadline(f->core), f->now_us + FENCE_REJOIN_PATIENCE_US);
    counted(f, 2, 10);
    assert_int_equal(fence_core_deadline(f->core), f->now_us + fence_hold_us(CORE_TTL_MAX_MS));
}

static void refusal_to_record_teaches_the_view_and_begins_another_round(void **state)
{
    struct core_fixture *f = recording(state);
    const int64_t incarnation = core_step(f)->rejoin.view->incarnation[MEMBER];
    begin_another_round(f);
    answer(f);
    const struct fence_view *view = assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(3))->view;
    assert_int_equal(view->incarnation[3], core_facts(0).view.incarnation[3] + CORE_MACHINES(10));
    assert_int_equal(view->incarnation[MEMBER], incarnation); /* the one in the member's marker */
}

/* It hangs, and nobody has noticed so far. Were the incarnation recorded at the others by now, and
 * nobody to end it, what this master remembers would be of no use any more. */
static void nothing_is_recorded_before_enough_others_answer(void **state)
{
    struct core_fixture *f = asking(state);
    done(f, 0);
    done(f, 1);
    core_tick(f);
    assert_null(core_step(f));
    assert_int_equal(fence_core_fleet(f->core)->view.incarnation[MEMBER],
                     core_facts(0).view.incarnation[MEMBER]);
    assert_int_equal(fence_fleet_active(fence_core_fleet(f->core)), CORE_FIRST(2));
}

static void masters_that_do_not_record_in_time_are_given_up(void **state)
{
    struct core_fixture *f = recording(state);
    counted(f, 0, 10);
    counted(f, 1, 10);
    core_tick(f);
    const uint32_t silent = CORE_SET(2) | CORE_SET(3);
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET) & silent, silent);
    assert_int_equal(fence_fleet_active(fence_core_fleet(f->core)), CORE_FIRST(2));
}

static void round_that_lost_too_many_is_not_waited_for(void **state)
{
    struct core_fixture *f = recording(state);
    core_down(f, 0);
    core_rejoin(f, 0, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_LOST});
    assert_no_effects(f); /* three may do it yet */
    core_down(f, 1);
    core_rejoin(f, 1, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_LOST});
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(MEMBER));
    assert_int_equal(member(f)->reason, FENCE_REASON_BLANK);
}

/* What it was asked went down with its connection. */
static void master_that_went_and_came_back_is_asked_again(void **state)
{
    struct core_fixture *f = recording(state);
    core_down(f, 0);
    core_rejoin(f, 0, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_LOST});
    core_shake_hands(f, 0, core_facts(0));
    counted(f, 1, 11);
    counted(f, 2, 12);
    assert_no_effects(f); /* the last of the four may do it yet */
    core_down(f, 3);
    core_rejoin(f, 3, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_LOST});
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(3));
}

static void counters_are_read_in_parts(void **state)
{
    struct core_fixture *f = recording(state);
    static struct fence_counters part;
    part.slot[5] = 8;
    for (unsigned i = 0; i < 3; i++)
        core_rejoin(f, i,
                    (struct fence_rejoin_reply){
                        .outcome = FENCE_REJOIN_DONE, .counters = &part, .cursor = 1024});
    assert_int_equal(assert_step(f, FENCE_REJOIN_RECORD, CORE_SET(2))->cursor, 1024);
    for (unsigned i = 0; i < 3; i++)
        counted(f, i, 7);
    core_tick(f);
    const struct fence_rejoin_request *admit = assert_step(f, FENCE_REJOIN_ADMIT, CORE_SET(MEMBER));
    assert_int_equal(admit->counters->slot[5], 8);
    assert_int_equal(admit->counters->slot[100], 7);
}

static void claim_is_above_what_an_earlier_leader_meant_for_one_that_forgot(void **state)
{
    struct fence_facts facts = restarted();
    facts.durable = false;
    facts.next = INT64_C(1) << 40;
    struct core_fixture *f = claiming(state, facts);
    assert_true(core_step(f)->rejoin.incarnation > facts.next);
}

/* So no recording of it hides that another machine was admitted meanwhile. */
static void one_that_keeps_its_locks_stays_the_same_machine(void **state)
{
    struct core_fixture *f = claiming(state, restarted());
    const int64_t own = core_facts(0).view.incarnation[MEMBER];
    assert_true(core_step(f)->rejoin.incarnation > own);
    assert_true(fence_incarnation_same_machine(core_step(f)->rejoin.incarnation, own));
    f = claiming(state, blank());
    assert_false(fence_incarnation_same_machine(core_step(f)->rejoin.incarnation, own));
}

/* After so many turns it has to come back empty: there is no incarnation left for it. */
static void one_that_came_back_too_often_keeps_nothing(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 5);
    struct fence_facts facts = restarted();
    facts.view.incarnation[MEMBER] += CORE_MACHINES(1) - 1;
    core_down(f, MEMBER);
    core_shake_hands(f, MEMBER, facts);
    core_tick(f);
    const struct fence_rejoin_request *claim = assert_step(f, FENCE_REJOIN_CLAIM, CORE_SET(MEMBER));
    assert_false(claim->keep_locks);
    assert_true(claim->incarnation > facts.view.incarnation[MEMBER]);
}

/* Another machine was admitted between the look at this one and the claim: what this one kept is
 * not all. */
static void claim_is_not_made_for_one_that_was_replaced_meanwhile(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 5);
    core_down(f, MEMBER);
    core_shake_hands(f, MEMBER, restarted());
    struct fence_facts facts = core_facts(0);
    facts.view.incarnation[MEMBER] += CORE_MACHINES(1);
    core_shake_hands(f, 0, facts);
    core_tick(f);
    assert_null(core_step(f));
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(MEMBER));
}

static void incarnation_that_nothing_can_follow_is_no_crash(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 5);
    struct fence_facts facts = core_facts(0);
    facts.view.incarnation[MEMBER] = FENCE_INCARNATION_MAX + 1;
    core_shake_hands(f, 0, facts);
    core_shake_hands(f, MEMBER, blank());
    core_tick(f);
    assert_null(core_step(f));
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(MEMBER));
}

/* Another machine is that member by now, or another server leads: even a master that kept its locks
 * must not vote by what this server knows of it. */
static void higher_incarnation_of_the_member_breaks_the_rejoin_off(void **state)
{
    struct core_fixture *f = claiming(state, restarted());
    done(f, MEMBER);
    struct fence_view known = core_facts(0).view;
    known.incarnation[MEMBER] += INT64_C(1) << 40;
    core_rejoin(f, 1, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_CHANGED, .view = &known});
    assert_null(core_step(f));
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(MEMBER));
}

static struct core_fixture *told_while_asking(void **state, int64_t more)
{
    struct core_fixture *f = claiming(state, restarted());
    done(f, MEMBER);
    struct fence_view known = core_facts(0).view;
    known.incarnation[MEMBER] += more;
    core_rejoin(f, 1, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_CHANGED, .view = &known});
    return f;
}

static void master_that_keeps_its_locks_gives_way_to_another_machine(void **state)
{
    struct core_fixture *f = told_while_asking(state, CORE_MACHINES(1));
    assert_null(core_step(f));
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(MEMBER));
}

static void what_an_earlier_leader_recorded_for_it_is_no_other_machine(void **state)
{
    struct core_fixture *f = told_while_asking(state, 1);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4));
}

static void server_that_was_beaten_waits_before_it_claims_again(void **state)
{
    struct core_fixture *f = recording(state);
    struct fence_view known = core_facts(0).view;
    known.incarnation[MEMBER] += INT64_C(1) << 40;
    core_rejoin(f, 1, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_CHANGED, .view = &known});
    f->random = UINT64_C(0x123456789abcdef);
    core_shake_hands(f, MEMBER, blank());
    assert_true(fence_core_deadline(f->core) > f->now_us + FENCE_REJOIN_DELAY_US);
    assert_true(fence_core_deadline(f->core) < f->now_us + fence_hold_us(CORE_TTL_MAX_MS));
}

static void masters_are_read_under_one_view_of_the_others(void **state)
{
    struct core_fixture *f = recording(state);
    counted(f, 0, 10);
    begin_another_round(f);
    answer(f);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(3));
    counted(f, 1, 10);
    counted(f, 2, 10);
    assert_int_equal(fence_core_deadline(f->core), f->now_us + FENCE_REJOIN_PATIENCE_US);
}

static void rejoin_is_put_off_while_too_few_others_are_active(void **state)
{
    struct core_fixture *f = claiming(state, blank());
    core_down(f, 0);
    core_down(f, 1);
    done(f, MEMBER);
    done(f, MEMBER);
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(MEMBER));
    assert_int_equal(member(f)->state, FENCE_MASTER_REFUSED);
    assert_int_equal(member(f)->reason, FENCE_REASON_BLANK);
}

static void silent_member_is_reset(void **state)
{
    struct core_fixture *f = claiming(state, blank());
    core_tick(f);
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(MEMBER));
    assert_int_equal(member(f)->reason, FENCE_REASON_SILENT);
}

static void higher_incarnation_recorded_meanwhile_stops_the_admission(void **state)
{
    struct core_fixture *f = holding(state);
    struct fence_facts facts = core_facts(0);
    facts.view.incarnation[MEMBER] += INT64_C(1) << 40;
    core_shake_hands(f, 0, facts);
    core_tick(f);
    assert_null(core_step(f));
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(MEMBER));
}

/* All restarted but one that is still away. It comes back while the first is read, and knows of it
 * that it was about to be another turn: the first has to be restamped, and meanwhile takes no
 * questions. */
static void master_that_is_taken_back_itself_is_asked_for_no_more_counters(void **state)
{
    enum {
        READ = 0,
        AWAY = 3
    };
    static const struct fence_counters counters;
    struct core_fixture *f = core_fixture_new_down(state, 5);
    for (unsigned i = 0; i < AWAY; i++)
        core_shake_hands(f, i, core_facts(i));
    core_shake_hands(f, MEMBER, blank());
    core_tick(f);
    assert_step(f, FENCE_REJOIN_CLAIM, CORE_SET(MEMBER));
    done(f, MEMBER);
    done(f, MEMBER);
    for (unsigned i = 0; i < AWAY; i++)
        done(f, i);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(AWAY));

    struct fence_facts away = core_facts(AWAY);
    memset(away.run_id, 'e', FENCE_ID_HEX_LEN);
    away.view.incarnation[READ] += 1;
    core_shake_hands(f, AWAY, away);
    assert_true(core_effect(f, FENCE_EFFECT_RESTAMP) & CORE_SET(READ));
    core_rejoin(f, READ,
                (struct fence_rejoin_reply){
                    .outcome = FENCE_REJOIN_DONE, .counters = &counters, .cursor = 1024});
    assert_null(core_step(f));
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(blank_master_is_claimed_as_it_was_seen),
    CORE_CASE(locks_are_wiped_until_the_cursor_is_back),
    CORE_CASE(record_names_the_new_incarnation_and_the_view_of_the_others),
    CORE_CASE(two_others_of_five_are_not_enough_to_be_read),
    CORE_CASE(admission_waits_for_the_longest_lease),
    CORE_CASE(admission_brings_the_maxima_of_all_that_were_read),
    CORE_CASE(admitted_master_votes_after_another_handshake),
    CORE_CASE(durable_master_keeps_its_locks_and_does_not_wait),
    CORE_CASE(marker_that_changed_is_looked_at_again),
    CORE_CASE(each_try_has_a_nonce_of_its_own),
    CORE_CASE(broken_connection_begins_anew_even_while_holding),
    CORE_CASE(late_reply_of_an_earlier_round_does_not_count),
    CORE_CASE(refusal_to_record_teaches_the_view_and_begins_another_round),
    CORE_CASE(nothing_is_recorded_before_enough_others_answer),
    CORE_CASE(masters_that_do_not_record_in_time_are_given_up),
    CORE_CASE(round_that_lost_too_many_is_not_waited_for),
    CORE_CASE(master_that_went_and_came_back_is_asked_again),
    CORE_CASE(counters_are_read_in_parts),
    CORE_CASE(master_that_is_taken_back_itself_is_asked_for_no_more_counters),
    CORE_CASE(claim_is_above_what_an_earlier_leader_meant_for_one_that_forgot),
    CORE_CASE(one_that_keeps_its_locks_stays_the_same_machine),
    CORE_CASE(one_that_came_back_too_often_keeps_nothing),
    CORE_CASE(claim_is_not_made_for_one_that_was_replaced_meanwhile),
    CORE_CASE(incarnation_that_nothing_can_follow_is_no_crash),
    CORE_CASE(higher_incarnation_of_the_member_breaks_the_rejoin_off),
    CORE_CASE(master_that_keeps_its_locks_gives_way_to_another_machine),
    CORE_CASE(what_an_earlier_leader_recorded_for_it_is_no_other_machine),
    CORE_CASE(server_that_was_beaten_waits_before_it_claims_again),
    CORE_CASE(masters_are_read_under_one_view_of_the_others),
    CORE_CASE(rejoin_is_put_off_while_too_few_others_are_active),
    CORE_CASE(silent_member_is_reset),
    CORE_CASE(higher_incarnation_recorded_meanwhile_stops_the_admission),
};

CASE_MAIN(cases, NULL, NULL)
