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
struct run {
    struct fence_bootstrap bootstrap;
    struct fence_bootstrap_effect effect;
    struct fence_facts facts[MASTERS]; /* what a look finds */
    int64_t highest[MASTERS];
    uint64_t now_us;
    unsigned asked[FENCE_REJOIN_SURVEY + 1]; /* how often each step was */
};

static void begin(struct run *run, bool goes_on, int64_t seen)
{
    struct fence_bootstrap_params params = {.n = MASTERS, .goes_on = goes_on, .seen = seen};
    const struct fence_bootstrap_event event = {.kind = FENCE_BOOTSTRAP_BEGIN};
    memcpy(params.fleet_id, OTHER, sizeof(OTHER));
    memset(run->asked, 0, sizeof(run->asked));
    fence_bootstrap_init(&run->bootstrap, &params);
    fence_bootstrap_step(&run->bootstrap, &event, &run->effect);
}

/* Masters without a marker, each a server of its own. */
static struct run blank_masters(void)
{
    struct run run = {.now_us = 1000};
    for (unsigned i = 0; i < MASTERS; i++) {
        memcpy(run.facts[i].server_id, SERVER, sizeof(SERVER));
        run.facts[i].server_id[0] = (char)('a' + i);
        memcpy(run.facts[i].lineage, run.facts[i].server_id, sizeof(run.facts[i].server_id));
    }
    return run;
}

/* Master @i is a member that remembers all. */
static void survive(struct run *run, unsigned i)
{
    struct fence_facts *facts = &run->facts[i];
    facts->marked = facts->marked_active = true;
    facts->member = i + 1;
    facts->ttl_max_ms = TTL_MAX_MS;
    memcpy(facts->fleet_id, FLEET, sizeof(FLEET));
    memcpy(facts->marked_server_id, facts->server_id, sizeof(facts->server_id));
    memcpy(facts->marked_lineage, facts->lineage, sizeof(facts->lineage));
    for (unsigned j = 0; j < MASTERS; j++)
        facts->view.incarnation[j] = INT64_C(7) << FENCE_INCARNATION_MEMORY_SHIFT;
}

static void tell(struct run *run, struct fence_bootstrap_event event)
{
    event.now_us = run->now_us;
    event.master = run->effect.master;
    fence_bootstrap_step(&run->bootstrap, &event, &run->effect);
}

static void tell_outcome(struct run *run, enum fence_rejoin_outcome outcome)
{
    const struct fence_rejoin_reply reply = {.outcome = outcome,
                                             .highest = run->highest[run->effect.master]};
    tell(run, (struct fence_bootstrap_event){.kind = FENCE_BOOTSTRAP_REPLY, .reply = &reply});
}

static void do_one(struct run *run)
{
    const struct fence_bootstrap_effect *effect = &run->effect;
    struct fence_bootstrap_event event = {.kind = FENCE_BOOTSTRAP_TIME};
    switch (effect->act) {
    case FENCE_BOOTSTRAP_LOOK:
        event.kind = FENCE_BOOTSTRAP_FACTS;
        event.facts = &run->facts[effect->master];
        tell(run, event);
        break;
    case FENCE_BOOTSTRAP_SEND:
        run->asked[effect->request.step]++;
        tell_outcome(run, FENCE_REJOIN_DONE);
        break;
    default:
        run->now_us = effect->until_us;
        tell(run, event);
        break;
    }
}

static bool asks(const struct run *run, enum fence_rejoin_step step, unsigned i)
{
    return run->effect.act == FENCE_BOOTSTRAP_SEND && run->effect.request.step == step &&
           run->effect.master == i;
}

/* Goes on until it asks master @i for @step; or to its end. */
static bool play_to(struct run *run, enum fence_rejoin_step step, unsigned i)
{
    for (unsigned k = 0; k < STEPS_MAX && run->effect.act != FENCE_BOOTSTRAP_END; k++) {
        if (asks(run, step, i))
            return true;
        do_one(run);
    }
    return false;
}

static void play(struct run *run)
{
    assert_false(play_to(run, FENCE_REJOIN_MARK, MASTERS));
    assert_int_equal(run->effect.act, FENCE_BOOTSTRAP_END);
}

static void expect_end(struct run *run, enum fence_bootstrap_failure failure, unsigned master)
{
    play(run);
    assert_int_equal(run->bootstrap.outcome.failure, failure);
    assert_int_equal(run->bootstrap.outcome.master, master);
}

