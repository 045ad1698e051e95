#include "fence/fleet.h"
#include "tests/unit/fence/core_fixture.h"

#include <string.h>

enum {
    NOW_US = 1000,
    HOLD_US = CORE_TTL_MAX_MS * 1010 + 2000, /* the longest lease and its drift */
};

/* Makes a run id or a fleet id another one. */
static void become_other(char id[FENCE_ID_HEX_LEN + 1])
{
    memset(id, 'e', FENCE_ID_HEX_LEN);
    id[FENCE_ID_HEX_LEN] = '\0';
}

/* A fleet of @n masters that are all active. */
static struct fence_fleet fleet_of(unsigned n)
{
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, n);
    for (unsigned i = 0; i < n; i++) {
        struct fence_facts facts = core_facts(i);
        fence_fleet_learn(&fleet, i, &facts, NOW_US);
    }
    assert_int_equal(fence_fleet_judge_all(&fleet, NOW_US), 0);
    assert_int_equal(fence_fleet_active(&fleet), CORE_FIRST(n));
    return fleet;
}

static uint32_t learn_at(struct fence_fleet *fleet, unsigned i, struct fence_facts facts,
                         uint64_t now_us)
{
    fence_fleet_learn(fleet, i, &facts, now_us);
    return fence_fleet_judge_all(fleet, now_us);
}

static uint32_t learn(struct fence_fleet *fleet, unsigned i, struct fence_facts facts)
{
    return learn_at(fleet, i, facts, NOW_US);
}

/* With @facts, the last of five masters is taken back for @reason; and refused where too few others
 * are active to tell it what it forgot. */
static void assert_taken_back(struct fence_facts facts, enum fence_reason reason)
{
    struct fence_fleet fleet = fleet_of(5);
    fence_fleet_lose(&fleet, 4, FENCE_REASON_UNREACHABLE);
    fence_fleet_lose(&fleet, 3, FENCE_REASON_UNREACHABLE);
    assert_int_equal(learn(&fleet, 4, facts), CORE_SET(4));
    assert_int_equal(fleet.master[4].state, FENCE_MASTER_REJOIN);
    assert_int_equal(fleet.master[4].reason, reason);
    fence_fleet_lose(&fleet, 4, FENCE_REASON_UNREACHABLE);
    fence_fleet_lose(&fleet, 2, FENCE_REASON_UNREACHABLE);
    assert_int_equal(learn(&fleet, 4, facts), CORE_SET(4));
    assert_int_equal(fleet.master[4].state, FENCE_MASTER_REFUSED);
    assert_int_equal(fleet.master[4].reason, reason);
}

/* With @facts, the last of five masters is refused for @reason, and the others go on. */
static void assert_refused(struct fence_facts facts, enum fence_reason reason)
{
    struct fence_fleet fleet = fleet_of(5);
    fence_fleet_lose(&fleet, 4, FENCE_REASON_UNREACHABLE);
    assert_int_equal(learn(&fleet, 4, facts), CORE_SET(4));
    assert_int_equal(fleet.master[4].state, FENCE_MASTER_REFUSED);
    assert_int_equal(fleet.master[4].reason, reason);
    assert_int_equal(fence_fleet_active(&fleet), CORE_FIRST(4));
}

/* ---- who is refused -------------------------------------------------------------------------- */

static void redis_before_7_is_refused(void **state)
{
    (void)state;
    struct fence_facts facts = core_facts(4);
    facts.version = 60299;
    assert_refused(facts, FENCE_REASON_OLD);
}

static void redis_7_is_new_enough(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(3);
    struct fence_facts facts = core_facts(2);
    facts.version = 70000;
    assert_int_equal(learn(&fleet, 2, facts), 0);
    assert_int_equal(fleet.master[2].state, FENCE_MASTER_ACTIVE);
}

static void replica_is_refused(void **state)
{
    (void)state;
    struct fence_facts facts = core_facts(4);
    facts.replica = true;
    assert_refused(facts, FENCE_REASON_REPLICA);
}

static void cluster_mode_is_refused(void **state)
{
    (void)state;
    struct fence_facts facts = core_facts(4);
    facts.cluster = true;
    assert_refused(facts, FENCE_REASON_CLUSTER);
}

static void blank_master_is_taken_back(void **state)
{
    (void)state;
    struct fence_facts facts = core_facts(4);
    facts.marked = false;
    assert_taken_back(facts, FENCE_REASON_BLANK);
}

