/* Positions: a master that comes back behind the one that it showed has lost writes, and is not
 * believed for want of others. */
#include "tests/unit/fence/fleet/fleet_fixture.h"

#include <string.h>

enum {
    OLD = 0, /* the first of three masters: the one that comes back, */
    TOLD,    /* the one that is there, */
    SILENT,  /* and the one that is not */

    WRITES = 7,
    LATER_US = FLEET_NOW_US + 2 * FENCE_TRUST_GRACE_US,
    TOLD_US = FENCE_ANSWER_US + FENCE_TELLING_US,
};

static struct fence_facts facts_at(unsigned i, int64_t writes)
{
    struct fence_facts facts = core_facts(i);
    facts.writes = writes;
    return facts;
}

/* Its Redis was restarted, and its disk seems to have kept everything. */
static struct fence_facts restarted_at(int64_t writes)
{
    struct fence_facts facts = facts_at(OLD, writes);
    become_other(facts.server_id);
    facts.intact = true;
    return facts;
}

/* The master TOLD was told that the old one was at @writes under the incarnation that it has. */
static struct fence_facts told(int64_t writes)
{
    struct fence_facts facts = facts_at(TOLD, 1);
    facts.heard.of[OLD] = (struct fence_position){core_facts(OLD).view.incarnation[OLD], writes};
    return facts;
}

/* Two of three masters are there, and the third has been silent for long. */
static struct fence_fleet fleet_of_two(void)
{
    struct fence_fleet fleet = fleet_active(3);
    fleet_lose(&fleet, SILENT);
    (void)fleet_learn_at(&fleet, TOLD, facts_at(TOLD, 1), FLEET_NOW_US);
    return fleet;
}

/* The old one comes back at @writes, and is judged when every server could tell. */
static void come_back_at(struct fence_fleet *fleet, int64_t writes)
{
    fleet_lose(fleet, OLD);
    (void)fleet_learn_at(fleet, OLD, restarted_at(writes), LATER_US);
    (void)fence_fleet_judge_all(fleet, LATER_US + TOLD_US);
}

static void master_at_its_position_is_believed_for_want_of_others(void **state)
{
    struct fence_fleet fleet = fleet_of_two();
    assert_true(fence_fleet_shows(&fleet, OLD, WRITES));
    come_back_at(&fleet, WRITES);
    assert_master(&fleet, OLD, FENCE_MASTER_RESTAMP, FENCE_REASON_RESTARTED);
}

static void master_behind_a_reply_is_not_believed(void **state)
{
    struct fence_fleet fleet = fleet_of_two();
    assert_true(fence_fleet_shows(&fleet, OLD, WRITES));
    come_back_at(&fleet, WRITES - 1);
    assert_master(&fleet, OLD, FENCE_MASTER_REFUSED, FENCE_REASON_ROLLED_BACK);
}

static void master_behind_what_another_master_was_told_is_not_believed(void **state)
{
    struct fence_fleet fleet = fleet_of_two();
    (void)fleet_learn_at(&fleet, TOLD, told(WRITES), FLEET_NOW_US);
    come_back_at(&fleet, WRITES - 1);
    assert_master(&fleet, OLD, FENCE_MASTER_REFUSED, FENCE_REASON_ROLLED_BACK);
}

/* Another server told it while it was away, or when it came back. */
static void master_behind_what_it_was_told_itself_is_not_believed(void **state)
{
    struct fence_fleet fleet = fleet_of_two();
    struct fence_facts facts = restarted_at(WRITES - 1);
    facts.heard.of[OLD] = (struct fence_position){facts.view.incarnation[OLD], WRITES};
    fleet_lose(&fleet, OLD);
    assert_int_equal(fleet_learn_at(&fleet, OLD, facts, LATER_US), CORE_SET(OLD));
    assert_master(&fleet, OLD, FENCE_MASTER_REFUSED, FENCE_REASON_ROLLED_BACK);
}

static void master_is_waited_with_until_every_server_could_tell(void **state)
{
    struct fence_fleet fleet = fleet_of_two();
    fleet_lose(&fleet, OLD);
    assert_int_equal(fleet_learn_at(&fleet, OLD, restarted_at(WRITES), LATER_US), 0);
    assert_master(&fleet, OLD, FENCE_MASTER_WAITING, FENCE_REASON_RESTARTED);
    assert_int_equal(fence_fleet_telling_ends_us(&fleet), LATER_US + TOLD_US);
    assert_int_equal(fence_fleet_judge_all(&fleet, LATER_US + TOLD_US - 1), 0);
    assert_int_equal(fence_fleet_judge_all(&fleet, LATER_US + TOLD_US), CORE_SET(OLD));
    assert_master(&fleet, OLD, FENCE_MASTER_RESTAMP, FENCE_REASON_RESTARTED);
    assert_int_equal(fence_fleet_telling_ends_us(&fleet), FENCE_NEVER);
}

