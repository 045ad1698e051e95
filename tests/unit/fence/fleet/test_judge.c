/* Faults of a master that is looked at, and what becomes of it: it votes, is refused,
 * waits, or rejoins. */
#include "tests/unit/fence/fleet/fleet_fixture.h"

#include <string.h>

enum {
    LAST = 4, /* the last of five masters */
};

/* Five active masters, and what the next probe of the last finds: all is well, until a case says
 * otherwise. */
static struct {
    struct fence_fleet fleet;
    struct fence_facts facts;
} look;

static int all_is_well(void **state)
{
    look.fleet = fleet_active(5);
    look.facts = core_facts(LAST);
    return 0;
}

/* Its Redis was restarted meanwhile, and by all that it can tell it kept everything. */
static int it_restarted(void **state)
{
    all_is_well(state);
    become_other(look.facts.server_id);
    look.facts.intact = true;
    return 0;
}

/* Its process is the same, but its data descend from others; it claims to have everything. */
static int its_lineage_changed(void **state)
{
    all_is_well(state);
    look.facts.lineage[0] = 'e';
    look.facts.intact = true;
    return 0;
}

/* Another server began to take it back. */
static int another_takes_it_back(void **state)
{
    all_is_well(state);
    look.facts.marked_active = false;
    look.facts.next = look.facts.view.incarnation[LAST] + CORE_ADMISSIONS(1);
    return 0;
}

static uint32_t look_at(uint64_t now_us)
{
    return fleet_learn_at(&look.fleet, LAST, look.facts, now_us);
}

static uint32_t look_again(void)
{
    return look_at(FLEET_NOW_US);
}

/* The next probe finds it in @state for @reason. */
static void assert_found(enum fence_master_state state, enum fence_reason reason)
{
    look_again();
    assert_master(&look.fleet, LAST, state, reason);
}

/* The others go on, and it becomes @state for @reason by being looked at over a new connection. */
static void assert_becomes(enum fence_master_state state, enum fence_reason reason)
{
    fleet_lose(&look.fleet, LAST);
    const uint32_t others = fence_fleet_active(&look.fleet);
    assert_int_equal(look_again(), CORE_SET(LAST));
    assert_master(&look.fleet, LAST, state, reason);
    assert_int_equal(fence_fleet_active(&look.fleet), others);
}

static void assert_refused(enum fence_reason reason)
{
    assert_becomes(FENCE_MASTER_REFUSED, reason);
}

/* It rejoins for @reason; and refused where too few others are active to tell it what it
 * forgot. */
static void assert_taken_back(enum fence_reason reason)
{
    fleet_lose(&look.fleet, 3);
    assert_becomes(FENCE_MASTER_REJOIN, reason);
    fleet_lose(&look.fleet, 2);
    assert_becomes(FENCE_MASTER_REFUSED, reason);
}

static void assert_votes(void)
{
    assert_int_equal(look_again(), 0);
    assert_int_equal(fence_fleet_active(&look.fleet), CORE_FIRST(5));
}

static void server_that_is_unfit_is_refused(void **state)
{
    look.facts.unfit = &core_unfit;
    assert_refused(FENCE_REASON_UNFIT);
}

static void marker_of_another_fleet_is_refused(void **state)
{
    become_other(look.facts.fleet_id);
    assert_refused(FENCE_REASON_OTHER_FLEET);
}

static void marker_of_another_member_is_refused(void **state)
{
    look.facts.member--;
    assert_refused(FENCE_REASON_OTHER_MEMBER);
}

/* Its data count no more than that of a master that was wiped. */
static void marker_that_cannot_be_read_is_taken_back(void **state)
{
    look.facts.marked = false;
    strcpy(look.facts.malformed, "durable");
    assert_taken_back(FENCE_REASON_MALFORMED);
}

static void marker_that_cannot_be_read_and_names_another_place_is_refused(void **state)
{
    look.facts.marked = false;
    strcpy(look.facts.malformed, "durable");
    look.facts.member--;
    assert_refused(FENCE_REASON_OTHER_MEMBER);
}

static void marker_of_this_fleet_with_another_size_is_taken_back(void **state)
{
    look.facts.other_members = 3;
    assert_taken_back(FENCE_REASON_MALFORMED);
}

static void other_maximum_ttl_is_refused(void **state)
{
    look.facts.ttl_max_ms--;
    assert_refused(FENCE_REASON_OTHER_TTL);
}

/* Its marker is a promise that others rely on: it must not vote while it may break it. */
static void durable_master_that_is_so_no_more_is_refused(void **state)
{
    look.facts.durable = false;
    assert_refused(FENCE_REASON_UNDURABLE);
}