static void marker_of_another_fleet_is_refused(void **state)
{
    (void)state;
    struct fence_facts facts = core_facts(4);
    become_other(facts.fleet_id);
    assert_refused(facts, FENCE_REASON_OTHER_FLEET);
}

static void marker_of_another_member_is_refused(void **state)
{
    (void)state;
    struct fence_facts facts = core_facts(4);
    facts.member = 4;
    assert_refused(facts, FENCE_REASON_OTHER_MEMBER);
}

static void other_maximum_ttl_is_refused(void **state)
{
    (void)state;
    struct fence_facts facts = core_facts(4);
    facts.ttl_max_ms--;
    assert_refused(facts, FENCE_REASON_OTHER_TTL);
}

static void master_that_another_server_takes_back_is_left_to_it(void **state)
{
    (void)state;
    struct fence_facts facts = core_facts(4);
    facts.marked_active = false;
    facts.nonce = 7;
    assert_refused(facts, FENCE_REASON_JOINING);
}

static void master_whose_leader_is_gone_is_taken_over(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(5);
    struct fence_facts facts = core_facts(4);
    facts.marked_active = false;
    facts.nonce = 7;
    const uint64_t patience_us = HOLD_US + FENCE_REJOIN_SLACK_US;
    learn(&fleet, 4, facts);
    assert_int_equal(fleet.master[4].back_us, NOW_US + HOLD_US);
    learn_at(&fleet, 4, facts, NOW_US + patience_us - 1);
    assert_int_equal(fleet.master[4].state, FENCE_MASTER_REFUSED);
    learn_at(&fleet, 4, facts, NOW_US + patience_us);
    assert_int_equal(fleet.master[4].state, FENCE_MASTER_REJOIN);
}

static void patience_with_a_leader_counts_from_its_own_nonce(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(5);
    struct fence_facts facts = core_facts(4);
    facts.marked_active = false;
    facts.nonce = 7;
    learn(&fleet, 4, facts);
    facts.nonce = 8;
    learn_at(&fleet, 4, facts, NOW_US + HOLD_US);
    learn_at(&fleet, 4, facts, NOW_US + HOLD_US + FENCE_REJOIN_SLACK_US);
    assert_int_equal(fleet.master[4].state, FENCE_MASTER_REFUSED);
}

static void own_try_that_broke_off_is_begun_anew_at_once(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(5);
    struct fence_facts facts = core_facts(4);
    facts.marked_active = false;
    fleet.leader = 77;
    facts.nonce = (uint64_t)fleet.leader << 32 | 7;
    learn(&fleet, 4, facts);
    assert_int_equal(fleet.master[4].state, FENCE_MASTER_REJOIN);
}

static void master_that_was_replaced_is_refused_while_its_process_lives(void **state)
{
    (void)state;
    struct fence_facts facts = core_facts(4);
    facts.view.incarnation[4]--;
    assert_refused(facts, FENCE_REASON_SUPERSEDED);
}

static void master_that_was_replaced_is_taken_back_after_a_restart(void **state)
{
    (void)state;
    struct fence_facts facts = core_facts(4);
    facts.view.incarnation[4]--;
    become_other(facts.run_id);
    assert_taken_back(facts, FENCE_REASON_SUPERSEDED);
}

static void master_is_superseded_by_what_another_recorded(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(3);
    struct fence_facts facts = core_facts(0);
    facts.view.incarnation[2]++;
    assert_int_equal(learn(&fleet, 0, facts), CORE_SET(2));
    assert_int_equal(fleet.master[2].reason, FENCE_REASON_SUPERSEDED);
    assert_int_equal(fence_fleet_active(&fleet), CORE_FIRST(2));
}

static void same_server_at_two_places_votes_once(void **state)
{
    (void)state;
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, 3);
    learn(&fleet, 0, core_facts(0));
    assert_int_equal(learn(&fleet, 1, core_facts(0)), CORE_SET(1));
    assert_int_equal(fleet.master[1].reason, FENCE_REASON_SAME_SERVER);
    learn(&fleet, 2, core_facts(2));
    assert_int_equal(fence_fleet_active(&fleet), CORE_SET(0) | CORE_SET(2));
}

