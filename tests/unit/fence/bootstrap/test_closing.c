/* A fleet that is closed, and the one that follows it. */
#include "fence/protocol/lease.h"
#include "tests/lib/case.h"
#include "tests/unit/fence/bootstrap/run_fixture.h"

#include <string.h>

/* An earlier run has closed master @i, whose fleet had no token above @floor. OTHER follows. */
static void be_closed(unsigned i, int64_t floor)
{
    struct fence_facts *facts = &run.facts[i];
    facts->closed = true;
    facts->closed_floor = floor;
    facts->closed_ttl_max_ms = TTL_MAX_MS;
    memcpy(facts->closed_fleet_id, FLEET, sizeof(FLEET));
    memcpy(facts->closed_for, OTHER, sizeof(OTHER));
}

/* Masters that all remember that they are members. */
static int members(void **state)
{
    run_blank_masters(state);
    for (unsigned i = 0; i < MASTERS; i++)
        run_survive(i);
    return 0;
}

static const struct fence_bootstrap_params closing = {.closes = true};

static void fleet_is_closed_once_all_were_claimed_and_surveyed(void **state)
{
    run.highest[1] = 17;
    run_begin_with(closing);
    assert_true(run_to(FENCE_REJOIN_SURVEY, 0));
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], MASTERS);
    assert_true(run_to(FENCE_REJOIN_CLOSE, 0));
    assert_int_equal(run.asked[FENCE_REJOIN_SURVEY], MASTERS);
    assert_int_equal(run.effect.request.floor, 17);
    assert_string_equal(run.effect.request.fleet_id, OTHER);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.asked[FENCE_REJOIN_CLOSE], MASTERS);
    assert_int_equal(run.asked[FENCE_REJOIN_ADMIT], 0);
    assert_string_equal(run.bootstrap.fleet_id, FLEET);
    assert_int_equal(run.bootstrap.floor, 17);
}

static void longest_lease_that_is_left_is_what_is_waited_for(void **state)
{
    run.left_ms[0] = 100;
    run.left_ms[1] = 700;
    run_begin_with(closing);
    assert_true(run_to(FENCE_REJOIN_LEASES, 1));
    assert_int_equal(run.asked[FENCE_REJOIN_CLOSE], 0);
    const struct fence_rejoin_reply first_page = {.left_ms = 300, .cursor = 5};
    run_tell((struct fence_bootstrap_event){.kind = FENCE_BOOTSTRAP_REPLY, .reply = &first_page});
    assert_true(run_asks(FENCE_REJOIN_LEASES, 1));
    assert_int_equal(run.effect.request.cursor, 5);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.bootstrap.until_us, run.now_us + fence_quarantine_us(700));
}

/* It may have had a lock that no other master of those that remember has. */
static void leases_are_not_known_where_a_master_forgot(void **state)
{
    run.facts[1].lineage[0] = 'z';
    run_begin_with(closing);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.asked[FENCE_REJOIN_LEASES], 0);
    assert_int_equal(run.bootstrap.until_us, 0);
}

/* A lock that it lost may be held. */
static void leases_are_not_known_where_the_data_of_a_master_went_back(void **state)
{
    run_go_back(1, 1);
    run_begin_with(closing);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.asked[FENCE_REJOIN_LEASES], 0);
    run_go_back(2, 2);
    run_begin_with(closing);
    run_expect_end(FENCE_BOOTSTRAP_FORGOTTEN, 0);
    assert_int_equal(run.bootstrap.outcome.count, 1);
}

static void claim_that_is_gone_closes_nothing(void **state)
{
    run_begin_with(closing);
    assert_true(run_to(FENCE_REJOIN_SURVEY, 2));
    run_tell_outcome(FENCE_REJOIN_CHANGED);
    run_expect_end(FENCE_BOOTSTRAP_TAKEN_OVER, 2);
    assert_int_equal(run.asked[FENCE_REJOIN_CLOSE], 0);
}