/* After a restart too: the settings are to be restored, or its data removed. */
static void undurable_master_is_not_taken_back_before_it_is_mended(void **state)
{
    look.facts.durable = false;
    look.facts.intact = false;
    assert_refused(FENCE_REASON_UNDURABLE);
}

static void undurable_master_votes_once_its_settings_are_restored(void **state)
{
    look.facts.durable = false;
    assert_refused(FENCE_REASON_UNDURABLE);
    look.facts.durable = true;
    assert_votes();
}

/* The old process of a replaced member is still running. */
static void superseded_master_is_retired_while_it_is_unchanged(void **state)
{
    look.facts.view.incarnation[LAST] -= CORE_ADMISSIONS(1);
    assert_refused(FENCE_REASON_SUPERSEDED);
}

static void superseded_master_is_taken_back_once_it_changed(void **state)
{
    look.facts.view.incarnation[LAST] -= CORE_ADMISSIONS(1);
    assert_taken_back(FENCE_REASON_SUPERSEDED);
}

/* There is no step that is too small. */
static void any_higher_incarnation_supersedes(void **state)
{
    look.facts.view.incarnation[LAST] -= 1;
    assert_refused(FENCE_REASON_SUPERSEDED);
}

/* Others are asked though its disk says that it kept all. */
static void superseded_master_is_never_trusted_alone(void **state)
{
    look.facts.view.incarnation[LAST] -= CORE_ADMISSIONS(1);
    fleet_lose(&look.fleet, 2);
    fleet_lose(&look.fleet, 3);
    assert_refused(FENCE_REASON_SUPERSEDED);
}

static void blank_master_is_taken_back(void **state)
{
    look.facts.marked = false;
    assert_taken_back(FENCE_REASON_BLANK);
}

/* Of those in the list one may be the member whose place a blank one stands in. */
static void blank_master_waits_until_all_others_were_looked_at(void **state)
{
    struct fence_fleet fleet;
    struct fence_facts blank = core_facts(3);
    blank.marked = false;
    fence_fleet_init(&fleet, 5);
    for (unsigned i = 0; i < 3; i++)
        fleet_learn(&fleet, i, core_facts(i));
    fleet_learn(&fleet, 3, blank);
    assert_master(&fleet, 3, FENCE_MASTER_WAITING, FENCE_REASON_BLANK);
    fence_fleet_lose(&fleet, 4, FENCE_REASON_UNREACHABLE);
    fleet_learn(&fleet, 3, blank); /* it may come in a moment */
    assert_master(&fleet, 3, FENCE_MASTER_WAITING, FENCE_REASON_BLANK);
    assert_int_equal(fleet_learn_at(&fleet, 3, blank, FLEET_NOW_US + 2 * FENCE_TRUST_GRACE_US),
                     CORE_SET(3));
    assert_master(&fleet, 3, FENCE_MASTER_REJOIN, FENCE_REASON_BLANK);
}

static void restart_that_is_not_intact_is_taken_back(void **state)
{
    look.facts.intact = false;
    assert_taken_back(FENCE_REASON_FORGOT);
}

/* It was a replica for a while, or evicted keys; its process is the one that was admitted. */
static void changed_lineage_that_is_not_intact_is_taken_back(void **state)
{
    look.facts.intact = false;
    assert_taken_back(FENCE_REASON_FORGOT);
}

static void master_that_forgot_is_not_trusted_when_all_restarted(void **state)
{
    struct fence_fleet fleet = fleet_unmet(3);
    for (unsigned i = 0; i < 3; i++) {
        struct fence_facts facts = core_facts(i);
        become_other(facts.server_id);
        fleet_learn(&fleet, i, facts);
    }
    for (unsigned i = 0; i < 3; i++)
        assert_master(&fleet, i, FENCE_MASTER_REFUSED, FENCE_REASON_FORGOT);
}

static void master_that_runs_on_need_not_be_durable(void **state)
{
    look.facts.durable = false;
    look.facts.marked_durable = false;
    assert_votes();
}

static struct fence_facts restarted(unsigned i)
{
    struct fence_facts facts = core_facts(i);
    become_other(facts.server_id);
    facts.intact = true;
    return facts;
}

static void intact_master_is_taken_back_by_the_others(void **state)
{
    assert_becomes(FENCE_MASTER_REJOIN, FENCE_REASON_RESTARTED);
}

/* A first replica changes the lineage too: nothing is lost by it, and it rejoins anyway.
 */
static void changed_lineage_is_taken_back_by_the_others_though_intact(void **state)
{
    assert_becomes(FENCE_MASTER_REJOIN, FENCE_REASON_RESTARTED);
}