static void same_server_votes_at_the_place_its_marker_names(void **state)
{
    (void)state;
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, 3);
    learn(&fleet, 0, core_facts(1)); /* alone so far: just in the wrong place */
    learn(&fleet, 2, core_facts(2));
    assert_int_equal(learn(&fleet, 1, core_facts(1)) & CORE_SET(1), 0);
    assert_int_equal(fleet.master[1].state, FENCE_MASTER_ACTIVE);
    assert_int_equal(fleet.master[0].reason, FENCE_REASON_SAME_SERVER);
    assert_int_equal(fleet.master[0].state, FENCE_MASTER_REFUSED);
}

static void unmarked_server_at_two_places_is_named_at_both(void **state)
{
    (void)state;
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, 3);
    struct fence_facts facts = core_facts(0);
    facts.marked = false;
    learn(&fleet, 0, facts);
    learn(&fleet, 1, facts);
    assert_int_equal(fleet.master[0].reason, FENCE_REASON_SAME_SERVER);
    assert_int_equal(fleet.master[1].reason, FENCE_REASON_SAME_SERVER);
}

/* ---- who may have forgotten ------------------------------------------------------------------ */

static struct fence_facts restarted(unsigned i)
{
    struct fence_facts facts = core_facts(i);
    become_other(facts.run_id);
    return facts;
}

static void restart_durable_before_and_now_is_taken_back_by_the_others(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(5);
    fence_fleet_lose(&fleet, 4, FENCE_REASON_UNREACHABLE);
    assert_int_equal(learn(&fleet, 4, restarted(4)), CORE_SET(4));
    assert_int_equal(fleet.master[4].state, FENCE_MASTER_REJOIN);
    assert_int_equal(fleet.master[4].reason, FENCE_REASON_RESTARTED);
    assert_int_equal(fence_fleet_active(&fleet), CORE_FIRST(4));
}

static void disk_is_trusted_alone_where_no_majority_of_others_can_tell(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(5);
    for (unsigned i = 2; i < 5; i++)
        fence_fleet_lose(&fleet, i, FENCE_REASON_UNREACHABLE);
    assert_int_equal(learn(&fleet, 4, restarted(4)), CORE_SET(4));
    assert_int_equal(fleet.master[4].state, FENCE_MASTER_RESTAMP);
    assert_int_equal(learn(&fleet, 3, restarted(3)), CORE_SET(3));
    assert_int_equal(fleet.master[3].state, FENCE_MASTER_RESTAMP);
}

static void disk_is_not_trusted_alone_before_all_others_were_looked_at(void **state)
{
    (void)state;
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, 5);
    learn(&fleet, 0, restarted(0));
    learn(&fleet, 1, core_facts(1));
    learn(&fleet, 2, core_facts(2));
    assert_int_equal(fleet.master[0].state, FENCE_MASTER_WAITING);
    learn(&fleet, 3, core_facts(3)); /* a majority of others is there */
    assert_int_equal(fleet.master[0].state, FENCE_MASTER_REJOIN);
}

static void masters_that_all_restarted_do_not_wait_for_each_other(void **state)
{
    (void)state;
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, 3);
    learn(&fleet, 0, restarted(0));
    assert_int_equal(learn(&fleet, 1, restarted(1)), CORE_FIRST(2));
    assert_int_equal(fleet.master[0].state, FENCE_MASTER_RESTAMP);
    assert_int_equal(fleet.master[1].state, FENCE_MASTER_RESTAMP);
}

static void restart_not_durable_before_is_taken_back(void **state)
{
    (void)state;
    struct fence_facts facts = restarted(4);
    facts.marked_durable = false;
    assert_taken_back(facts, FENCE_REASON_FORGOT);
}

static void restart_not_durable_now_is_taken_back(void **state)
{
    (void)state;
    struct fence_facts facts = restarted(4);
    facts.durable = false;
    assert_taken_back(facts, FENCE_REASON_FORGOT);
}

