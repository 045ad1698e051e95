/* The order of a bootstrap's steps, what it refuses, and how it ends. */
#include "fence/bootstrap/bootstrap.h"
#include "fence/protocol/lease.h"
#include "tests/lib/case.h"

#include <string.h>

enum {
    MASTERS = 3,
    TTL_MAX_MS = 30000,
    STEPS_MAX = 10000,
};

#define FLEET  "f1ee700000000000000000000000000000000000"
#define OTHER  "f1ee700000000000000000000000000000000001"
#define SERVER "5e71e40000000000000000000000000000000000"

/* One run, against masters that do what is asked of them. */
static struct run {
    struct fence_bootstrap bootstrap;
    struct fence_bootstrap_effect effect;
    struct fence_facts facts[MASTERS]; /* what a look finds */
    int64_t highest[MASTERS];
    uint32_t left_ms[MASTERS]; /* of its longest lease */
    uint64_t now_us;
    unsigned asked[FENCE_REJOIN_CLOSE + 1]; /* how often each step was */
} run;

static void begin_with(struct fence_bootstrap_params params)
{
    const struct fence_bootstrap_event event = {.kind = FENCE_BOOTSTRAP_BEGIN};
    params.n = MASTERS;
    memcpy(params.fleet_id, OTHER, sizeof(OTHER));
    memset(run.asked, 0, sizeof(run.asked));
    fence_bootstrap_init(&run.bootstrap, &params);
    fence_bootstrap_step(&run.bootstrap, &event, &run.effect);
}

static void begin(bool goes_on, int64_t seen)
{
    begin_with((struct fence_bootstrap_params){.goes_on = goes_on, .seen = seen});
}

/* Masters without a marker, each a server of its own. */
static int blank_masters(void **state)
{
    run = (struct run){.now_us = 1000};
    for (unsigned i = 0; i < MASTERS; i++) {
        memcpy(run.facts[i].server_id, SERVER, sizeof(SERVER));
        run.facts[i].server_id[0] = (char)('a' + i);
        memcpy(run.facts[i].lineage, run.facts[i].server_id, sizeof(run.facts[i].server_id));
    }
    return 0;
}

/* Master @i is a member that remembers all. */
static void survive(unsigned i)
{
    struct fence_facts *facts = &run.facts[i];
    facts->marked = facts->marked_active = true;
    facts->member = i + 1;
    facts->ttl_max_ms = TTL_MAX_MS;
    memcpy(facts->fleet_id, FLEET, sizeof(FLEET));
    memcpy(facts->marked_server_id, facts->server_id, sizeof(facts->server_id));
    memcpy(facts->marked_lineage, facts->lineage, sizeof(facts->lineage));
    for (unsigned j = 0; j < MASTERS; j++)
        facts->view.incarnation[j] = INT64_C(7) << FENCE_INCARNATION_MEMORY_SHIFT;
}

static void tell(struct fence_bootstrap_event event)
{
    event.now_us = run.now_us;
    event.master = run.effect.master;
    fence_bootstrap_step(&run.bootstrap, &event, &run.effect);
}

static void tell_outcome(enum fence_rejoin_outcome outcome)
{
    const struct fence_rejoin_reply reply = {.outcome = outcome,
                                             .highest = run.highest[run.effect.master],
                                             .left_ms = run.left_ms[run.effect.master]};
    tell((struct fence_bootstrap_event){.kind = FENCE_BOOTSTRAP_REPLY, .reply = &reply});
}

static void do_one(void)
{
    const struct fence_bootstrap_effect *effect = &run.effect;
    struct fence_bootstrap_event event = {.kind = FENCE_BOOTSTRAP_TIME};
    switch (effect->act) {
    case FENCE_BOOTSTRAP_LOOK:
        event.kind = FENCE_BOOTSTRAP_FACTS;
        event.facts = &run.facts[effect->master];
        tell(event);
        break;
    case FENCE_BOOTSTRAP_SEND:
        run.asked[effect->request.step]++;
        tell_outcome(FENCE_REJOIN_DONE);
        break;
    default:
        run.now_us = effect->until_us;
        tell(event);
        break;
    }
}

