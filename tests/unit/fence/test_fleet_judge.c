/* What is wrong with a master that is looked at, and what becomes of it: it votes, is refused,
 * waits, or is taken back. */
#include "tests/unit/fence/fleet_fixture.h"

#include <string.h>

enum {
    LAST = 4,                                /* of five masters */
    HOLD_US = CORE_TTL_MAX_MS * 1010 + 2000, /* the longest lease and its drift */
    PATIENCE_US = HOLD_US + FENCE_REJOIN_SLACK_US,
};

/* Five active masters, and what the next look at the last finds: all is well, until a case says
 * otherwise. */
struct look {
    struct fence_fleet fleet;
    struct fence_facts facts;
};

static int all_is_well(void **state)
{
    static struct look look;
    look = (struct look){fleet_active(5), core_facts(LAST)};
    *state = &look;
    return 0;
}

/* Its Redis was restarted meanwhile. */
static int it_restarted(void **state)
{
    all_is_well(state);
    struct look *look = *state;
    become_other(look->facts.run_id);
    return 0;
}

/* Another server began to take it back. */
static int another_takes_it_back(void **state)
{
    all_is_well(state);
    struct look *look = *state;
    look->facts.marked_active = false;
    look->facts.nonce = 7;
    return 0;
}

static uint32_t look_at(struct look *look, uint64_t now_us)
{
    return fleet_learn_at(&look->fleet, LAST, look->facts, now_us);
}

static uint32_t look_again(struct look *look)
{
    return look_at(look, FLEET_NOW_US);
}

/* The next look finds it in @state for @reason. */
static void assert_found(struct look *look, enum fence_master_state state, enum fence_reason reason)
{
    look_again(look);
    assert_master(&look->fleet, LAST, state, reason);
}

/* The others go on, and it becomes @state for @reason by being looked at over a new connection. */
static void assert_becomes(struct look *look, enum fence_master_state state,
                           enum fence_reason reason)
{
    fleet_lose(&look->fleet, LAST);
    const uint32_t others = fence_fleet_active(&look->fleet);
    assert_int_equal(look_again(look), CORE_SET(LAST));
    assert_master(&look->fleet, LAST, state, reason);
    assert_int_equal(fence_fleet_active(&look->fleet), others);
}

static void assert_refused(struct look *look, enum fence_reason reason)
{
    assert_becomes(look, FENCE_MASTER_REFUSED, reason);
}

/* It is taken back for @reason; and refused where too few others are active to tell it what it
 * forgot. */
static void assert_taken_back(struct look *look, enum fence_reason reason)
{
    fleet_lose(&look->fleet, 3);
    assert_becomes(look, FENCE_MASTER_REJOIN, reason);
    fleet_lose(&look->fleet, 2);
    assert_becomes(look, FENCE_MASTER_REFUSED, reason);
}

static void assert_votes(struct look *look)
{
    assert_int_equal(look_again(look), 0);
    assert_int_equal(fence_fleet_active(&look->fleet), CORE_FIRST(5));
}

/* ---- who is refused -------------------------------------------------------------------------- */

static void redis_before_7_is_refused(void **state)
{
    struct look *look = *state;
    look->facts.version = 60299;
    assert_refused(look, FENCE_REASON_OLD);
}

static void redis_7_is_new_enough(void **state)
{
    struct look *look = *state;
    look->facts.version = 70000;
    assert_votes(look);
}

static void replica_is_refused(void **state)
{
    struct look *look = *state;
    look->facts.replica = true;
    assert_refused(look, FENCE_REASON_REPLICA);
}

static void cluster_mode_is_refused(void **state)
{
    struct look *look = *state;
    look->facts.cluster = true;
    assert_refused(look, FENCE_REASON_CLUSTER);
}

static void marker_of_another_fleet_is_refused(void **state)
{
    struct look *look = *state;
    become_other(look->facts.fleet_id);
    assert_refused(look, FENCE_REASON_OTHER_FLEET);
}

static void marker_of_another_member_is_refused(void **state)
{
    struct look *look = *state;
    look->facts.member--;
    assert_refused(look, FENCE_REASON_OTHER_MEMBER);
}

static void other_maximum_ttl_is_refused(void **state)
{
    struct look *look = *state;
    look->facts.ttl_max_ms--;
    assert_refused(look, FENCE_REASON_OTHER_TTL);
}

static void master_that_was_replaced_is_refused_while_its_process_lives(void **state)
{
    struct look *look = *state;
    look->facts.view.incarnation[LAST] -= CORE_MACHINES(1);
    assert_refused(look, FENCE_REASON_SUPERSEDED);
}