/* It was about to be taken back as 2000, and others know that by now; then its leader died. */
static void incarnation_that_was_meant_for_a_master_does_not_supersede_it(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(5);
    struct fence_facts recorded = core_facts(0);
    recorded.view.incarnation[4] = 2000;
    fence_fleet_lose(&fleet, 4, FENCE_REASON_UNREACHABLE);
    learn(&fleet, 0, recorded);
    struct fence_facts facts = restarted(4);
    facts.next = 2000;
    learn(&fleet, 4, facts);
    assert_int_equal(fleet.master[4].reason, FENCE_REASON_RESTARTED);
    assert_int_equal(fleet.master[4].state, FENCE_MASTER_REJOIN);

    /* Its disk, trusted alone, would not make it what the others know it by. With two of them it is
     * a majority. */
    fence_fleet_lose(&fleet, 4, FENCE_REASON_UNREACHABLE);
    fence_fleet_lose(&fleet, 3, FENCE_REASON_UNREACHABLE);
    fence_fleet_lose(&fleet, 2, FENCE_REASON_UNREACHABLE);
    learn(&fleet, 4, facts);
    assert_int_equal(fleet.master[4].state, FENCE_MASTER_REJOIN);
    fence_fleet_lose(&fleet, 4, FENCE_REASON_UNREACHABLE);
    fence_fleet_lose(&fleet, 1, FENCE_REASON_UNREACHABLE);
    learn(&fleet, 4, facts);
    assert_int_equal(fleet.master[4].state, FENCE_MASTER_REFUSED);
    learn(&fleet, 1, core_facts(1));
    memcpy(facts.marked_run_id, facts.run_id, sizeof(facts.run_id));
    learn(&fleet, 2, core_facts(2));
    learn(&fleet, 3, core_facts(3));
    learn(&fleet, 4, facts); /* it was trusted before they knew: the same */
    assert_int_equal(fleet.master[4].reason, FENCE_REASON_RESTARTED);
    assert_int_equal(fleet.master[4].state, FENCE_MASTER_REJOIN);

    fence_fleet_lose(&fleet, 4, FENCE_REASON_UNREACHABLE);
    facts.next = 2001; /* and 2000 is another machine's */
    learn(&fleet, 4, facts);
    assert_int_equal(fleet.master[4].reason, FENCE_REASON_SUPERSEDED);
}

static void leader_that_gets_on_is_waited_for(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(5);
    struct fence_facts facts = core_facts(4);
    facts.marked_active = false;
    facts.nonce = 7;
    const uint64_t patience_us = HOLD_US + FENCE_REJOIN_SLACK_US;
    learn(&fleet, 4, facts);
    facts.progress++; /* it removes locks, which takes long */
    learn_at(&fleet, 4, facts, NOW_US + patience_us - 1);
    learn_at(&fleet, 4, facts, NOW_US + patience_us);
    assert_int_equal(fleet.master[4].state, FENCE_MASTER_REFUSED);
}

static void replica_that_was_promoted_is_taken_back_as_one_that_forgot(void **state)
{
    (void)state;
    struct fence_facts facts = restarted(4); /* another process than the one that was admitted */
    facts.promoted = true;
    assert_taken_back(facts, FENCE_REASON_FORGOT);
}

static void master_that_runs_on_need_not_be_durable(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(3);
    struct fence_facts facts = core_facts(2);
    facts.durable = false;
    facts.marked_durable = false;
    assert_int_equal(learn(&fleet, 2, facts), 0);
    assert_int_equal(fleet.master[2].state, FENCE_MASTER_ACTIVE);
}

static void taking_back_is_asked_for_once_a_handshake(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(5);
    assert_int_equal(learn(&fleet, 4, restarted(4)), CORE_SET(4));
    assert_int_equal(learn(&fleet, 0, core_facts(0)), 0);
    assert_int_equal(learn(&fleet, 4, restarted(4)), CORE_SET(4));
    assert_int_equal(learn(&fleet, 4, core_facts(4)), 0);
    assert_int_equal(fence_fleet_active(&fleet), CORE_FIRST(5));
}

/* ---- what a majority says -------------------------------------------------------------------- */

static void nobody_votes_before_a_majority_names_one_fleet(void **state)
{
    (void)state;
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, 5);
    assert_int_equal(learn(&fleet, 0, core_facts(0)), 0);
    assert_int_equal(learn(&fleet, 1, core_facts(1)), 0);
    assert_string_equal(fleet.fleet_id, "");
    assert_int_equal(fleet.master[0].state, FENCE_MASTER_WAITING);
    assert_int_equal(fleet.master[0].reason, FENCE_REASON_NO_MAJORITY);
    assert_int_equal(learn(&fleet, 2, core_facts(2)), 0);
    assert_string_equal(fleet.fleet_id, core_facts(0).fleet_id);
    assert_int_equal(fleet.ttl_max_ms, CORE_TTL_MAX_MS);
    assert_int_equal(fence_fleet_active(&fleet), CORE_FIRST(3));
    assert_true(fence_fleet_ready(&fleet));
}