static void fleet_whose_majority_forgot_is_closed_only_by_somebody_who_knows(void **state)
{
    run.facts[0].marked = false;
    run_begin_with(closing);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.asked[FENCE_REJOIN_CLOSE], 2); /* a master that forgot is left as it is */

    members(state);
    run.facts[0].marked = false;
    run.facts[1].lineage[0] = 'z';
    run_begin_with(closing);
    run_expect_end(FENCE_BOOTSTRAP_FORGOTTEN, 0);
    assert_int_equal(run.bootstrap.outcome.count, 1);
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], 0);

    run_begin_with((struct fence_bootstrap_params){.closes = true, .is_known = true, .seen = 99});
    assert_true(run_to(FENCE_REJOIN_CLOSE, 1));
    assert_int_equal(run.effect.request.floor, 99);
}

/* It was claimed when it remembered, by a run that broke off; or when it did not. */
static void claimed_master_remembers_what_it_did_when_it_was_claimed(void **state)
{
    for (unsigned intact = 0; intact < 2; intact++) {
        members(state);
        for (unsigned i = 0; i < MASTERS; i++) {
            struct fence_facts *facts = &run.facts[i];
            facts->marked_active = false;
            facts->initialising = facts->issued = true;
            facts->intact = intact == 1;
        }
        run_begin_with(closing);
        assert_int_equal(run_to(FENCE_REJOIN_MARK, 1), intact == 1);
        assert_int_equal(run.effect.request.keeps, intact == 1);
        run_expect_end(intact == 1 ? FENCE_BOOTSTRAP_DONE : FENCE_BOOTSTRAP_FORGOTTEN, 0);
    }
}

static void one_closed_master_is_enough_to_go_on_with(void **state)
{
    run_survive(0);
    be_closed(1, 40);
    run_begin_with(closing);
    assert_true(run_to(FENCE_REJOIN_CLOSE, 0));
    assert_int_equal(run.effect.request.floor, 40);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], 1);
    assert_int_equal(run.asked[FENCE_REJOIN_CLOSE], 1);
    assert_int_equal(run.bootstrap.closed, 1);
    assert_string_equal(run.bootstrap.closed_for, OTHER);

    run_blank_masters(state);
    for (unsigned i = 0; i < MASTERS; i++)
        be_closed(i, 40);
    run_begin_with(closing);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], 0);
    assert_int_equal(run.bootstrap.floor, 40);
}

static void master_that_votes_in_the_fleet_that_follows_is_left_alone(void **state)
{
    memcpy(run.facts[0].fleet_id, OTHER, sizeof(OTHER));
    run.facts[0].other_members = 5;
    run.facts[1].marked_active = false;
    run.facts[1].initialising = run.facts[1].issued = true;
    be_closed(1, 40); /* and OTHER has claimed it */
    run.facts[2].marked = false;
    be_closed(2, 40);
    run_begin_with(closing);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], 0);
    assert_string_equal(run.bootstrap.fleet_id, FLEET);
}

static void fleet_that_was_closed_for_another_is_left_to_that(void **state)
{
    run.facts[1].marked = run.facts[1].marked_active = false;
    be_closed(1, 40);
    memcpy(run.facts[1].closed_for, SERVER, sizeof(SERVER));
    run_begin_with(closing);
    run_expect_end(FENCE_BOOTSTRAP_OTHER_MOVE, 1);
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], 0);
}

static void masters_without_a_fleet_are_not_closed(void **state)
{
    run_begin_with(closing);
    run_expect_end(FENCE_BOOTSTRAP_NO_FLEET, 0);

    members(state);
    run.facts[2].other_members = 5;
    run_begin_with(closing);
    run_expect_end(FENCE_BOOTSTRAP_OTHER_SIZE, 2);
}

/* For the fleet that follows FLEET. */
static struct fence_bootstrap_params following(enum fence_bootstrap_until until)
{
    struct fence_bootstrap_params params = {.goes_on = true, .until = until, .seen = 40};
    memcpy(params.from, FLEET, sizeof(FLEET));
    return params;
}

static void look_writes_nothing(void **state)
{
    run_begin_with(following(FENCE_BOOTSTRAP_ALL_LOOKED_AT));
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], 0);
}