static void intact_master_is_trusted_alone_where_no_majority_of_others_is_active(void **state)
{
    fleet_lose(&look.fleet, 2);
    assert_becomes(FENCE_MASTER_REJOIN, FENCE_REASON_RESTARTED);
    fleet_lose(&look.fleet, 3);
    fleet_lose(&look.fleet, LAST);
    look_again(); /* the two may be back in a moment */
    assert_master(&look.fleet, LAST, FENCE_MASTER_WAITING, FENCE_REASON_RESTARTED);
    look_at(FLEET_NOW_US + FENCE_TRUST_GRACE_US - 1);
    assert_master(&look.fleet, LAST, FENCE_MASTER_WAITING, FENCE_REASON_RESTARTED);
    assert_int_equal(look_at(FLEET_NOW_US + FENCE_TRUST_GRACE_US), CORE_SET(LAST));
    assert_master(&look.fleet, LAST, FENCE_MASTER_RESTAMP, FENCE_REASON_RESTARTED);
    fleet_learn_at(&look.fleet, 3, restarted(3), FLEET_NOW_US + FENCE_TRUST_GRACE_US);
    assert_int_equal(fence_fleet_judge_all(&look.fleet, FLEET_NOW_US + FENCE_TRUST_GRACE_US +
                                                            FENCE_ANSWER_US + FENCE_TELLING_US),
                     CORE_SET(3));
    assert_master(&look.fleet, 3, FENCE_MASTER_RESTAMP, FENCE_REASON_RESTARTED);
}

/* It was half-way through an import, which took nothing from it. */
static void intact_master_half_way_is_trusted_alone_too(void **state)
{
    const uint64_t later_us = FLEET_NOW_US + FENCE_REJOIN_SLACK_US;
    look.facts.intact = true;
    fleet_lose(&look.fleet, 2);
    fleet_lose(&look.fleet, 3);
    look_again();
    look_at(later_us);
    assert_master(&look.fleet, LAST, FENCE_MASTER_RESTAMP, FENCE_REASON_JOINING);
    look.facts.marked_durable = true;
    look.facts.durable = false;
    look_at(later_us);
    assert_master(&look.fleet, LAST, FENCE_MASTER_REFUSED, FENCE_REASON_JOINING);
}

static void master_is_not_trusted_alone_before_all_others_were_looked_at(void **state)
{
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
    struct fence_fleet fleet = fleet_unmet(3);
    fleet_learn(&fleet, 0, restarted(0));
    fleet_learn(&fleet, 1, restarted(1));
    assert_int_equal(
        fence_fleet_judge_all(&fleet, FLEET_NOW_US + FENCE_ANSWER_US + FENCE_TELLING_US),
        CORE_FIRST(2));
    assert_int_equal(fence_fleet_in_state(&fleet, FENCE_MASTER_RESTAMP), CORE_FIRST(2));
}

/* A leader broke off after one record, and the member then lost the mark. If the member were
 * trusted alone, that record would refuse each vote. The two others are trusted, and the member
 * imports. */
static void master_that_lost_a_recorded_mark_is_not_trusted_alone(void **state)
{
    const uint64_t told_us = FLEET_NOW_US + FENCE_ANSWER_US + FENCE_TELLING_US;
    struct fence_fleet fleet = fleet_unmet(3);
    struct fence_facts recorded = restarted(1);
    recorded.view.incarnation[0]++;
    fleet_learn(&fleet, 0, restarted(0));
    fleet_learn(&fleet, 1, recorded);
    assert_int_equal(fence_fleet_judge_all(&fleet, told_us), CORE_SET(1));
    assert_master(&fleet, 0, FENCE_MASTER_WAITING, FENCE_REASON_RESTARTED);
    fleet_learn_at(&fleet, 1, core_facts(1), told_us);
    fleet_learn_at(&fleet, 2, core_facts(2), told_us);
    assert_master(&fleet, 0, FENCE_MASTER_REJOIN, FENCE_REASON_RESTARTED);
}

static void taking_back_is_asked_for_once_a_handshake(void **state)
{
    assert_int_equal(look_again(), CORE_SET(LAST));
    assert_int_equal(fleet_learn(&look.fleet, 0, core_facts(0)), 0);
    assert_int_equal(look_again(), CORE_SET(LAST));
    look.facts = core_facts(LAST);
    assert_votes();
}

/* It is the mark of this server: no other caller will go on with it. */
static void own_mark_is_begun_anew_at_once(void **state)
{
    look.fleet.master[LAST].meant = look.facts.next;
    assert_found(FENCE_MASTER_REJOIN, FENCE_REASON_JOINING);
}

/* Another server took over from this one. */
static void mark_above_the_own_is_another_servers(void **state)
{
    look.fleet.master[LAST].meant = look.facts.next - 1;
    assert_found(FENCE_MASTER_REFUSED, FENCE_REASON_JOINING);
}

static void master_that_another_server_takes_back_is_left_to_it(void **state)
{
    assert_refused(FENCE_REASON_JOINING);
}