static void minority_of_another_fleet_has_no_say(void **state)
{
    (void)state;
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, 5);
    for (unsigned i = 0; i < 4; i++) {
        struct fence_facts facts = core_facts(i);
        if (i % 2 == 0)
            become_other(facts.fleet_id);
        learn(&fleet, i, facts);
        assert_string_equal(fleet.fleet_id, "");
    }
    assert_int_equal(learn(&fleet, 4, core_facts(4)), CORE_SET(0) | CORE_SET(2));
    assert_int_equal(fleet.master[0].reason, FENCE_REASON_OTHER_FLEET);
    assert_int_equal(fleet.master[2].reason, FENCE_REASON_OTHER_FLEET);
    assert_int_equal(fence_fleet_active(&fleet), CORE_SET(1) | CORE_SET(3) | CORE_SET(4));
}

static void same_marker_seen_twice_is_one_voice(void **state)
{
    (void)state;
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, 3);
    learn(&fleet, 0, core_facts(0));
    learn(&fleet, 1, core_facts(0));
    learn(&fleet, 2, core_facts(0));
    assert_string_equal(fleet.fleet_id, "");
    assert_int_equal(fence_fleet_active(&fleet), 0);
}

static void voice_of_a_lost_master_does_not_count(void **state)
{
    (void)state;
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, 3);
    learn(&fleet, 0, core_facts(0));
    fence_fleet_lose(&fleet, 0, FENCE_REASON_UNREACHABLE);
    learn(&fleet, 1, core_facts(1));
    assert_string_equal(fleet.fleet_id, "");
}

static void majority_must_agree_on_the_maximum_ttl_too(void **state)
{
    (void)state;
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, 3);
    struct fence_facts facts = core_facts(0);
    facts.ttl_max_ms = 1000;
    learn(&fleet, 0, facts);
    learn(&fleet, 1, core_facts(1));
    assert_string_equal(fleet.fleet_id, "");
    learn(&fleet, 2, core_facts(2));
    assert_int_equal(fleet.ttl_max_ms, CORE_TTL_MAX_MS);
    assert_int_equal(fleet.master[0].reason, FENCE_REASON_OTHER_TTL);
}

static void masters_may_be_made_another_fleet(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(3);
    for (unsigned i = 0; i < 3; i++) {
        struct fence_facts facts = core_facts(i);
        become_other(facts.fleet_id);
        facts.view.incarnation[i] = 1;
        learn(&fleet, i, facts);
        if (i == 0) {
            assert_int_equal(fleet.master[i].reason, FENCE_REASON_OTHER_FLEET);
            assert_string_equal(fleet.fleet_id, core_facts(0).fleet_id);
        }
        fence_fleet_lose(&fleet, i, FENCE_REASON_CONNECTING); /* refused ones are looked at again */
    }
    struct fence_facts other = core_facts(0);
    become_other(other.fleet_id);
    assert_string_equal(fleet.fleet_id, other.fleet_id);
    assert_int_equal(fleet.view.incarnation[1],
                     1001); /* the highest in the new fleet's own views */
}

static void only_master_of_a_single_fleet_is_its_majority(void **state)
{
    (void)state;
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, 1);
    assert_false(fence_fleet_ready(&fleet));
    assert_int_equal(learn(&fleet, 0, core_facts(0)), 0);
    assert_true(fence_fleet_ready(&fleet));
}

static void ready_needs_a_majority_of_active_masters(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(5);
    fence_fleet_lose(&fleet, 0, FENCE_REASON_UNREACHABLE);
    fence_fleet_lose(&fleet, 3, FENCE_REASON_UNREACHABLE);
    assert_int_equal(fence_fleet_active_count(&fleet), 3);
    assert_true(fence_fleet_ready(&fleet));
    fence_fleet_lose(&fleet, 4, FENCE_REASON_UNREACHABLE);
    assert_false(fence_fleet_ready(&fleet));
}

/* ---- the view -------------------------------------------------------------------------------- */

static void view_only_rises(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(3);
    uint64_t generation = fleet.generation;
    struct fence_facts facts = core_facts(1);
    facts.view.incarnation[1] += 10;
    learn(&fleet, 1, facts);
    assert_int_equal(fleet.view.incarnation[1], 1011);
    assert_int_equal(fleet.generation, generation + 1);

    learn(&fleet, 1, core_facts(1)); /* its old machine, back under the same address */
    assert_int_equal(fleet.view.incarnation[1], 1011);
    assert_int_equal(fleet.generation, generation + 1);
    assert_int_equal(fleet.master[1].reason, FENCE_REASON_SUPERSEDED);
}