static bool asks(enum fence_rejoin_step step, unsigned i)
{
    return run.effect.act == FENCE_BOOTSTRAP_SEND && run.effect.request.step == step &&
           run.effect.master == i;
}

/* Goes on until it asks master @i for @step; or to its end. */
static bool play_to(enum fence_rejoin_step step, unsigned i)
{
    for (unsigned k = 0; k < STEPS_MAX && run.effect.act != FENCE_BOOTSTRAP_END; k++) {
        if (asks(step, i))
            return true;
        do_one();
    }
    return false;
}

static void play(void)
{
    assert_false(play_to(FENCE_REJOIN_MARK, MASTERS));
    assert_int_equal(run.effect.act, FENCE_BOOTSTRAP_END);
}

static void expect_end(enum fence_bootstrap_failure failure, unsigned master)
{
    play();
    assert_int_equal(run.bootstrap.outcome.failure, failure);
    assert_int_equal(run.bootstrap.outcome.master, master);
}

static void all_are_claimed_before_one_is_admitted(void **state)
{
    begin(false, 0);
    assert_true(play_to(FENCE_REJOIN_ADMIT, 0));
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], MASTERS);
    assert_int_equal(run.effect.request.floor, 0);
    expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.bootstrap.outcome.admitted, MASTERS);
    assert_int_equal(fence_bootstrap_error(&run.bootstrap), 0);
    assert_string_equal(run.bootstrap.fleet_id, OTHER);
}

static void nothing_is_written_before_all_were_looked_at(void **state)
{
    survive(2);
    begin(false, 0);
    expect_end(FENCE_BOOTSTRAP_MARKED, 2);
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], 0);
    assert_int_equal(fence_bootstrap_error(&run.bootstrap), FENCE_ECONFLICT);
}

static void new_fleet_is_not_made_where_a_floor_was_cut_short(void **state)
{
    run.facts[1].marked = run.facts[1].initialising = run.facts[1].issued = true;
    run.facts[1].member = 2;
    begin(false, 0);
    expect_end(FENCE_BOOTSTRAP_CUT_SHORT, 1);
}

static void claim_that_finds_another_marker_ends_the_run(void **state)
{
    begin(false, 0);
    assert_true(play_to(FENCE_REJOIN_MARK, 1));
    tell_outcome(FENCE_REJOIN_CHANGED);
    expect_end(FENCE_BOOTSTRAP_CHANGED, 1);
    assert_int_equal(run.asked[FENCE_REJOIN_ADMIT], 0);
}

static void admission_goes_on_past_a_master_that_fails(void **state)
{
    begin(false, 0);
    assert_true(play_to(FENCE_REJOIN_ADMIT, 0));
    tell((struct fence_bootstrap_event){.kind = FENCE_BOOTSTRAP_LOST});
    expect_end(FENCE_BOOTSTRAP_LOST_ONE, 0);
    assert_int_equal(run.bootstrap.outcome.admitted, MASTERS - 1);
    assert_int_equal(fence_bootstrap_error(&run.bootstrap), FENCE_EIO);
}

static void parameters_out_of_bounds_are_refused(void **state)
{
    static const struct {
        struct fence_bootstrap_params params;
        enum fence_bootstrap_failure failure;
    } rows[] = {
        {{.n = 4}, FENCE_BOOTSTRAP_BAD_COUNT},
        {{.n = FENCE_MASTERS_MAX + 2}, FENCE_BOOTSTRAP_BAD_COUNT},
        {{.n = 3, .ttl_max_ms = FENCE_TTL_MIN_MS - 1}, FENCE_BOOTSTRAP_BAD_TTL},
        {{.n = 3, .goes_on = true, .seen = FENCE_FLOOR_SEEN_MAX + 1}, FENCE_BOOTSTRAP_FLOOR},
    };
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct fence_bootstrap bootstrap;
        struct fence_bootstrap_effect effect;
        const struct fence_bootstrap_event event = {.kind = FENCE_BOOTSTRAP_BEGIN};
        fence_bootstrap_init(&bootstrap, &rows[k].params);
        fence_bootstrap_step(&bootstrap, &event, &effect);
        assert_int_equal(effect.act, FENCE_BOOTSTRAP_END);
        assert_int_equal(bootstrap.outcome.failure, rows[k].failure);
    }
}