static void masters_of_the_fleet_that_is_moved_are_claimed_once_they_are_closed(void **state)
{
    run_survive(0);
    run_begin_with(following(FENCE_BOOTSTRAP_ALL_CLAIMED));
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], MASTERS - 1);
    assert_int_equal(run.asked[FENCE_REJOIN_CLEAR], 0);

    run.facts[0].marked = false;
    be_closed(0, 40);
    run_begin_with(following(FENCE_BOOTSTRAP_ALL_DONE));
    assert_true(run_to(FENCE_REJOIN_ADMIT, 0));
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], MASTERS);
    assert_int_equal(run.effect.request.floor, 40 + FENCE_FLOOR_MARGIN);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
}

/* All tokens of the fleet that is followed are known, unless an operator's number stands for them.
 */
static void floor_without_room_for_the_margin_is_the_highest_token(void **state)
{
    const int64_t high = FENCE_FLOOR_SEEN_MAX + 1;
    be_closed(0, high);
    struct fence_bootstrap_params params = following(FENCE_BOOTSTRAP_ALL_DONE);
    params.seen = high;
    run_begin_with(params);
    assert_true(run_to(FENCE_REJOIN_ADMIT, 0));
    assert_int_equal(run.effect.request.floor, high);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);

    params.is_known = true;
    run_begin_with(params);
    run_expect_end(FENCE_BOOTSTRAP_FLOOR, 0);
    params.is_known = false;
    params.seen = FENCE_TOKEN_MAX;
    run_begin_with(params);
    run_expect_end(FENCE_BOOTSTRAP_FLOOR, 0);
}

static void longer_one_of_both_leases_is_waited_for(void **state)
{
    struct fence_bootstrap_params params = following(FENCE_BOOTSTRAP_ALL_DONE);
    params.ttl_max_ms = 1000;
    params.from_ttl_max_ms = TTL_MAX_MS;
    run_begin_with(params);
    assert_true(run_to(FENCE_REJOIN_INSTALL, 0));
    const uint64_t began_us = run.now_us;
    assert_true(run_to(FENCE_REJOIN_ADMIT, 0));
    assert_true(run.now_us - began_us >= fence_quarantine_us(TTL_MAX_MS));
    assert_int_equal(run.effect.request.ttl_max_ms, 1000);
}

static void known_leases_are_waited_for_where_the_fleet_that_follows_has_not_voted(void **state)
{
    struct fence_bootstrap_params params = following(FENCE_BOOTSTRAP_ALL_DONE);
    params.from_ttl_max_ms = TTL_MAX_MS;
    params.from_until_us = 700000;
    for (unsigned voted = 0; voted < 2; voted++) {
        run_blank_masters(state);
        if (voted) {
            run_survive(1);
            memcpy(run.facts[1].fleet_id, OTHER, sizeof(OTHER));
        }
        run_begin_with(params);
        assert_true(run_to(FENCE_REJOIN_ADMIT, 0));
        if (voted)
            assert_true(run.now_us >= fence_quarantine_us(TTL_MAX_MS));
        else
            assert_int_equal(run.now_us, 700000);
    }
}

/* A move that is broken off leaves the old fleet as it was, also where a claimed master has a place
 * in both. Once that fleet is closed, its masters and the new ones are told so. */
static void masters_are_told_of_the_fleet_that_they_follow_once_it_is_closed(void **state)
{
    struct fence_bootstrap_params params = following(FENCE_BOOTSTRAP_ALL_CLAIMED);
    fence_predecessors_add(&params.predecessors, SERVER);
    run_begin_with(params);
    assert_true(run_to(FENCE_REJOIN_MARK, 1));
    assert_true(fence_predecessors_have(run.effect.request.predecessors, SERVER));
    assert_false(fence_predecessors_have(run.effect.request.predecessors, FLEET));
    be_closed(0, 40);
    params.until = FENCE_BOOTSTRAP_ALL_DONE;
    run_begin_with(params);
    assert_true(run_to(FENCE_REJOIN_MARK, 1));
    assert_true(fence_predecessors_have(run.effect.request.predecessors, SERVER));
    assert_true(fence_predecessors_have(run.effect.request.predecessors, FLEET));
}