static void views_of_other_fleets_are_not_merged(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(3);
    struct fence_facts facts = core_facts(1);
    become_other(facts.fleet_id);
    facts.view.incarnation[0] += 10;
    learn(&fleet, 1, facts);
    assert_int_equal(fleet.view.incarnation[0], 1000);
    assert_int_equal(fleet.master[0].state, FENCE_MASTER_ACTIVE);
}

static void views_seen_before_the_fleet_was_known_are_merged_then(void **state)
{
    (void)state;
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, 3);
    struct fence_facts facts = core_facts(0);
    facts.view.incarnation[2] += 10;
    learn(&fleet, 0, facts);
    assert_int_equal(fleet.view.incarnation[2], 0);
    learn(&fleet, 1, core_facts(1));
    assert_int_equal(fleet.view.incarnation[2], 1012);
}

/* ---- losing, and silence --------------------------------------------------------------------- */

static void refusal_stays_on_show_while_the_connection_is_reopened(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(3);
    struct fence_facts facts = core_facts(2);
    facts.replica = true;
    learn(&fleet, 2, facts);
    fence_fleet_lose(&fleet, 2, FENCE_REASON_CONNECTING);
    assert_int_equal(fleet.master[2].reason, FENCE_REASON_REPLICA);
    fence_fleet_lose(&fleet, 2, FENCE_REASON_UNREACHABLE);
    assert_int_equal(fleet.master[2].reason, FENCE_REASON_UNREACHABLE);
    assert_int_equal(fleet.master[2].state, FENCE_MASTER_DOWN);
}

static void refused_master_is_refused_anew_at_each_handshake(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(3);
    struct fence_facts facts = core_facts(2);
    facts.replica = true;
    assert_int_equal(learn(&fleet, 2, facts), CORE_SET(2));
    fence_fleet_lose(&fleet, 2, FENCE_REASON_CONNECTING);
    assert_int_equal(learn(&fleet, 0, core_facts(0)), 0);
    assert_int_equal(learn(&fleet, 2, facts), CORE_SET(2));
    fence_fleet_lose(&fleet, 2, FENCE_REASON_CONNECTING);
    assert_int_equal(learn(&fleet, 2, core_facts(2)), 0);
    assert_int_equal(fleet.master[2].state, FENCE_MASTER_ACTIVE);
}

static void master_that_owes_nothing_is_never_silent(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(3);
    assert_true(fence_fleet_deadline(&fleet) == FENCE_NEVER);
    fence_fleet_sent(&fleet, 1, 1000);
    fence_fleet_answered(&fleet, 1, 2000);
    assert_true(fence_fleet_deadline(&fleet) == FENCE_NEVER);
    assert_int_equal(fence_fleet_silent(&fleet, 1000000000), 0);
}

static void silence_is_counted_from_the_last_progress(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(3);
    fence_fleet_sent(&fleet, 1, 1000);
    fence_fleet_sent(&fleet, 1, 9000); /* asking again does not put the deadline off */
    assert_int_equal(fence_fleet_deadline(&fleet), 1000 + FENCE_MASTER_DEADLINE_US);
    fence_fleet_answered(&fleet, 1, 20000);
    uint64_t deadline_us = 20000 + FENCE_MASTER_DEADLINE_US;
    assert_int_equal(fence_fleet_deadline(&fleet), deadline_us);
    assert_int_equal(fence_fleet_silent(&fleet, deadline_us - 1), 0);
    assert_int_equal(fence_fleet_silent(&fleet, deadline_us), CORE_SET(1));
}

static void earliest_master_sets_the_deadline(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(3);
    fence_fleet_sent(&fleet, 2, 3000);
    fence_fleet_sent(&fleet, 1, 2000);
    fence_fleet_sent(&fleet, 0, 4000);
    assert_int_equal(fence_fleet_deadline(&fleet), 2000 + FENCE_MASTER_DEADLINE_US);
}