static void master_whose_leader_makes_no_progress_is_taken_over(void **state)
{
    look_again();
    look_at(FLEET_NOW_US + FENCE_REJOIN_SLACK_US - 1);
    assert_master(&look.fleet, LAST, FENCE_MASTER_REFUSED, FENCE_REASON_JOINING);
    look_at(FLEET_NOW_US + FENCE_REJOIN_SLACK_US);
    assert_master(&look.fleet, LAST, FENCE_MASTER_REJOIN, FENCE_REASON_JOINING);
}

static void patience_with_a_leader_counts_from_its_own_mark(void **state)
{
    look_again();
    look.facts.next += CORE_ADMISSIONS(1);
    look_at(FLEET_NOW_US + FENCE_REJOIN_SLACK_US - 1);
    look_at(FLEET_NOW_US + FENCE_REJOIN_SLACK_US);
    assert_int_equal(look.fleet.master[LAST].state, FENCE_MASTER_REFUSED);
}

static void leader_that_gets_on_is_waited_for(void **state)
{
    look_again();
    look.facts.progress++;
    look_at(FLEET_NOW_US + FENCE_REJOIN_SLACK_US - 1);
    look_at(FLEET_NOW_US + FENCE_REJOIN_SLACK_US);
    assert_int_equal(look.fleet.master[LAST].state, FENCE_MASTER_REFUSED);
    look_at(FLEET_NOW_US + 2 * FENCE_REJOIN_SLACK_US - 1);
    assert_int_equal(look.fleet.master[LAST].state, FENCE_MASTER_REJOIN);
}

/* The others cannot tell it what it forgot: a mark of long ago does not change that. */
static void joining_master_is_refused_where_too_few_others_are_active(void **state)
{
    look.fleet.master[LAST].meant = look.facts.next;
    assert_taken_back(FENCE_REASON_JOINING);
}

#define WELL(name)      cmocka_unit_test_setup(name, all_is_well)
#define RESTARTED(name) cmocka_unit_test_setup(name, it_restarted)
#define CHANGED(name)   cmocka_unit_test_setup(name, its_lineage_changed)
#define JOINING(name)   cmocka_unit_test_setup(name, another_takes_it_back)

static const struct CMUnitTest cases[] = {
    WELL(server_that_is_unfit_is_refused),
    WELL(marker_of_another_fleet_is_refused),
    WELL(marker_of_another_member_is_refused),
    WELL(marker_that_cannot_be_read_is_taken_back),
    WELL(marker_that_cannot_be_read_and_names_another_place_is_refused),
    WELL(marker_of_this_fleet_with_another_size_is_taken_back),
    WELL(other_maximum_ttl_is_refused),
    WELL(durable_master_that_is_so_no_more_is_refused),
    RESTARTED(undurable_master_is_not_taken_back_before_it_is_mended),
    WELL(undurable_master_votes_once_its_settings_are_restored),
    WELL(superseded_master_is_retired_while_it_is_unchanged),
    RESTARTED(superseded_master_is_taken_back_once_it_changed),
    WELL(any_higher_incarnation_supersedes),
    RESTARTED(superseded_master_is_never_trusted_alone),
    WELL(blank_master_is_taken_back),
    cmocka_unit_test(blank_master_waits_until_all_others_were_looked_at),
    RESTARTED(restart_that_is_not_intact_is_taken_back),
    CHANGED(changed_lineage_that_is_not_intact_is_taken_back),
    cmocka_unit_test(master_that_forgot_is_not_trusted_when_all_restarted),
    WELL(master_that_runs_on_need_not_be_durable),
    RESTARTED(intact_master_is_taken_back_by_the_others),
    CHANGED(changed_lineage_is_taken_back_by_the_others_though_intact),
    RESTARTED(intact_master_is_trusted_alone_where_no_majority_of_others_is_active),
    cmocka_unit_test(master_is_not_trusted_alone_before_all_others_were_looked_at),
    cmocka_unit_test(masters_that_all_restarted_do_not_wait_for_each_other),
    cmocka_unit_test(master_that_lost_a_recorded_mark_is_not_trusted_alone),
    RESTARTED(taking_back_is_asked_for_once_a_handshake),
    JOINING(intact_master_half_way_is_trusted_alone_too),
    JOINING(own_mark_is_begun_anew_at_once),
    JOINING(mark_above_the_own_is_another_servers),
    JOINING(master_that_another_server_takes_back_is_left_to_it),
    JOINING(master_whose_leader_makes_no_progress_is_taken_over),
    JOINING(patience_with_a_leader_counts_from_its_own_mark),
    JOINING(leader_that_gets_on_is_waited_for),
    JOINING(joining_master_is_refused_where_too_few_others_are_active),
};

CASE_MAIN(cases, NULL, NULL)