static void position_that_is_heard_meanwhile_counts(void **state)
{
    struct fence_fleet fleet = fleet_of_two();
    fleet_lose(&fleet, OLD);
    (void)fleet_learn_at(&fleet, OLD, restarted_at(WRITES - 1), LATER_US);
    const struct fence_positions heard = told(WRITES).heard;
    fence_fleet_hear(&fleet, TOLD, &heard, 1);
    assert_int_equal(fence_fleet_judge_all(&fleet, LATER_US), CORE_SET(OLD));
    assert_master(&fleet, OLD, FENCE_MASTER_REFUSED, FENCE_REASON_ROLLED_BACK);
}

/* Fewer than a majority grant nothing. So the others are heard first, however long they are silent,
 * and even if no server has to be waited for. */
static void master_is_not_believed_before_a_majority_was_heard(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    struct fence_facts facts = restarted_at(WRITES - 1);
    facts.exclusive = true;
    for (unsigned i = 0; i < 3; i++)
        fleet_lose(&fleet, i);
    (void)fence_fleet_judge_all(&fleet, FLEET_NOW_US);
    (void)fleet_learn_at(&fleet, OLD, facts, LATER_US);
    assert_int_equal(fence_fleet_judge_all(&fleet, LATER_US + TOLD_US), 0);
    assert_master(&fleet, OLD, FENCE_MASTER_WAITING, FENCE_REASON_RESTARTED);
    (void)fleet_learn_at(&fleet, TOLD, told(WRITES), LATER_US + TOLD_US);
    assert_master(&fleet, OLD, FENCE_MASTER_REFUSED, FENCE_REASON_ROLLED_BACK);
}

/* Each of two that restarted together makes the other's majority. */
static void masters_that_restarted_together_are_believed_together(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    struct fence_facts other = facts_at(TOLD, 1);
    become_other(other.server_id);
    other.server_id[0] ^= 1;
    other.intact = true;
    for (unsigned i = 0; i < 3; i++)
        fleet_lose(&fleet, i);
    (void)fence_fleet_judge_all(&fleet, FLEET_NOW_US);
    (void)fleet_learn_at(&fleet, OLD, restarted_at(WRITES), LATER_US);
    (void)fleet_learn_at(&fleet, TOLD, other, LATER_US);
    assert_int_equal(fence_fleet_judge_all(&fleet, LATER_US + TOLD_US),
                     CORE_SET(OLD) | CORE_SET(TOLD));
}

/* No other caller can have seen more of it. */
static void master_of_one_server_alone_is_believed_at_once(void **state)
{
    struct fence_fleet fleet = fleet_of_two();
    struct fence_facts facts = restarted_at(WRITES);
    facts.exclusive = true;
    fleet_lose(&fleet, OLD);
    assert_int_equal(fleet_learn_at(&fleet, OLD, facts, LATER_US), CORE_SET(OLD));
    assert_master(&fleet, OLD, FENCE_MASTER_RESTAMP, FENCE_REASON_RESTARTED);
}

static void master_behind_its_position_rejoins_where_others_can_be_asked(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    assert_true(fence_fleet_shows(&fleet, OLD, WRITES));
    fleet_lose(&fleet, OLD);
    assert_int_equal(fleet_learn(&fleet, OLD, restarted_at(WRITES - 1)), CORE_SET(OLD));
    assert_master(&fleet, OLD, FENCE_MASTER_REJOIN, FENCE_REASON_ROLLED_BACK);
    assert_false(fence_fleet_keeps(&fleet, OLD));
}

/* Its process is the one that was admitted: a snapshot of its machine was put back. */
static void master_that_did_not_restart_is_found_too(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    assert_true(fence_fleet_shows(&fleet, OLD, WRITES));
    fleet_lose(&fleet, OLD);
    (void)fleet_learn(&fleet, OLD, facts_at(OLD, WRITES - 1));
    assert_master(&fleet, OLD, FENCE_MASTER_REJOIN, FENCE_REASON_ROLLED_BACK);
}

static void master_half_way_back_is_not_believed_behind_its_position(void **state)
{
    struct fence_fleet fleet = fleet_of_two();
    const uint64_t later_us = LATER_US + FENCE_REJOIN_SLACK_US;
    const int64_t next = core_facts(OLD).view.incarnation[OLD] + CORE_ADMISSIONS(1);
    struct fence_facts facts = restarted_at(WRITES - 1);
    struct fence_facts other = told(WRITES);
    other.heard.of[OLD].incarnation = next; /* it was admitted, and wrote */
    (void)fleet_learn_at(&fleet, TOLD, other, FLEET_NOW_US);
    facts.marked_active = false;
    facts.next = next;
    fleet_lose(&fleet, OLD);
    (void)fleet_learn_at(&fleet, OLD, facts, LATER_US);
    (void)fleet_learn_at(&fleet, OLD, facts, later_us);
    (void)fence_fleet_judge_all(&fleet, later_us);
    assert_int_not_equal(fleet.master[OLD].state, FENCE_MASTER_RESTAMP);
    facts.writes = WRITES;
    (void)fleet_learn_at(&fleet, OLD, facts, later_us);
    assert_int_equal(fleet.master[OLD].state, FENCE_MASTER_RESTAMP);
}