/* ---- a new fleet ----------------------------------------------------------------------------- */

static void all_are_claimed_before_one_is_admitted(void **state)
{
    (void)state;
    struct run run = blank_masters();
    begin(&run, false, 0);
    assert_true(play_to(&run, FENCE_REJOIN_ADMIT, 0));
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], MASTERS);
    assert_int_equal(run.effect.request.floor, 0);
    expect_end(&run, FENCE_BOOTSTRAP_DONE, 0);
    assert_int_equal(run.bootstrap.outcome.admitted, MASTERS);
    assert_int_equal(fence_bootstrap_error(&run.bootstrap), 0);
    assert_string_equal(run.bootstrap.fleet_id, OTHER);
}

static void nothing_is_written_before_all_were_looked_at(void **state)
{
    (void)state;
    struct run run = blank_masters();
    survive(&run, 2);
    begin(&run, false, 0);
    expect_end(&run, FENCE_BOOTSTRAP_MARKED, 2);
    assert_int_equal(run.asked[FENCE_REJOIN_MARK], 0);
    assert_int_equal(fence_bootstrap_error(&run.bootstrap), FENCE_ECONFLICT);
}

static void new_fleet_is_not_made_where_a_floor_was_cut_short(void **state)
{
    (void)state;
    struct run run = blank_masters();
    run.facts[1].marked = run.facts[1].initialising = run.facts[1].issued = true;
    run.facts[1].member = 2;
    begin(&run, false, 0);
    expect_end(&run, FENCE_BOOTSTRAP_CUT_SHORT, 1);
}

static void claim_that_finds_another_marker_ends_the_run(void **state)
{
    (void)state;
    struct run run = blank_masters();
    begin(&run, false, 0);
    assert_true(play_to(&run, FENCE_REJOIN_MARK, 1));
    tell_outcome(&run, FENCE_REJOIN_CHANGED);
    expect_end(&run, FENCE_BOOTSTRAP_CHANGED, 1);
    assert_int_equal(run.asked[FENCE_REJOIN_ADMIT], 0);
}

static void admission_goes_on_past_a_master_that_fails(void **state)
{
    (void)state;
    struct run run = blank_masters();
    begin(&run, false, 0);
    assert_true(play_to(&run, FENCE_REJOIN_ADMIT, 0));
    tell(&run, (struct fence_bootstrap_event){.kind = FENCE_BOOTSTRAP_LOST});
    expect_end(&run, FENCE_BOOTSTRAP_LOST_ONE, 0);
    assert_int_equal(run.bootstrap.outcome.admitted, MASTERS - 1);
    assert_int_equal(fence_bootstrap_error(&run.bootstrap), FENCE_EIO);
}

static void parameters_out_of_bounds_are_refused(void **state)
{
    (void)state;
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

/* ---- a fleet that goes on -------------------------------------------------------------------- */

static void floor_is_above_the_operators_number_and_above_survivors(void **state)
{
    (void)state;
    static const struct {
        int64_t seen;
        int64_t highest;
        int64_t above;
    } rows[] = {{5, 0, 5}, {5, 9, 9}, {9, 5, 9}};
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct run run = blank_masters();
        survive(&run, 1);
        run.highest[1] = rows[k].highest;
        begin(&run, true, rows[k].seen);
        assert_true(play_to(&run, FENCE_REJOIN_ADMIT, 0));
        assert_int_equal(run.effect.request.floor, rows[k].above + FENCE_FLOOR_MARGIN);
        expect_end(&run, FENCE_BOOTSTRAP_DONE, 0);
        assert_string_equal(run.bootstrap.fleet_id, FLEET);
        assert_int_equal(run.bootstrap.ttl_max_ms, TTL_MAX_MS);
    }
}

static void longest_lease_is_waited_for_and_claims_are_looked_at_all_the_while(void **state)
{
    (void)state;
    struct run run = blank_masters();
    survive(&run, 0);
    begin(&run, true, 0);
    assert_true(play_to(&run, FENCE_REJOIN_INSTALL, 0));
    const uint64_t began_us = run.now_us;
    assert_true(play_to(&run, FENCE_REJOIN_ADMIT, 0));
    assert_true(run.now_us - began_us >= fence_quarantine_us(TTL_MAX_MS));
    assert_true(run.asked[FENCE_REJOIN_INSTALL] >= MASTERS * TTL_MAX_MS / 1000);
    assert_int_equal(run.effect.request.steps, run.asked[FENCE_REJOIN_INSTALL] / MASTERS + 1);
}

