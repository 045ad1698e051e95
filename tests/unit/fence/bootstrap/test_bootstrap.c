/* A new fleet, and a token floor: the order of the steps, what is refused, and how it ends. */
#include "fence/protocol/lease.h"
#include "tests/lib/case.h"
#include "tests/unit/fence/bootstrap/run_fixture.h"

#include <string.h>

static void all_are_claimed_before_one_is_admitted(void **state)
{
    run_begin(false, 0);
    assert_true(run_to(FENCE_REJOIN_ADMIT, 0));
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], MASTERS);
    assert_int_equal(run.effect.request.floor, 0);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.bootstrap.outcome.admitted, MASTERS);
    assert_int_equal(fence_bootstrap_error(&run.bootstrap), 0);
    assert_string_equal(run.bootstrap.fleet_id, OTHER);
}

static void nothing_is_written_before_all_were_looked_at(void **state)
{
    run_survive(2);
    run_begin(false, 0);
    run_expect_end(FENCE_BOOTSTRAP_MARKED, 2);
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], 0);
    assert_int_equal(fence_bootstrap_error(&run.bootstrap), FENCE_ECONFLICT);
}

static void new_fleet_is_not_made_where_a_floor_was_cut_short(void **state)
{
    run.facts[1].marked = run.facts[1].initialising = run.facts[1].issued = true;
    run.facts[1].member = 2;
    run_begin(false, 0);
    run_expect_end(FENCE_BOOTSTRAP_CUT_SHORT, 1);
}

static void claim_that_finds_another_marker_ends_the_run(void **state)
{
    run_begin(false, 0);
    assert_true(run_to(FENCE_REJOIN_MARK, 1));
    run_tell_outcome(FENCE_REJOIN_CHANGED);
    run_expect_end(FENCE_BOOTSTRAP_CHANGED, 1);
    assert_int_equal(run.asked[FENCE_REJOIN_ADMIT], 0);
}

static void admission_goes_on_past_a_master_that_fails(void **state)
{
    run_begin(false, 0);
    assert_true(run_to(FENCE_REJOIN_ADMIT, 0));
    run_tell((struct fence_bootstrap_event){.kind = FENCE_BOOTSTRAP_LOST});
    run_expect_end(FENCE_BOOTSTRAP_LOST_ONE, 0);
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
        run_blank_masters(state);
        run_survive(1);
        run.highest[1] = rows[k].highest;
        run_begin(true, rows[k].seen);
        assert_true(run_to(FENCE_REJOIN_ADMIT, 0));
        assert_int_equal(run.effect.request.floor, rows[k].above + FENCE_FLOOR_MARGIN);
        run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
        assert_string_equal(run.bootstrap.fleet_id, FLEET);
        assert_int_equal(run.bootstrap.ttl_max_ms, TTL_MAX_MS);
    }
}

static void longest_lease_is_waited_for_and_claims_are_looked_at_all_the_while(void **state)
{
    run_survive(0);
    run_begin(true, 0);
    assert_true(run_to(FENCE_REJOIN_INSTALL, 0));
    const uint64_t began_us = run.now_us;
    assert_true(run_to(FENCE_REJOIN_ADMIT, 0));
    assert_true(run.now_us - began_us >= fence_quarantine_us(TTL_MAX_MS));
    assert_true(run.asked[FENCE_REJOIN_INSTALL] >= MASTERS * TTL_MAX_MS / 1000);
    assert_int_equal(run.effect.request.steps, run.asked[FENCE_REJOIN_INSTALL] / MASTERS + 1);
}

static void master_that_is_lost_meanwhile_ends_the_wait(void **state)
{
    run_survive(0);
    run_begin(true, 0);
    while (run.effect.act != FENCE_BOOTSTRAP_WAIT)
        run_one();
    run.effect.master = 2;
    run_tell((struct fence_bootstrap_event){.kind = FENCE_BOOTSTRAP_LOST});
    run_expect_end(FENCE_BOOTSTRAP_LOST_ONE, 2);
    assert_int_equal(run.asked[FENCE_REJOIN_ADMIT], 0);
}

static void claim_that_is_gone_ends_the_wait(void **state)
{
    run_begin(true, 0);
    assert_true(run_to(FENCE_REJOIN_INSTALL, 1));
    run_tell_outcome(FENCE_REJOIN_CHANGED);
    run_expect_end(FENCE_BOOTSTRAP_TAKEN_OVER, 1);
    assert_int_equal(run.asked[FENCE_REJOIN_ADMIT], 0);
}

static void majority_that_remembers_is_left_alone(void **state)
{
    run_survive(0);
    run_survive(2);
    run_begin(true, 0);
    run_expect_end(FENCE_BOOTSTRAP_NOTHING_LOST, 0);
    assert_int_equal(run.bootstrap.outcome.count, 2);
}

/* Each restarted with data of before what servers had told it, or told another one of it. */
static void majority_whose_data_went_back_gets_a_floor(void **state)
{
    for (unsigned i = 0; i < MASTERS; i++)
        run_survive(i);
    run_go_back(0, 0);
    run_begin(true, 9);
    run_expect_end(FENCE_BOOTSTRAP_NOTHING_LOST, 0);
    run_go_back(1, 2);
    run_begin(true, 9);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
    assert_true(run.bootstrap.floor > 9);
}

static void survivors_that_disagree_are_refused(void **state)
{
    run_survive(1);
    run.facts[1].member = 1;
    run_begin(true, 0);
    run_expect_end(FENCE_BOOTSTRAP_PLACE, 1);

    run_blank_masters(state);
    run_survive(0);
    run_survive(1);
    memcpy(run.facts[1].fleet_id, OTHER, sizeof(OTHER));
    run_begin(true, 0);
    run_expect_end(FENCE_BOOTSTRAP_OTHER_FLEET, 1);

    run_blank_masters(state);
    run_survive(0);
    run_survive(1);
    run.facts[1].ttl_max_ms++;
    run_begin(true, 0);
    run_expect_end(FENCE_BOOTSTRAP_OTHER_TTL, 1);
}

/* The second floor follows a loss of all that knew the first. */
static void incarnations_rise_above_those_of_an_earlier_floor(void **state)
{
    run_begin(true, 0);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
    const struct fence_bootstrap first = run.bootstrap;
    run_blank_masters(state);
    run_begin(true, first.floor);
    run_expect_end(FENCE_BOOTSTRAP_DONE, 0);
    for (unsigned i = 0; i < MASTERS; i++)
        assert_true(run.bootstrap.admitted.incarnation[i] >
                    first.admitted.incarnation[i] + (INT64_C(1) << FENCE_INCARNATION_MEMORY_SHIFT));
}

#define BLANK(name) cmocka_unit_test_setup(name, run_blank_masters)

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
    BLANK(majority_whose_data_went_back_gets_a_floor),
    BLANK(survivors_that_disagree_are_refused),
    BLANK(incarnations_rise_above_those_of_an_earlier_floor),
};

CASE_MAIN(cases, NULL, NULL)