static void new_connection_owes_nothing(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_of(3);
    fence_fleet_sent(&fleet, 1, 1000);
    fence_fleet_lose(&fleet, 1, FENCE_REASON_SILENT);
    assert_true(fence_fleet_deadline(&fleet) == FENCE_NEVER);
    fence_fleet_answered(&fleet, 1, 2000); /* lost, and said so only now */
    fence_fleet_sent(&fleet, 0, 3000);
    assert_int_equal(fence_fleet_deadline(&fleet), 3000 + FENCE_MASTER_DEADLINE_US);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void every_reason_has_a_name_and_says_what_to_do(void **state)
{
    (void)state;
    for (enum fence_reason reason = FENCE_REASON_NONE; reason <= FENCE_REASON_JOINING; reason++) {
        assert_non_null(fence_reason_name(reason));
        assert_non_null(fence_reason_text(reason));
        for (enum fence_reason other = FENCE_REASON_NONE; other < reason; other++)
            assert_string_not_equal(fence_reason_name(other), fence_reason_name(reason));
    }
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(redis_before_7_is_refused),
    cmocka_unit_test(redis_7_is_new_enough),
    cmocka_unit_test(replica_is_refused),
    cmocka_unit_test(cluster_mode_is_refused),
    cmocka_unit_test(blank_master_is_taken_back),
    cmocka_unit_test(marker_of_another_fleet_is_refused),
    cmocka_unit_test(marker_of_another_member_is_refused),
    cmocka_unit_test(other_maximum_ttl_is_refused),
    cmocka_unit_test(master_that_another_server_takes_back_is_left_to_it),
    cmocka_unit_test(master_whose_leader_is_gone_is_taken_over),
    cmocka_unit_test(patience_with_a_leader_counts_from_its_own_nonce),
    cmocka_unit_test(own_try_that_broke_off_is_begun_anew_at_once),
    cmocka_unit_test(master_that_was_replaced_is_refused_while_its_process_lives),
    cmocka_unit_test(master_that_was_replaced_is_taken_back_after_a_restart),
    cmocka_unit_test(master_is_superseded_by_what_another_recorded),
    cmocka_unit_test(same_server_at_two_places_votes_once),
    cmocka_unit_test(same_server_votes_at_the_place_its_marker_names),
    cmocka_unit_test(unmarked_server_at_two_places_is_named_at_both),
    cmocka_unit_test(restart_durable_before_and_now_is_taken_back_by_the_others),
    cmocka_unit_test(disk_is_trusted_alone_where_no_majority_of_others_can_tell),
    cmocka_unit_test(disk_is_not_trusted_alone_before_all_others_were_looked_at),
    cmocka_unit_test(masters_that_all_restarted_do_not_wait_for_each_other),
    cmocka_unit_test(restart_not_durable_before_is_taken_back),
    cmocka_unit_test(restart_not_durable_now_is_taken_back),
    cmocka_unit_test(incarnation_that_was_meant_for_a_master_does_not_supersede_it),
    cmocka_unit_test(leader_that_gets_on_is_waited_for),
    cmocka_unit_test(replica_that_was_promoted_is_taken_back_as_one_that_forgot),
    cmocka_unit_test(master_that_runs_on_need_not_be_durable),
    cmocka_unit_test(taking_back_is_asked_for_once_a_handshake),
    cmocka_unit_test(nobody_votes_before_a_majority_names_one_fleet),
    cmocka_unit_test(minority_of_another_fleet_has_no_say),
    cmocka_unit_test(same_marker_seen_twice_is_one_voice),
    cmocka_unit_test(voice_of_a_lost_master_does_not_count),
    cmocka_unit_test(majority_must_agree_on_the_maximum_ttl_too),
    cmocka_unit_test(masters_may_be_made_another_fleet),
    cmocka_unit_test(only_master_of_a_single_fleet_is_its_majority),
    cmocka_unit_test(ready_needs_a_majority_of_active_masters),
    cmocka_unit_test(view_only_rises),
    cmocka_unit_test(views_of_other_fleets_are_not_merged),
    cmocka_unit_test(views_seen_before_the_fleet_was_known_are_merged_then),
    cmocka_unit_test(refusal_stays_on_show_while_the_connection_is_reopened),
    cmocka_unit_test(refused_master_is_refused_anew_at_each_handshake),
    cmocka_unit_test(master_that_owes_nothing_is_never_silent),
    cmocka_unit_test(silence_is_counted_from_the_last_progress),
    cmocka_unit_test(earliest_master_sets_the_deadline),
    cmocka_unit_test(new_connection_owes_nothing),
    cmocka_unit_test(every_reason_has_a_name_and_says_what_to_do),
};

CASE_MAIN(cases, NULL, NULL)