/* A disk of before an earlier move. Its fleet would go on under an id that is closed. */
static void member_of_a_fleet_that_was_moved_before_is_no_survivor(void **state)
{
    run_survive(1);
    struct fence_bootstrap_params params = following(FENCE_BOOTSTRAP_ALL_LOOKED_AT);
    memcpy(params.from, SERVER, sizeof(SERVER));
    run_begin_with(params);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
    fence_predecessors_add(&params.predecessors, FLEET);
    run_begin_with(params);
    run_expect_end(FENCE_BOOTSTRAP_MOVED, 1);
}

/* They may have voted in the fleet that follows, and have forgotten it; or another one follows. */
static void fleet_that_was_closed_goes_on_with_masters_that_know_it(void **state)
{
    struct fence_bootstrap_params params = following(FENCE_BOOTSTRAP_ALL_CLAIMED);
    params.was_closed = true;
    be_closed(0, 40);
    run_begin_with(params);
    run_expect_end(FENCE_BOOTSTRAP_FORGOTTEN, 0);
    assert_int_equal(run.bootstrap.outcome.count, 1);

    params.is_known = true;
    run_begin_with(params);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);

    params.is_known = false;
    run.facts[1].marked = run.facts[1].initialising = run.facts[1].issued = true;
    run.facts[1].member = 2;
    memcpy(run.facts[1].fleet_id, SERVER, sizeof(SERVER));
    run_begin_with(params);
    run_expect_end(FENCE_BOOTSTRAP_FORGOTTEN, 0);
    memcpy(run.facts[1].fleet_id, OTHER, sizeof(OTHER));
    run_begin_with(params);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
}

static void closed_master_is_not_taken_for_a_blank_one(void **state)
{
    be_closed(2, 40);
    run_begin(false, 0);
    run_expect_end(FENCE_BOOTSTRAP_MOVED, 2);
    run_begin(true, 0);
    run_expect_end(FENCE_BOOTSTRAP_MOVED, 2);
}

#define BLANK(name)   cmocka_unit_test_setup(name, run_blank_masters)
#define MEMBERS(name) cmocka_unit_test_setup(name, members)

static const struct CMUnitTest cases[] = {
    MEMBERS(fleet_is_closed_once_all_were_claimed_and_surveyed),
    MEMBERS(longest_lease_that_is_left_is_what_is_waited_for),
    MEMBERS(leases_are_not_known_where_a_master_forgot),
    MEMBERS(leases_are_not_known_where_the_data_of_a_master_went_back),
    MEMBERS(claim_that_is_gone_closes_nothing),
    MEMBERS(fleet_whose_majority_forgot_is_closed_only_by_somebody_who_knows),
    BLANK(claimed_master_remembers_what_it_did_when_it_was_claimed),
    BLANK(one_closed_master_is_enough_to_go_on_with),
    MEMBERS(master_that_votes_in_the_fleet_that_follows_is_left_alone),
    MEMBERS(fleet_that_was_closed_for_another_is_left_to_that),
    BLANK(masters_without_a_fleet_are_not_closed),
    MEMBERS(look_writes_nothing),
    BLANK(masters_of_the_fleet_that_is_moved_are_claimed_once_they_are_closed),
    BLANK(floor_without_room_for_the_margin_is_the_highest_token),
    BLANK(longer_one_of_both_leases_is_waited_for),
    BLANK(known_leases_are_waited_for_where_the_fleet_that_follows_has_not_voted),
    BLANK(masters_are_told_of_the_fleet_that_they_follow_once_it_is_closed),
    BLANK(member_of_a_fleet_that_was_moved_before_is_no_survivor),
    BLANK(fleet_that_was_closed_goes_on_with_masters_that_know_it),
    BLANK(closed_master_is_not_taken_for_a_blank_one),
};

CASE_MAIN(cases, NULL, NULL)