static void master_that_is_lost_meanwhile_ends_the_wait(void **state)
{
    (void)state;
    struct run run = blank_masters();
    survive(&run, 0);
    begin(&run, true, 0);
    while (run.effect.act != FENCE_BOOTSTRAP_WAIT)
        do_one(&run);
    run.effect.master = 2;
    tell(&run, (struct fence_bootstrap_event){.kind = FENCE_BOOTSTRAP_LOST});
    expect_end(&run, FENCE_BOOTSTRAP_LOST_ONE, 2);
    assert_int_equal(run.asked[FENCE_REJOIN_ADMIT], 0);
}

static void claim_that_is_gone_ends_the_wait(void **state)
{
    (void)state;
    struct run run = blank_masters();
    begin(&run, true, 0);
    assert_true(play_to(&run, FENCE_REJOIN_INSTALL, 1));
    tell_outcome(&run, FENCE_REJOIN_CHANGED);
    expect_end(&run, FENCE_BOOTSTRAP_TAKEN_OVER, 1);
    assert_int_equal(run.asked[FENCE_REJOIN_ADMIT], 0);
}

static void majority_that_remembers_is_left_alone(void **state)
{
    (void)state;
    struct run run = blank_masters();
    survive(&run, 0);
    survive(&run, 2);
    begin(&run, true, 0);
    expect_end(&run, FENCE_BOOTSTRAP_NOTHING_LOST, 0);
    assert_int_equal(run.bootstrap.outcome.count, 2);
}

static void survivors_that_disagree_are_refused(void **state)
{
    (void)state;
    struct run run = blank_masters();
    survive(&run, 1);
    run.facts[1].member = 1;
    begin(&run, true, 0);
    expect_end(&run, FENCE_BOOTSTRAP_PLACE, 1);

    run = blank_masters();
    survive(&run, 0);
    survive(&run, 1);
    memcpy(run.facts[1].fleet_id, OTHER, sizeof(OTHER));
    begin(&run, true, 0);
    expect_end(&run, FENCE_BOOTSTRAP_OTHER_FLEET, 1);

    run = blank_masters();
    survive(&run, 0);
    survive(&run, 1);
    run.facts[1].ttl_max_ms++;
    begin(&run, true, 0);
    expect_end(&run, FENCE_BOOTSTRAP_OTHER_TTL, 1);
}

/* The second floor follows a loss of all that knew the first. */
static void incarnations_rise_above_those_of_an_earlier_floor(void **state)
{
    (void)state;
    struct run first = blank_masters();
    struct run second = blank_masters();
    begin(&first, true, 0);
    expect_end(&first, FENCE_BOOTSTRAP_DONE, 0);
    begin(&second, true, first.bootstrap.floor);
    expect_end(&second, FENCE_BOOTSTRAP_DONE, 0);
    for (unsigned i = 0; i < MASTERS; i++)
        assert_true(second.bootstrap.admitted.incarnation[i] >
                    first.bootstrap.admitted.incarnation[i] +
                        (INT64_C(1) << FENCE_INCARNATION_MEMORY_SHIFT));
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(all_are_claimed_before_one_is_admitted),
    cmocka_unit_test(nothing_is_written_before_all_were_looked_at),
    cmocka_unit_test(new_fleet_is_not_made_where_a_floor_was_cut_short),
    cmocka_unit_test(claim_that_finds_another_marker_ends_the_run),
    cmocka_unit_test(admission_goes_on_past_a_master_that_fails),
    cmocka_unit_test(parameters_out_of_bounds_are_refused),
    cmocka_unit_test(floor_is_above_the_operators_number_and_above_survivors),
    cmocka_unit_test(longest_lease_is_waited_for_and_claims_are_looked_at_all_the_while),
    cmocka_unit_test(master_that_is_lost_meanwhile_ends_the_wait),
    cmocka_unit_test(claim_that_is_gone_ends_the_wait),
    cmocka_unit_test(majority_that_remembers_is_left_alone),
    cmocka_unit_test(survivors_that_disagree_are_refused),
    cmocka_unit_test(incarnations_rise_above_those_of_an_earlier_floor),
};

CASE_MAIN(cases, NULL, NULL)