static void floor_is_above_the_operators_number_and_above_survivors(void **state)
{
    static const struct {
        int64_t seen;
        int64_t highest;
        int64_t above;
    } rows[] = {{5, 0, 5}, {5, 9, 9}, {9, 5, 9}};
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        blank_masters(state);
        survive(1);
        run.highest[1] = rows[k].highest;
        begin(true, rows[k].seen);
        assert_true(play_to(FENCE_REJOIN_ADMIT, 0));
        assert_int_equal(run.effect.request.floor, rows[k].above + FENCE_FLOOR_MARGIN);
        expect_end(FENCE_BOOTSTRAP_DONE, 0);
        assert_string_equal(run.bootstrap.fleet_id, FLEET);
        assert_int_equal(run.bootstrap.ttl_max_ms, TTL_MAX_MS);
    }
}

static void longest_lease_is_waited_for_and_claims_are_looked_at_all_the_while(void **state)
{
    survive(0);
    begin(true, 0);
    assert_true(play_to(FENCE_REJOIN_INSTALL, 0));
    const uint64_t began_us = run.now_us;
    assert_true(play_to(FENCE_REJOIN_ADMIT, 0));
    assert_true(run.now_us - began_us >= fence_quarantine_us(TTL_MAX_MS));
    assert_true(run.asked[FENCE_REJOIN_INSTALL] >= MASTERS * TTL_MAX_MS / 1000);
    assert_int_equal(run.effect.request.steps, run.asked[FENCE_REJOIN_INSTALL] / MASTERS + 1);
}

static void master_that_is_lost_meanwhile_ends_the_wait(void **state)
{
    survive(0);
    begin(true, 0);
    while (run.effect.act != FENCE_BOOTSTRAP_WAIT)
        do_one();
    run.effect.master = 2;
    tell((struct fence_bootstrap_event){.kind = FENCE_BOOTSTRAP_LOST});
    expect_end(FENCE_BOOTSTRAP_LOST_ONE, 2);
    assert_int_equal(run.asked[FENCE_REJOIN_ADMIT], 0);
}

static void claim_that_is_gone_ends_the_wait(void **state)
{
    begin(true, 0);
    assert_true(play_to(FENCE_REJOIN_INSTALL, 1));
    tell_outcome(FENCE_REJOIN_CHANGED);
    expect_end(FENCE_BOOTSTRAP_TAKEN_OVER, 1);
    assert_int_equal(run.asked[FENCE_REJOIN_ADMIT], 0);
}

static void majority_that_remembers_is_left_alone(void **state)
{
    survive(0);
    survive(2);
    begin(true, 0);
    expect_end(FENCE_BOOTSTRAP_NOTHING_LOST, 0);
    assert_int_equal(run.bootstrap.outcome.count, 2);
}

static void survivors_that_disagree_are_refused(void **state)
{
    survive(1);
    run.facts[1].member = 1;
    begin(true, 0);
    expect_end(FENCE_BOOTSTRAP_PLACE, 1);

    blank_masters(state);
    survive(0);
    survive(1);
    memcpy(run.facts[1].fleet_id, OTHER, sizeof(OTHER));
    begin(true, 0);
    expect_end(FENCE_BOOTSTRAP_OTHER_FLEET, 1);

    blank_masters(state);
    survive(0);
    survive(1);
    run.facts[1].ttl_max_ms++;
    begin(true, 0);
    expect_end(FENCE_BOOTSTRAP_OTHER_TTL, 1);
}

