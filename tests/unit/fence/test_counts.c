/* The counts of the core, and the words of an answer says of how it came about: for metrics. */
#include "tests/unit/fence/core_fixture.h"

static struct fence_counts counts_of(const struct core_fixture *f)
{
    return *fence_core_counts(f->core);
}

static void grant_in_one_round_is_one_attempt(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
    core_later_us(f, 1234);
    core_grant(f, 7);
    assert_false(core_answer_of(f)->acquire.confirmed);
    assert_false(core_answer_of(f)->waited);
    assert_int_equal(core_answer_of(f)->served_us, 1234);
    assert_int_equal(counts_of(f).attempts, 1);
    assert_int_equal(counts_of(f).confirms, 0);
    assert_int_equal(counts_of(f).contended, 0);
}

static void grant_after_a_second_round_says_so(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_numbers(f, 7, 9);
    core_both_reply(f, FENCE_REPLY_YES);
    assert_answer(f, 1, 0);
    assert_true(core_answer_of(f)->acquire.confirmed);
    assert_int_equal(counts_of(f).attempts, 1);
    assert_int_equal(counts_of(f).confirms, 1);
}

/* A slot that was used before keeps nothing of it. */
static void next_grant_is_not_confirmed_nor_has_it_waited(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
    core_meet_holder(f, 10);
    core_tick(f);
    core_numbers(f, 7, 9);
    core_both_reply(f, FENCE_REPLY_YES);
    assert_true(core_answer_of(f)->waited);
    assert_true(core_answer_of(f)->acquire.confirmed);
    core_later_us(f, CORE_TTL_MS * UINT64_C(1000));
    core_acquire(f, 2, 5000);
    core_grant(f, 10);
    assert_answer(f, 2, 0);
    assert_false(core_answer_of(f)->waited);
    assert_false(core_answer_of(f)->acquire.confirmed);
}

static void acquire_behind_another_has_waited(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_acquire(f, 2, 5000);
    core_grant(f, 7);
    core_tick(f);
    core_grant(f, 8);
    assert_answer(f, 2, 0);
    assert_true(core_answer_of(f)->waited);
}

static void holder_that_is_met_at_once_is_no_wait(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_meet_holder(f, 1000);
    assert_answer(f, 1, FENCE_EHELD);
    assert_false(core_answer_of(f)->waited);
    assert_int_equal(counts_of(f).attempts, 1);
}

static void each_attempt_that_is_contended_counts(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
    core_meet_contenders(f);
    core_tick(f);
    core_meet_contenders(f);
    assert_int_equal(counts_of(f).attempts, 2);
    assert_int_equal(counts_of(f).contended, 2);
}

static void clean_ups_are_pending_until_masters_acknowledge_them(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    uint64_t undo[3];
    core_acquire(f, 1, 0);
    core_meet_holder(f, 1000);
    assert_int_equal(fence_core_cleanups(f->core), 1);
    for (unsigned i = 0; i < 3; i++)
        undo[i] = core_request(f, FENCE_REQUEST_UNDO, i)->tag;
    for (unsigned i = 0; i < 3; i++)
        core_reply_to(f, i, undo[i], (struct fence_reply){.kind = FENCE_REPLY_NO});
    assert_int_equal(fence_core_cleanups(f->core), 0);
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(grant_in_one_round_is_one_attempt),
    CORE_CASE(grant_after_a_second_round_says_so),
    CORE_CASE(next_grant_is_not_confirmed_nor_has_it_waited),
    CORE_CASE(acquire_behind_another_has_waited),
    CORE_CASE(holder_that_is_met_at_once_is_no_wait),
    CORE_CASE(each_attempt_that_is_contended_counts),
    CORE_CASE(clean_ups_are_pending_until_masters_acknowledge_them),
};

CASE_MAIN(cases, NULL, NULL)
