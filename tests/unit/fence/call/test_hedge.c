/* Acquires that ask a majority first: who is asked, who is asked later, and what they are hinted.
 */
#include "fence/protocol/name.h"
#include "tests/unit/fence/core_fixture.h"

#include <string.h>

static struct core_fixture *asked(void **state, unsigned n)
{
    struct core_fixture *f = core_fixture_new_spread(state, n);
    core_acquire(f, 1, 0);
    return f;
}

static uint32_t taken(const struct core_fixture *f)
{
    return core_sent(f, FENCE_REQUEST_TAKE);
}

/* The one in place @k grants @number. */
static void grant(struct core_fixture *f, unsigned k, int64_t number)
{
    core_number(f, core_nth(f, k), number);
}

/* The first request of its kind to anybody. */
static const struct fence_request *take_of(const struct core_fixture *f, unsigned k)
{
    return core_request(f, FENCE_REQUEST_TAKE, core_nth(f, k));
}

/* An acquire of @client that the first majority grants @number. Returns what it was hinted. */
static int64_t granted_at_once(struct core_fixture *f, uint64_t client, int64_t number)
{
    core_acquire(f, client, 0);
    unsigned first = 0;
    while (!(taken(f) & CORE_SET(core_nth(f, first))))
        first++;
    int64_t hint = take_of(f, first)->take.hint;
    uint32_t set = taken(f);
    for (unsigned i = 0; i < f->n; i++)
        if (set & CORE_SET(i))
            core_number(f, i, number);
    assert_answer(f, client, 0);
    return hint;
}

/* The knowledge of the fleet changes: a member rejoined. */
static void change_view(struct core_fixture *f, unsigned i)
{
    struct fence_facts facts = core_facts(i);
    facts.view.incarnation[i] += CORE_ADMISSIONS(1);
    uint64_t before = fence_core_fleet(f->core)->generation;
    core_shake_hands(f, i, facts);
    assert_true(fence_core_fleet(f->core)->generation != before);
    assert_int_equal(fence_fleet_active(fence_core_fleet(f->core)), CORE_FIRST(f->n));
}

static void majority_is_asked_from_the_slot_on(void **state)
{
    for (unsigned n = 1; n <= 5; n += 2) {
        struct core_fixture *f = asked(state, n);
        assert_int_equal(taken(f), core_nths(f, 0, n / 2 + 1));
        assert_int_equal(f->effects.count, 1);
        for (unsigned k = 0; k <= n / 2; k++)
            grant(f, k, 7);
        assert_answer(f, 1, 0);
        assert_int_equal(f->effects.count, 1);
        assert_int_equal(core_answer_of(f)->lease.granted, n / 2 + 1);
        assert_int_equal(core_answer_of(f)->acquire.sent, core_nths(f, 0, n / 2 + 1));
    }
}

static void next_in_the_ring_is_asked_for_one_that_is_not_active(void **state)
{
    struct core_fixture *f = core_fixture_new_spread(state, 5);
    core_down(f, core_nth(f, 1));
    core_acquire(f, 1, 0);
    assert_int_equal(taken(f), core_nths(f, 0, 1) | core_nths(f, 2, 2));
}

static void as_many_others_are_asked_as_are_late(void **state)
{
    struct core_fixture *f = asked(state, 5);
    uint64_t asked_us = f->now_us;
    grant(f, 0, 7);
    grant(f, 1, 7);
    core_tick(f);
    assert_in_range(f->now_us - asked_us, FENCE_HEDGE_LEAST_US,
                    FENCE_MASTER_DEADLINE_US * FENCE_HEDGE_MOST_PERCENT / 100);
    assert_int_equal(taken(f), core_nths(f, 3, 1));
    assert_int_equal(f->effects.count, 1);
    assert_int_equal(fence_core_counts(f->core)->hedges, 1);
    grant(f, 3, 7);
    assert_answer(f, 1, 0);
    assert_int_equal(core_answer_of(f)->parts[core_nth(f, 2)], FENCE_PART_PENDING);
}

static void two_that_are_late_have_two_others_asked(void **state)
{
    struct core_fixture *f = asked(state, 5);
    grant(f, 1, 7);
    core_tick(f);
    assert_int_equal(taken(f), core_nths(f, 3, 2));
    assert_int_equal(fence_core_counts(f->core)->hedges, 2);
}