/* The second floor follows a loss of all that knew the first. */
static void incarnations_rise_above_those_of_an_earlier_floor(void **state)
{
    begin(true, 0);
    expect_end(FENCE_BOOTSTRAP_DONE, 0);
    const struct fence_bootstrap first = run.bootstrap;
    blank_masters(state);
    begin(true, first.floor);
    expect_end(FENCE_BOOTSTRAP_DONE, 0);
    for (unsigned i = 0; i < MASTERS; i++)
        assert_true(run.bootstrap.admitted.incarnation[i] >
                    first.admitted.incarnation[i] + (INT64_C(1) << FENCE_INCARNATION_MEMORY_SHIFT));
}

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
    blank_masters(state);
    for (unsigned i = 0; i < MASTERS; i++)
        survive(i);
    return 0;
}

static const struct fence_bootstrap_params closing = {.closes = true};

static void fleet_is_closed_once_all_were_claimed_and_surveyed(void **state)
{
    run.highest[1] = 17;
    begin_with(closing);
    assert_true(play_to(FENCE_REJOIN_SURVEY, 0));
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], MASTERS);
    assert_true(play_to(FENCE_REJOIN_CLOSE, 0));
    assert_int_equal(run.asked[FENCE_REJOIN_SURVEY], MASTERS);
    assert_int_equal(run.effect.request.floor, 17);
    assert_string_equal(run.effect.request.fleet_id, OTHER);
    expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.asked[FENCE_REJOIN_CLOSE], MASTERS);
    assert_int_equal(run.asked[FENCE_REJOIN_ADMIT], 0);
    assert_string_equal(run.bootstrap.fleet_id, FLEET);
    assert_int_equal(run.bootstrap.floor, 17);
}

static void longest_lease_that_is_left_is_what_is_waited_for(void **state)
{
    run.left_ms[0] = 100;
    run.left_ms[1] = 700;
    begin_with(closing);
    assert_true(play_to(FENCE_REJOIN_LEASES, 1));
    assert_int_equal(run.asked[FENCE_REJOIN_CLOSE], 0);
    const struct fence_rejoin_reply first_page = {.left_ms = 300, .cursor = 5};
    tell((struct fence_bootstrap_event){.kind = FENCE_BOOTSTRAP_REPLY, .reply = &first_page});
    assert_true(asks(FENCE_REJOIN_LEASES, 1));
    assert_int_equal(run.effect.request.cursor, 5);
    expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.bootstrap.until_us, run.now_us + fence_quarantine_us(700));
}

/* It may have had a lock that no other master of those that remember has. */
static void leases_are_not_known_where_a_master_forgot(void **state)
{
    run.facts[1].lineage[0] = 'z';
    begin_with(closing);
    expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.asked[FENCE_REJOIN_LEASES], 0);
    assert_int_equal(run.bootstrap.until_us, 0);
}

static void claim_that_is_gone_closes_nothing(void **state)
{
    begin_with(closing);
    assert_true(play_to(FENCE_REJOIN_SURVEY, 2));
    tell_outcome(FENCE_REJOIN_CHANGED);
    expect_end(FENCE_BOOTSTRAP_TAKEN_OVER, 2);
    assert_int_equal(run.asked[FENCE_REJOIN_CLOSE], 0);
}

static void fleet_whose_majority_forgot_is_closed_only_by_somebody_who_knows(void **state)
{
    run.facts[0].marked = false;
    begin_with(closing);
    expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.asked[FENCE_REJOIN_CLOSE], 2); /* what forgot is left as it is */

    members(state);
    run.facts[0].marked = false;
    run.facts[1].lineage[0] = 'z';
    begin_with(closing);
    expect_end(FENCE_BOOTSTRAP_FORGOTTEN, 0);
    assert_int_equal(run.bootstrap.outcome.count, 1);
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], 0);

    begin_with((struct fence_bootstrap_params){.closes = true, .is_known = true, .seen = 99});
    assert_true(play_to(FENCE_REJOIN_CLOSE, 1));
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
        begin_with(closing);
        assert_int_equal(play_to(FENCE_REJOIN_MARK, 1), intact == 1);
        assert_int_equal(run.effect.request.keeps, intact == 1);
        expect_end(intact == 1 ? FENCE_BOOTSTRAP_DONE : FENCE_BOOTSTRAP_FORGOTTEN, 0);
    }
}