/* ---- who may have forgotten ------------------------------------------------------------------ */

static void blank_master_is_taken_back(void **state)
{
    struct look *look = *state;
    look->facts.marked = false;
    assert_taken_back(look, FENCE_REASON_BLANK);
}

static void master_that_was_replaced_is_taken_back_after_a_restart(void **state)
{
    struct look *look = *state;
    look->facts.view.incarnation[LAST] -= CORE_MACHINES(1);
    assert_taken_back(look, FENCE_REASON_SUPERSEDED);
}

static void restart_not_durable_before_is_taken_back(void **state)
{
    struct look *look = *state;
    look->facts.marked_durable = false;
    assert_taken_back(look, FENCE_REASON_FORGOT);
}

static void restart_not_durable_now_is_taken_back(void **state)
{
    struct look *look = *state;
    look->facts.durable = false;
    assert_taken_back(look, FENCE_REASON_FORGOT);
}

/* It is another process than the one that was admitted. */
static void replica_that_was_promoted_is_taken_back_as_one_that_forgot(void **state)
{
    struct look *look = *state;
    look->facts.promoted = true;
    assert_taken_back(look, FENCE_REASON_FORGOT);
}

static void master_that_runs_on_need_not_be_durable(void **state)
{
    struct look *look = *state;
    look->facts.durable = false;
    look->facts.marked_durable = false;
    assert_votes(look);
}

/* ---- who kept its disk ----------------------------------------------------------------------- */

static struct fence_facts restarted(unsigned i)
{
    struct fence_facts facts = core_facts(i);
    become_other(facts.run_id);
    return facts;
}

static void restart_durable_before_and_now_is_taken_back_by_the_others(void **state)
{
    struct look *look = *state;
    assert_becomes(look, FENCE_MASTER_REJOIN, FENCE_REASON_RESTARTED);
}

static void disk_is_trusted_alone_where_no_majority_of_others_can_tell(void **state)
{
    struct look *look = *state;
    fleet_lose(&look->fleet, 2);
    fleet_lose(&look->fleet, 3);
    assert_becomes(look, FENCE_MASTER_RESTAMP, FENCE_REASON_RESTARTED);
    assert_int_equal(fleet_learn(&look->fleet, 3, restarted(3)), CORE_SET(3));
    assert_master(&look->fleet, 3, FENCE_MASTER_RESTAMP, FENCE_REASON_RESTARTED);
}

static void disk_is_not_trusted_alone_before_all_others_were_looked_at(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_unmet(5);
    fleet_learn(&fleet, 0, restarted(0));
    fleet_learn(&fleet, 1, core_facts(1));
    fleet_learn(&fleet, 2, core_facts(2));
    assert_int_equal(fleet.master[0].state, FENCE_MASTER_WAITING);
    fleet_learn(&fleet, 3, core_facts(3)); /* a majority of others is there */
    assert_int_equal(fleet.master[0].state, FENCE_MASTER_REJOIN);
}

static void masters_that_all_restarted_do_not_wait_for_each_other(void **state)
{
    (void)state;
    struct fence_fleet fleet = fleet_unmet(3);
    fleet_learn(&fleet, 0, restarted(0));
    assert_int_equal(fleet_learn(&fleet, 1, restarted(1)), CORE_FIRST(2));
    assert_int_equal(fence_fleet_in_state(&fleet, FENCE_MASTER_RESTAMP), CORE_FIRST(2));
}

/* It was being taken back, and some know what it was going to be; then its leader died. */
static int others_know_what_it_is_meant_to_be(void **state)
{
    it_restarted(state);
    struct look *look = *state;
    struct fence_facts recorded = core_facts(0);
    recorded.view.incarnation[LAST]++;
    fleet_lose(&look->fleet, LAST);
    fleet_learn(&look->fleet, 0, recorded);
    return 0;
}

static void incarnation_that_was_meant_for_a_master_does_not_supersede_it(void **state)
{
    struct look *look = *state;
    assert_found(look, FENCE_MASTER_REJOIN, FENCE_REASON_RESTARTED);

    /* Its disk is trusted: it becomes what they know it by. */
    fleet_lose(&look->fleet, LAST);
    fleet_lose(&look->fleet, 3);
    fleet_lose(&look->fleet, 2);
    assert_found(look, FENCE_MASTER_RESTAMP, FENCE_REASON_RESTARTED);

    /* It was trusted before they knew: the same. */
    fleet_lose(&look->fleet, LAST);
    memcpy(look->facts.marked_run_id, look->facts.run_id, sizeof(look->facts.run_id));
    fleet_learn(&look->fleet, 2, core_facts(2));
    fleet_learn(&look->fleet, 3, core_facts(3));
    assert_found(look, FENCE_MASTER_REJOIN, FENCE_REASON_RESTARTED);
}