static void one_asked_later_that_is_late_has_another_asked(void **state)
{
    struct core_fixture *f = asked(state, 7);
    for (unsigned k = 0; k < 3; k++)
        grant(f, k, 7);
    core_tick(f);
    assert_int_equal(taken(f), core_nths(f, 4, 1));
    core_tick(f);
    assert_int_equal(taken(f), core_nths(f, 5, 1)); /* the first that was late counted before */
    assert_int_equal(fence_core_counts(f->core)->hedges, 2);
}

static void one_that_went_down_is_not_asked_later(void **state)
{
    struct core_fixture *f = asked(state, 5);
    grant(f, 0, 7);
    grant(f, 1, 7);
    core_down(f, core_nth(f, 3));
    core_tick(f);
    assert_int_equal(taken(f), core_nths(f, 4, 1));
}

/* A hedge is a late message of the same attempt. */
static void one_asked_later_is_asked_for_the_same_attempt(void **state)
{
    struct core_fixture *f = asked(state, 3);
    uint64_t attempt = take_of(f, 0)->attempt;
    core_tick(f);
    assert_true(take_of(f, 2)->attempt == attempt);
    assert_string_equal(take_of(f, 2)->lock_id, core_lock_id(1));
    assert_int_equal(take_of(f, 2)->ttl_ms, CORE_TTL_MS);
}

static void refusal_has_all_the_others_asked_at_once(void **state)
{
    static const enum fence_reply_kind kinds[] = {FENCE_REPLY_REFUSED, FENCE_REPLY_LOST};
    for (unsigned k = 0; k < 2; k++) {
        struct core_fixture *f = asked(state, 5);
        core_reply_kind(f, core_nth(f, 0), kinds[k]);
        assert_int_equal(taken(f), core_nths(f, 3, 2));
        assert_int_equal(fence_core_counts(f->core)->hedges, 0); /* no master was late */
    }
}

static void number_beside_a_holder_has_all_the_others_asked_at_once(void **state)
{
    struct core_fixture *f = asked(state, 5);
    core_held(f, core_nth(f, 0), CORE_OTHER_HOLDER, 1000);
    assert_no_effects(f);
    grant(f, 1, 7);
    assert_int_equal(taken(f), core_nths(f, 3, 2));
}

static void held_by_one_at_the_first_majority_asks_nobody_else(void **state)
{
    struct core_fixture *f = asked(state, 3);
    core_held(f, core_nth(f, 0), CORE_OTHER_HOLDER, 1000);
    core_held(f, core_nth(f, 1), CORE_OTHER_HOLDER, 1000);
    assert_answer(f, 1, FENCE_EHELD);
    assert_int_equal(taken(f), 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), core_nths(f, 0, 2));
}

static void round_ends_when_it_would_without_a_hedge(void **state)
{
    struct core_fixture *f = asked(state, 3);
    uint64_t asked_us = f->now_us;
    while (core_answers(f) == 0)
        core_tick(f);
    assert_int_equal(f->now_us - asked_us, FENCE_MASTER_DEADLINE_US);
    assert_answer(f, 1, FENCE_ENOQUORUM);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(3)); /* all ever sent to */
}

static void hedge_of_a_short_lease_comes_after_a_third_of_its_round(void **state)
{
    struct core_fixture *f = core_fixture_new_spread(state, 3);
    core_acquire_ttl(f, 1, 150);
    assert_int_equal(fence_core_deadline(f->core), f->now_us + 15000 / FENCE_HEDGE_ROUND_PART);
}

static void validity_counts_from_the_first_that_were_asked(void **state)
{
    struct core_fixture *f = asked(state, 3);
    uint64_t asked_us = f->now_us;
    grant(f, 0, 7);
    core_tick(f);
    core_later_us(f, 5000);
    grant(f, 2, 7);
    assert_answer(f, 1, 0);
    uint64_t drift_us = CORE_TTL_MS * 10 + 2000;
    uint64_t left_us = CORE_TTL_MS * UINT64_C(1000) - (f->now_us - asked_us) - drift_us;
    assert_int_equal(core_answer_of(f)->lease.validity_ms, left_us / 1000);
}

static void hedge_under_another_view_is_not_sent(void **state)
{
    struct core_fixture *f = asked(state, 3);
    grant(f, 0, 7);
    change_view(f, core_nth(f, 2));
    core_tick(f);
    assert_int_equal(taken(f), 0);
    assert_int_equal(core_answers(f), 0);
    grant(f, 1, 7); /* those that were asked are enough */
    assert_answer(f, 1, 0);
}