static void one_closed_master_is_enough_to_go_on_with(void **state)
{
    survive(0);
    be_closed(1, 40);
    begin_with(closing);
    assert_true(play_to(FENCE_REJOIN_CLOSE, 0));
    assert_int_equal(run.effect.request.floor, 40);
    expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], 1);
    assert_int_equal(run.asked[FENCE_REJOIN_CLOSE], 1);
    assert_int_equal(run.bootstrap.closed, 1);
    assert_string_equal(run.bootstrap.closed_for, OTHER);

    blank_masters(state);
    for (unsigned i = 0; i < MASTERS; i++)
        be_closed(i, 40);
    begin_with(closing);
    expect_end(FENCE_BOOTSTRAP_DONE, 0);
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
    begin_with(closing);
    expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], 0);
    assert_string_equal(run.bootstrap.fleet_id, FLEET);
}

static void fleet_that_was_closed_for_another_is_left_to_that(void **state)
{
    run.facts[1].marked = run.facts[1].marked_active = false;
    be_closed(1, 40);
    memcpy(run.facts[1].closed_for, SERVER, sizeof(SERVER));
    begin_with(closing);
    expect_end(FENCE_BOOTSTRAP_OTHER_MOVE, 1);
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], 0);
}

static void masters_without_a_fleet_are_not_closed(void **state)
{
    begin_with(closing);
    expect_end(FENCE_BOOTSTRAP_NO_FLEET, 0);

    members(state);
    run.facts[2].other_members = 5;
    begin_with(closing);
    expect_end(FENCE_BOOTSTRAP_OTHER_SIZE, 2);
}

/* Of the fleet that follows FLEET. */
static struct fence_bootstrap_params following(enum fence_bootstrap_until until)
{
    struct fence_bootstrap_params params = {.goes_on = true, .until = until, .seen = 40};
    memcpy(params.from, FLEET, sizeof(FLEET));
    return params;
}

static void look_writes_nothing(void **state)
{
    begin_with(following(FENCE_BOOTSTRAP_ALL_LOOKED_AT));
    expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], 0);
}

static void masters_of_the_fleet_that_is_moved_are_claimed_once_they_are_closed(void **state)
{
    survive(0);
    begin_with(following(FENCE_BOOTSTRAP_ALL_CLAIMED));
    expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], MASTERS - 1);
    assert_int_equal(run.asked[FENCE_REJOIN_CLEAR], 0);

    run.facts[0].marked = false;
    be_closed(0, 40);
    begin_with(following(FENCE_BOOTSTRAP_ALL_DONE));
    assert_true(play_to(FENCE_REJOIN_ADMIT, 0));
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], MASTERS);
    assert_int_equal(run.effect.request.floor, 40 + FENCE_FLOOR_MARGIN);
    expect_end(FENCE_BOOTSTRAP_DONE, 0);
}

static void longer_one_of_both_leases_is_waited_for(void **state)
{
    struct fence_bootstrap_params params = following(FENCE_BOOTSTRAP_ALL_DONE);
    params.ttl_max_ms = 1000;
    params.from_ttl_max_ms = TTL_MAX_MS;
    begin_with(params);
    assert_true(play_to(FENCE_REJOIN_INSTALL, 0));
    const uint64_t began_us = run.now_us;
    assert_true(play_to(FENCE_REJOIN_ADMIT, 0));
    assert_true(run.now_us - began_us >= fence_quarantine_us(TTL_MAX_MS));
    assert_int_equal(run.effect.request.ttl_max_ms, 1000);
}

static void known_leases_are_waited_for_where_the_fleet_that_follows_has_not_voted(void **state)
{
    struct fence_bootstrap_params params = following(FENCE_BOOTSTRAP_ALL_DONE);
    params.from_ttl_max_ms = TTL_MAX_MS;
    params.from_until_us = 700000;
    for (unsigned voted = 0; voted < 2; voted++) {
        blank_masters(state);
        if (voted)
            survive(1);
        begin_with(params);
        assert_true(play_to(FENCE_REJOIN_ADMIT, 0));
        if (voted)
            assert_true(run.now_us >= fence_quarantine_us(TTL_MAX_MS));
        else
            assert_int_equal(run.now_us, 700000);
    }
}