static void admission_that_is_lost_is_behind(void **state)
{
    struct fence_fleet fleet = fleet_of_two();
    struct fence_facts other = told(0);
    other.heard.of[OLD].incarnation += CORE_ADMISSIONS(1);
    (void)fleet_learn_at(&fleet, TOLD, other, FLEET_NOW_US);
    come_back_at(&fleet, WRITES);
    assert_master(&fleet, OLD, FENCE_MASTER_REFUSED, FENCE_REASON_ROLLED_BACK);
}

/* Its votes did not count then, and it need not have kept them. */
static void position_under_weaker_settings_need_not_be_kept(void **state)
{
    struct fence_fleet fleet = fleet_of_two();
    struct fence_facts weaker = facts_at(OLD, WRITES);
    weaker.durable = false;
    (void)fleet_learn(&fleet, OLD, weaker);
    come_back_at(&fleet, WRITES - 1);
    assert_master(&fleet, OLD, FENCE_MASTER_RESTAMP, FENCE_REASON_RESTARTED);
}

static void reply_behind_an_earlier_one_counts_for_nothing(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    assert_true(fence_fleet_shows(&fleet, OLD, WRITES));
    assert_true(fence_fleet_shows(&fleet, OLD, WRITES));
    assert_false(fence_fleet_shows(&fleet, OLD, WRITES - 1));
    assert_true(fence_fleet_shows(&fleet, OLD, 0)); /* it does not say */
}

/* A reply may be slow, and what another server heard since may overtake it. */
static void reply_is_held_against_its_own_connection_alone(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    const struct fence_positions heard = told(WRITES).heard;
    fence_fleet_hear(&fleet, TOLD, &heard, 1);
    assert_true(fence_fleet_shows(&fleet, OLD, WRITES - 1));
    assert_int_equal(fence_fleet_judge_all(&fleet, FLEET_NOW_US), 0);
}

/* The same while a connection is created again: what is told may be of after its facts were read.
 */
static void master_that_votes_is_held_against_what_it_showed_alone(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    const struct fence_positions heard = told(WRITES).heard;
    fleet_lose(&fleet, OLD);
    fence_fleet_hear(&fleet, TOLD, &heard, 1);
    assert_int_equal(fleet_learn(&fleet, OLD, facts_at(OLD, WRITES - 1)), 0);
    assert_int_equal(fence_fleet_active(&fleet), CORE_FIRST(3));
}

static void position_of_an_earlier_fleet_says_nothing(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    assert_true(fence_fleet_shows(&fleet, OLD, WRITES));
    for (unsigned i = 0; i < 3; i++)
        fleet_lose(&fleet, i);
    for (unsigned i = 0; i < 3; i++) {
        struct fence_facts facts = facts_at(i, 1);
        become_other(facts.fleet_id);
        fence_fleet_learn(&fleet, i, &facts, FLEET_NOW_US);
    }
    assert_int_equal(fence_fleet_judge_all(&fleet, FLEET_NOW_US), 0);
    assert_int_equal(fence_fleet_active(&fleet), CORE_FIRST(3));
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(master_at_its_position_is_believed_for_want_of_others),
    cmocka_unit_test(master_behind_a_reply_is_not_believed),
    cmocka_unit_test(master_behind_what_another_master_was_told_is_not_believed),
    cmocka_unit_test(master_behind_what_it_was_told_itself_is_not_believed),
    cmocka_unit_test(master_is_waited_with_until_every_server_could_tell),
    cmocka_unit_test(position_that_is_heard_meanwhile_counts),
    cmocka_unit_test(master_is_not_believed_before_a_majority_was_heard),
    cmocka_unit_test(masters_that_restarted_together_are_believed_together),
    cmocka_unit_test(master_of_one_server_alone_is_believed_at_once),
    cmocka_unit_test(master_behind_its_position_rejoins_where_others_can_be_asked),
    cmocka_unit_test(master_that_did_not_restart_is_found_too),
    cmocka_unit_test(master_half_way_back_is_not_believed_behind_its_position),
    cmocka_unit_test(admission_that_is_lost_is_behind),
    cmocka_unit_test(position_under_weaker_settings_need_not_be_kept),
    cmocka_unit_test(reply_behind_an_earlier_one_counts_for_nothing),
    cmocka_unit_test(reply_is_held_against_its_own_connection_alone),
    cmocka_unit_test(master_that_votes_is_held_against_what_it_showed_alone),
    cmocka_unit_test(position_of_an_earlier_fleet_says_nothing),
};

CASE_MAIN(cases, NULL, NULL)