static void attempt_that_cannot_ask_others_any_more_begins_anew(void **state)
{
    struct core_fixture *f = asked(state, 3);
    uint64_t attempt = take_of(f, 0)->attempt;
    change_view(f, core_nth(f, 2));
    core_reply_kind(f, core_nth(f, 0), FENCE_REPLY_REFUSED);
    assert_int_equal(taken(f), 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), core_nths(f, 0, 2));
    core_tick(f);
    assert_int_equal(taken(f), core_nths(f, 0, 2));
    assert_true(take_of(f, 0)->attempt != attempt);
}

static void those_that_do_not_count_are_undone_by_the_attempt(void **state)
{
    struct core_fixture *f = asked(state, 5);
    uint64_t attempt = take_of(f, 0)->attempt;
    grant(f, 0, 7);
    core_tick(f); /* two are late, two others are asked */
    grant(f, 3, 7);
    grant(f, 1, 7);
    assert_answer(f, 1, 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), core_nths(f, 2, 1) | core_nths(f, 4, 1));
    const struct fence_request *undo = core_request(f, FENCE_REQUEST_UNDO, core_nth(f, 2));
    assert_true(undo->attempt == attempt);
    assert_string_equal(undo->lock_id, core_lock_id(1));
}

static void where_all_are_asked_nobody_is_undone_after_the_grant(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 5, 0);
    for (unsigned i = 0; i < 3; i++)
        core_number(f, i, 7);
    assert_answer(f, 1, 0);
    assert_int_equal(f->effects.count, 1);
}

static void last_token_is_hinted_once_another_master_is_asked(void **state)
{
    struct core_fixture *f = core_fixture_new_spread(state, 5);
    assert_int_equal(granted_at_once(f, 1, 7), 0);
    core_down(f, core_nth(f, 0));
    assert_int_equal(granted_at_once(f, 2, 8), 7);
    assert_int_equal(granted_at_once(f, 3, 9), 0); /* that one is in step by now */
}

static void one_that_did_not_count_is_not_in_step(void **state)
{
    struct core_fixture *f = asked(state, 3);
    grant(f, 0, 7);
    core_tick(f);
    grant(f, 2, 7);
    assert_answer(f, 1, 0);
    core_acquire(f, 2, 0);
    assert_int_equal(taken(f), core_nths(f, 0, 2));
    assert_int_equal(take_of(f, 1)->take.hint, 7);
}

/* The second round raised the counters to the token. */
static void confirmed_token_is_what_counters_are_at(void **state)
{
    struct core_fixture *f = asked(state, 3);
    grant(f, 0, 7);
    grant(f, 1, 9);
    core_reply_kind(f, core_nth(f, 0), FENCE_REPLY_YES);
    core_reply_kind(f, core_nth(f, 1), FENCE_REPLY_YES);
    assert_answer(f, 1, 0);
    core_down(f, core_nth(f, 0));
    core_acquire(f, 2, 0);
    assert_int_equal(take_of(f, 1)->take.hint, 9);
    assert_int_equal(take_of(f, 2)->take.hint, 9);
}

static void hints_are_forgotten_with_the_view(void **state)
{
    struct core_fixture *f = core_fixture_new_spread(state, 5);
    assert_int_equal(granted_at_once(f, 1, 7), 0);
    change_view(f, core_nth(f, 4));
    core_down(f, core_nth(f, 0));
    assert_int_equal(granted_at_once(f, 2, 8), 0);
}

static void failed_attempt_teaches_nothing(void **state)
{
    struct core_fixture *f = asked(state, 3);
    grant(f, 0, 7);
    core_held(f, core_nth(f, 1), "contender-b", 1000);
    core_held(f, core_nth(f, 2), "contender-c", 1000);
    core_tick(f);
    assert_int_equal(taken(f), core_nths(f, 0, 2));
    assert_int_equal(take_of(f, 0)->take.hint, 0);
}

static void hedge_hints_what_makes_its_number_the_highest_so_far(void **state)
{
    struct core_fixture *f = asked(state, 5);
    assert_int_equal(take_of(f, 0)->take.hint, 0);
    grant(f, 0, 7);
    grant(f, 1, 12);
    core_tick(f);
    assert_int_equal(take_of(f, 3)->take.hint, 11);
}

static void hedge_without_a_number_so_far_hints_as_the_first_did(void **state)
{
    struct core_fixture *f = core_fixture_new_spread(state, 3);
    assert_int_equal(granted_at_once(f, 1, 7), 0);
    core_acquire(f, 2, 0);
    assert_int_equal(take_of(f, 0)->take.hint, 0);
    core_tick(f);
    assert_int_equal(take_of(f, 2)->take.hint, 7);
}