/* They may have voted in the fleet that follows, and have forgotten it; or another one follows. */
static void fleet_that_was_closed_goes_on_with_masters_that_know_it(void **state)
{
    struct fence_bootstrap_params params = following(FENCE_BOOTSTRAP_ALL_CLAIMED);
    params.was_closed = true;
    be_closed(0, 40);
    begin_with(params);
    expect_end(FENCE_BOOTSTRAP_FORGOTTEN, 0);
    assert_int_equal(run.bootstrap.outcome.count, 1);

    params.is_known = true;
    begin_with(params);
    expect_end(FENCE_BOOTSTRAP_DONE, 0);

    params.is_known = false;
    run.facts[1].marked = run.facts[1].initialising = run.facts[1].issued = true;
    run.facts[1].member = 2;
    memcpy(run.facts[1].fleet_id, SERVER, sizeof(SERVER));
    begin_with(params);
    expect_end(FENCE_BOOTSTRAP_FORGOTTEN, 0);
    memcpy(run.facts[1].fleet_id, OTHER, sizeof(OTHER));
    begin_with(params);
    expect_end(FENCE_BOOTSTRAP_DONE, 0);
}

static void closed_master_is_not_taken_for_a_blank_one(void **state)
{
    be_closed(2, 40);
    begin(false, 0);
    expect_end(FENCE_BOOTSTRAP_MOVED, 2);
    begin(true, 0);
    expect_end(FENCE_BOOTSTRAP_MOVED, 2);
}

#define BLANK(name)   cmocka_unit_test_setup(name, blank_masters)
#define MEMBERS(name) cmocka_unit_test_setup(name, members)

static const struct CMUnitTest cases[] = {
    BLANK(all_are_claimed_before_one_is_admitted),
    BLANK(nothing_is_written_before_all_were_looked_at),
    BLANK(new_fleet_is_not_made_where_a_floor_was_cut_short),
    BLANK(claim_that_finds_another_marker_ends_the_run),
    BLANK(admission_goes_on_past_a_master_that_fails),
    cmocka_unit_test(parameters_out_of_bounds_are_refused),
    BLANK(floor_is_above_the_operators_number_and_above_survivors),
    BLANK(longest_lease_is_waited_for_and_claims_are_looked_at_all_the_while),
    BLANK(master_that_is_lost_meanwhile_ends_the_wait),
    BLANK(claim_that_is_gone_ends_the_wait),
    BLANK(majority_that_remembers_is_left_alone),
    BLANK(survivors_that_disagree_are_refused),
    BLANK(incarnations_rise_above_those_of_an_earlier_floor),
    MEMBERS(fleet_is_closed_once_all_were_claimed_and_surveyed),
    MEMBERS(longest_lease_that_is_left_is_what_is_waited_for),
    MEMBERS(leases_are_not_known_where_a_master_forgot),
    MEMBERS(claim_that_is_gone_closes_nothing),
    MEMBERS(fleet_whose_majority_forgot_is_closed_only_by_somebody_who_knows),
    BLANK(claimed_master_remembers_what_it_did_when_it_was_claimed),
    BLANK(one_closed_master_is_enough_to_go_on_with),
    MEMBERS(master_that_votes_in_the_fleet_that_follows_is_left_alone),
    MEMBERS(fleet_that_was_closed_for_another_is_left_to_that),
    BLANK(masters_without_a_fleet_are_not_closed),
    MEMBERS(look_writes_nothing),
    BLANK(masters_of_the_fleet_that_is_moved_are_claimed_once_they_are_closed),
    BLANK(longer_one_of_both_leases_is_waited_for),
    BLANK(known_leases_are_waited_for_where_the_fleet_that_follows_has_not_voted),
    BLANK(fleet_that_was_closed_goes_on_with_masters_that_know_it),
    BLANK(closed_master_is_not_taken_for_a_blank_one),
};

CASE_MAIN(cases, NULL, NULL)