/* ---- who takes it back ----------------------------------------------------------------------- */

static void taking_back_is_asked_for_once_a_handshake(void **state)
{
    struct look *look = *state;
    assert_int_equal(look_again(look), CORE_SET(LAST));
    assert_int_equal(fleet_learn(&look->fleet, 0, core_facts(0)), 0);
    assert_int_equal(look_again(look), CORE_SET(LAST));
    look->facts = core_facts(LAST);
    assert_votes(look);
}

static void own_try_that_broke_off_is_begun_anew_at_once(void **state)
{
    struct look *look = *state;
    look->fleet.leader = 77;
    look->facts.nonce = (uint64_t)look->fleet.leader << 32 | 7;
    look_again(look);
    assert_int_equal(look->fleet.master[LAST].state, FENCE_MASTER_REJOIN);
}

static void master_that_another_server_takes_back_is_left_to_it(void **state)
{
    assert_refused(*state, FENCE_REASON_JOINING);
}

static void master_whose_leader_is_gone_is_taken_over(void **state)
{
    struct look *look = *state;
    look_again(look);
    assert_int_equal(look->fleet.master[LAST].back_us, FLEET_NOW_US + HOLD_US);
    look_at(look, FLEET_NOW_US + PATIENCE_US - 1);
    assert_int_equal(look->fleet.master[LAST].state, FENCE_MASTER_REFUSED);
    look_at(look, FLEET_NOW_US + PATIENCE_US);
    assert_int_equal(look->fleet.master[LAST].state, FENCE_MASTER_REJOIN);
}

static void patience_with_a_leader_counts_from_its_own_nonce(void **state)
{
    struct look *look = *state;
    look_again(look);
    look->facts.nonce++;
    look_at(look, FLEET_NOW_US + HOLD_US);
    look_at(look, FLEET_NOW_US + PATIENCE_US);
    assert_int_equal(look->fleet.master[LAST].state, FENCE_MASTER_REFUSED);
}

static void leader_that_gets_on_is_waited_for(void **state)
{
    struct look *look = *state;
    look_again(look);
    look->facts.progress++; /* it removes locks, which takes long */
    look_at(look, FLEET_NOW_US + PATIENCE_US - 1);
    look_at(look, FLEET_NOW_US + PATIENCE_US);
    assert_int_equal(look->fleet.master[LAST].state, FENCE_MASTER_REFUSED);
}

#define WELL(name)      cmocka_unit_test_setup(name, all_is_well)
#define RESTARTED(name) cmocka_unit_test_setup(name, it_restarted)
#define JOINING(name)   cmocka_unit_test_setup(name, another_takes_it_back)

static const struct CMUnitTest cases[] = {
    WELL(redis_before_7_is_refused),
    WELL(redis_7_is_new_enough),
    WELL(replica_is_refused),
    WELL(cluster_mode_is_refused),
    WELL(marker_of_another_fleet_is_refused),
    WELL(marker_of_another_member_is_refused),
    WELL(other_maximum_ttl_is_refused),
    WELL(master_that_was_replaced_is_refused_while_its_process_lives),
    WELL(blank_master_is_taken_back),
    RESTARTED(master_that_was_replaced_is_taken_back_after_a_restart),
    RESTARTED(restart_not_durable_before_is_taken_back),
    RESTARTED(restart_not_durable_now_is_taken_back),
    RESTARTED(replica_that_was_promoted_is_taken_back_as_one_that_forgot),
    WELL(master_that_runs_on_need_not_be_durable),
    RESTARTED(restart_durable_before_and_now_is_taken_back_by_the_others),
    RESTARTED(disk_is_trusted_alone_where_no_majority_of_others_can_tell),
    cmocka_unit_test(disk_is_not_trusted_alone_before_all_others_were_looked_at),
    cmocka_unit_test(masters_that_all_restarted_do_not_wait_for_each_other),
    cmocka_unit_test_setup(incarnation_that_was_meant_for_a_master_does_not_supersede_it,
                           others_know_what_it_is_meant_to_be),
    RESTARTED(taking_back_is_asked_for_once_a_handshake),
    JOINING(own_try_that_broke_off_is_begun_anew_at_once),
    JOINING(master_that_another_server_takes_back_is_left_to_it),
    JOINING(master_whose_leader_is_gone_is_taken_over),
    JOINING(patience_with_a_leader_counts_from_its_own_nonce),
    JOINING(leader_that_gets_on_is_waited_for),
};

CASE_MAIN(cases, NULL, NULL)