static void where_all_are_asked_nothing_is_hinted(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_grant(f, 7);
    core_acquire(f, 2, 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(core_request(f, FENCE_REQUEST_TAKE, i)->take.hint, 0);
}

static const struct fence_group *pair(void)
{
    static struct fence_group group = {.count = 2};
    static const char *const names[] = {CORE_RESOURCE, "b"};
    for (unsigned k = 0; k < 2; k++) {
        size_t len = strlen(names[k]);
        group.locks[k].slot = (uint16_t)fence_slot(names[k], len);
        memcpy(group.locks[k].resource, names[k], len + 1);
    }
    return &group;
}

static void acquire_pair(struct core_fixture *f, uint64_t client)
{
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, client);
    call.group = pair();
    core_call(f, call);
}

static void grant_pair(struct core_fixture *f, unsigned k, int64_t a, int64_t b)
{
    const int64_t given[] = {a, b};
    core_reply(f, core_nth(f, k),
               (struct fence_reply){.kind = FENCE_REPLY_NUMBER, .numbers = given, .locks = 2});
}

static void each_lock_of_several_has_a_hint_of_its_own(void **state)
{
    struct core_fixture *f = core_fixture_new_spread(state, 3);
    acquire_pair(f, 1);
    assert_int_equal(taken(f), core_nths(f, 0, 2)); /* taken by the first of them */
    grant_pair(f, 0, 7, 3);
    grant_pair(f, 1, 7, 3);
    assert_answer(f, 1, 0);
    core_down(f, core_nth(f, 0));
    acquire_pair(f, 2);
    assert_int_equal(take_of(f, 1)->group->locks[0].hint, 7);
    assert_int_equal(take_of(f, 1)->group->locks[1].hint, 3);
    assert_int_equal(take_of(f, 1)->take.hint, 0);
}

static void hedge_of_several_hints_what_makes_each_number_the_highest(void **state)
{
    struct core_fixture *f = core_fixture_new_spread(state, 3);
    acquire_pair(f, 1);
    grant_pair(f, 1, 7, 3);
    core_tick(f);
    assert_int_equal(taken(f), core_nths(f, 2, 1));
    assert_int_equal(take_of(f, 2)->group->locks[0].hint, 6);
    assert_int_equal(take_of(f, 2)->group->locks[1].hint, 2);
    grant_pair(f, 2, 7, 3);
    assert_answer(f, 1, 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), core_nths(f, 0, 1));
    assert_int_equal(core_request(f, FENCE_REQUEST_UNDO, core_nth(f, 0))->group->count, 2);
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(majority_is_asked_from_the_slot_on),
    CORE_CASE(next_in_the_ring_is_asked_for_one_that_is_not_active),
    CORE_CASE(as_many_others_are_asked_as_are_late),
    CORE_CASE(two_that_are_late_have_two_others_asked),
    CORE_CASE(one_asked_later_that_is_late_has_another_asked),
    CORE_CASE(one_that_went_down_is_not_asked_later),
    CORE_CASE(one_asked_later_is_asked_for_the_same_attempt),
    CORE_CASE(refusal_has_all_the_others_asked_at_once),
    CORE_CASE(number_beside_a_holder_has_all_the_others_asked_at_once),
    CORE_CASE(held_by_one_at_the_first_majority_asks_nobody_else),
    CORE_CASE(round_ends_when_it_would_without_a_hedge),
    CORE_CASE(hedge_of_a_short_lease_comes_after_a_third_of_its_round),
    CORE_CASE(validity_counts_from_the_first_that_were_asked),
    CORE_CASE(hedge_under_another_view_is_not_sent),
    CORE_CASE(attempt_that_cannot_ask_others_any_more_begins_anew),
    CORE_CASE(those_that_do_not_count_are_undone_by_the_attempt),
    CORE_CASE(where_all_are_asked_nobody_is_undone_after_the_grant),
    CORE_CASE(last_token_is_hinted_once_another_master_is_asked),
    CORE_CASE(one_that_did_not_count_is_not_in_step),
    CORE_CASE(confirmed_token_is_what_counters_are_at),
    CORE_CASE(hints_are_forgotten_with_the_view),
    CORE_CASE(failed_attempt_teaches_nothing),
    CORE_CASE(hedge_hints_what_makes_its_number_the_highest_so_far),
    CORE_CASE(hedge_without_a_number_so_far_hints_as_the_first_did),
    CORE_CASE(where_all_are_asked_nothing_is_hinted),
    CORE_CASE(each_lock_of_several_has_a_hint_of_its_own),
    CORE_CASE(hedge_of_several_hints_what_makes_each_number_the_highest),
};

CASE_MAIN(cases, NULL, NULL)
