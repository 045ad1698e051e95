/* Waiting, and the line for a resource inside one server. */
#include "tests/unit/fence/core_fixture.h"

/* Three masters, which all say that another holds the lock, and have cleaned up: they owe nothing.
 */
static void meet_holder_everywhere(struct core_fixture *f, uint64_t remaining_ms)
{
    const uint64_t take = f->tag[2];
    uint64_t undo[3];
    core_meet_holder(f, remaining_ms);
    for (unsigned i = 0; i < 3; i++)
        undo[i] = core_request(f, FENCE_REQUEST_UNDO, i)->tag;
    core_reply_to(f, 2, take,
                  (struct fence_reply){.kind = FENCE_REPLY_HELD,
                                       .holder = CORE_OTHER_HOLDER,
                                       .owner = "",
                                       .remaining_ms = remaining_ms});
    for (unsigned i = 0; i < 3; i++)
        core_reply_to(f, i, undo[i], (struct fence_reply){.kind = FENCE_REPLY_NO});
}

static void waiter_looks_again_after_a_random_while(void **state)
{
    uint64_t least_us = FENCE_NEVER;
    uint64_t most_us = 0;
    for (uint64_t random = 0; random < 64; random++) {
        struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
        f->random = random << 32;
        meet_holder_everywhere(f, 10000);
        assert_int_equal(core_answers(f), 0);
        uint64_t paused_us = f->now_us;
        core_tick(f);
        assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
        uint64_t us = f->now_us - paused_us;
        least_us = us < least_us ? us : least_us;
        most_us = us > most_us ? us : most_us;
    }
    const uint64_t spread_us = UINT64_C(1) * FENCE_LOOK_US * FENCE_LOOK_SPREADS;
    assert_true(least_us >= FENCE_LOOK_US);
    assert_true(most_us < FENCE_LOOK_US + spread_us);
    assert_true(most_us - least_us > spread_us / 2);
}

static void waiter_looks_again_at_the_end_of_the_lease_if_that_is_sooner(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
    core_meet_holder(f, 2);
    uint64_t paused_us = f->now_us;
    core_tick(f);
    assert_int_equal(f->now_us - paused_us, 3000);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
}

/* Whatever masters say of one holder, again and again. */
static void a_holder_whose_lease_never_ends_is_looked_at_less_and_less_often(void **state)
{
    static const uint64_t remaining_ms[] = {0, 1, 5, UINT64_MAX};
    for (unsigned i = 0; i < sizeof(remaining_ms) / sizeof(remaining_ms[0]); i++) {
        struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
        const uint64_t began_us = f->now_us;
        unsigned looks = 0;
        while (f->now_us - began_us < 1000000) {
            meet_holder_everywhere(f, remaining_ms[i]);
            assert_int_equal(core_answers(f), 0);
            core_tick(f);
            assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
            looks++;
        }
        const uint64_t least_us = (uint64_t)FENCE_LOOK_LEAST_US << FENCE_LOOK_DOUBLINGS_MAX;
        assert_in_range(looks, 1, 1000000 / least_us + FENCE_LOOK_DOUBLINGS_MAX + 2);
    }
}

static void waiter_tries_more_often_than_one_that_does_not_wait(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
    for (unsigned t = 0; t < 3 * FENCE_TRIES_MAX; t++) {
        if (t % 2)
            core_meet_contenders(f);
        else
            meet_holder_everywhere(f, 10);
        assert_int_equal(core_answers(f), 0);
        core_tick(f);
        assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
    }
    core_grant(f, 7);
    assert_answer(f, 1, 0);
}

static void wait_ends_on_time(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 4);
    uint64_t arrived_us = f->now_us;
    core_meet_holder(f, 1000);
    core_tick(f);
    assert_int_equal(f->now_us - arrived_us, 4000);
    assert_answer(f, 1, FENCE_EWAITTIMEOUT);
    assert_int_equal(core_answer_of(f)->remaining_ms, 1000 - 4);
    assert_string_equal(core_answer_of(f)->owner, "holder");
    assert_int_equal(core_answer_of(f)->served_us / 1000, 4);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0);
}

static void attempt_that_ends_after_the_wait_is_the_last(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 4);
    core_later_us(f, 4000);
    core_meet_holder(f, 1000);
    assert_answer(f, 1, FENCE_EWAITTIMEOUT);
    f = core_fixture_acquiring(state, 3, 4);
    core_later_us(f, 4000);
    core_meet_contenders(f);
    assert_answer(f, 1, FENCE_EWAITTIMEOUT);
}

static void only_the_first_in_line_troubles_the_masters(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
    core_acquire(f, 2, 5000);
    assert_no_effects(f);
    core_acquire(f, 3, 0);
    assert_no_effects(f);
    assert_int_equal(fence_core_calls(f->core), 3);
}

static void other_resources_are_not_held_up(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, 2);
    call.resource = "orders/43";
    core_call(f, call);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->resource, "orders/43");
}

static void those_behind_a_winner_are_told_held_without_asking_the_masters(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_acquire(f, 2, 0);
    core_acquire(f, 3, 0);
    core_grant(f, 7);
    assert_answer(f, 1, 0);
    for (unsigned client = 2; client <= 3; client++) {
        core_tick(f);
        assert_answer(f, client, FENCE_EHELD);
        assert_string_equal(core_answer_of(f)->owner, "worker");
        assert_int_equal(core_answer_of(f)->remaining_ms, CORE_TTL_MS);
        assert_int_equal(f->effects.count, 1);
    }
    assert_int_equal(fence_core_calls(f->core), 0);
}

static void those_behind_one_that_was_told_held_are_told_so_too(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_acquire(f, 2, 0);
    core_meet_holder(f, 1000);
    assert_answer(f, 1, FENCE_EHELD);
    core_tick(f);
    assert_answer(f, 2, FENCE_EHELD);
    assert_int_equal(core_answer_of(f)->remaining_ms, 1000);
    assert_string_equal(core_answer_of(f)->owner, "holder");
}

static void who_comes_while_a_waiter_knows_the_holder_is_told_held(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
    core_meet_holder(f, 1000);
    core_acquire(f, 2, 0);
    assert_answer(f, 2, FENCE_EHELD);
    assert_int_equal(core_answer_of(f)->remaining_ms, 1000);
    assert_int_equal(f->effects.count, 1);
}

static void those_behind_a_failure_try_for_themselves(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_acquire(f, 2, 0);
    core_both_reply(f, FENCE_REPLY_LOST);
    assert_answer(f, 1, FENCE_ENOQUORUM);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
    core_grant(f, 7);
    assert_answer(f, 2, 0);
}

static void those_that_may_wait_are_counted_until_they_have_their_answer(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
    core_acquire(f, 2, 0);
    core_acquire(f, 3, 5000);
    assert_int_equal(fence_core_calls(f->core), 3);
    assert_int_equal(fence_core_waiting(f->core), 2);
    core_grant(f, 7);
    assert_int_equal(fence_core_waiting(f->core), 1);
}

static void waiters_are_served_in_the_order_they_came(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    for (unsigned client = 1; client <= 4; client++)
        core_acquire(f, client, 5000);
    for (unsigned client = 1; client <= 4; client++) {
        core_grant(f, client);
        assert_answer(f, client, 0);
        if (client == 4)
            break;
        core_tick(f); /* the next looks a while later, as any waiter */
        assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
        assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->lock_id,
                            core_lock_id(client + 1));
    }
}

static void waiter_in_line_times_out_without_holding_up_the_rest(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
    core_acquire(f, 2, 2);
    core_acquire(f, 3, 5000);
    core_tick(f);
    assert_answer(f, 2, FENCE_EWAITTIMEOUT);
    assert_int_equal(f->effects.count, 1);
    core_grant(f, 7);
    assert_answer(f, 1, 0);
    core_tick(f);
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->lock_id, core_lock_id(3));
}

static void release_by(struct core_fixture *f, uint64_t client)
{
    struct fence_call call = core_call_of(FENCE_CALL_RELEASE, client);
    call.client += 100;
    core_call(f, call);
    core_both_reply(f, FENCE_REPLY_YES);
    assert_answer(f, 100 + client, 0);
}

/* Three masters, of which two say that @client holds the lock. */
static void meet(struct core_fixture *f, uint64_t client)
{
    core_both_held(f, core_lock_id(client), 20000);
}

static void release_wakes_the_first_in_line_and_nobody_else(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_grant(f, 7);
    core_acquire(f, 2, 5000);
    core_acquire(f, 3, 5000);
    meet(f, 1);
    release_by(f, 1);
    uint64_t released_us = f->now_us;
    core_tick(f);
    assert_int_equal(f->now_us, released_us);
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->lock_id, core_lock_id(2));
    assert_true(fence_core_deadline(f->core) > released_us);
}

static void after_a_release_the_lock_is_not_taken_for_held(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_acquire(f, 2, 5000);
    meet(f, 1);
    release_by(f, 1);
    core_acquire(f, 3, 0);
    assert_no_effects(f); /* it stands in line instead of being turned away */
}

static void no_wait_caller_behind_a_waiter_is_told_held_when_the_waiter_is(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 300000);
    core_acquire(f, 2, 0);
    core_meet_holder(f, 60000);
    if (core_answers(f) == 0)
        core_tick(f);
    assert_answer(f, 2, FENCE_EHELD);
}

static void released(struct core_fixture *f, uint64_t client)
{
    core_tell_released(f, CORE_RESOURCE, core_lock_id(client));
}

static void who_waits_says_so_to_the_masters(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
    assert_true(core_request(f, FENCE_REQUEST_TAKE, 0)->take.waits);
    f = core_fixture_acquiring(state, 3, 0);
    assert_false(core_request(f, FENCE_REQUEST_TAKE, 0)->take.waits);
}

static void first_in_line_is_woken_by_what_a_master_publishes(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_acquire(f, 2, 5000);
    core_acquire(f, 3, 5000);
    meet(f, 1);
    assert_false(core_is_due(f));
    released(f, 1);
    assert_true(core_is_due(f));
    core_tick(f);
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->lock_id, core_lock_id(2));
}

static void late_word_of_an_earlier_holder_wakes_nobody(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_acquire(f, 2, 5000);
    core_acquire(f, 3, 5000);
    core_grant(f, 7); /* 2 has it now; the other masters tell of 1 */
    released(f, 1);
    assert_false(core_is_due(f));
    released(f, 2);
    assert_true(core_is_due(f));
}

/* The others still had it when they were asked, and their word came first. */
static void word_that_overtakes_an_answer_is_not_lost(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_acquire(f, 2, 5000);
    released(f, 1);
    meet(f, 1);
    const uint64_t soon_us = f->now_us + (FENCE_RETRY_BASE_US << 1);
    assert_true(fence_core_deadline(f->core) <= soon_us);
    core_tick(f);
    meet(f, 1); /* there it is still: no reason to hurry any more */
    assert_true(fence_core_deadline(f->core) > soon_us + FENCE_RETRY_BASE_US);
}

static void word_about_what_nobody_waits_for_is_nothing(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    released(f, 1);
    assert_no_effects(f);
}

/* It may be released through another server before this one has told the masters that somebody
 * waits. */
static void new_first_in_line_looks_soon(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
    core_acquire(f, 2, 5000);
    core_grant(f, 7);
    const uint64_t soon_us =
        f->now_us + UINT64_C(1) * FENCE_FIRST_LOOK_US * (1 + FENCE_LOOK_SPREADS);
    assert_true(fence_core_deadline(f->core) <= soon_us);
    core_tick(f);
    assert_true(core_request(f, FENCE_REQUEST_TAKE, 0)->take.waits);
}

/* pawld init made the fleet again, with shorter leases, while somebody waited. */
static void waiter_is_not_granted_a_longer_lease_than_the_fleet_allows_by_then(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 60000);
    core_meet_holder(f, 1000);
    struct fence_facts anew[3];
    for (unsigned i = 0; i < 3; i++) {
        anew[i] = core_facts(i);
        anew[i].fleet_id[0] = 'e';
        anew[i].ttl_max_ms = CORE_TTL_MS - 1;
        core_down(f, i);
    }
    for (unsigned i = 0; i < 3; i++)
        core_shake_hands(f, i, anew[i]);
    core_shake_hands(f, 0, anew[0]); /* the first, before a majority had named the new fleet */
    assert_int_equal(fence_core_fleet(f->core)->ttl_max_ms, CORE_TTL_MS - 1);
    for (int ticks = 0; ticks < 10 && core_answers(f) == 0; ticks++) {
        assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0);
        core_tick(f);
    }
    assert_answer(f, 1, FENCE_ETTL);
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(waiter_looks_again_after_a_random_while),
    CORE_CASE(waiter_looks_again_at_the_end_of_the_lease_if_that_is_sooner),
    CORE_CASE(a_holder_whose_lease_never_ends_is_looked_at_less_and_less_often),
    CORE_CASE(waiter_tries_more_often_than_one_that_does_not_wait),
    CORE_CASE(wait_ends_on_time),
    CORE_CASE(attempt_that_ends_after_the_wait_is_the_last),
    CORE_CASE(only_the_first_in_line_troubles_the_masters),
    CORE_CASE(other_resources_are_not_held_up),
    CORE_CASE(those_behind_a_winner_are_told_held_without_asking_the_masters),
    CORE_CASE(those_behind_one_that_was_told_held_are_told_so_too),
    CORE_CASE(who_comes_while_a_waiter_knows_the_holder_is_told_held),
    CORE_CASE(those_behind_a_failure_try_for_themselves),
    CORE_CASE(those_that_may_wait_are_counted_until_they_have_their_answer),
    CORE_CASE(waiters_are_served_in_the_order_they_came),
    CORE_CASE(waiter_in_line_times_out_without_holding_up_the_rest),
    CORE_CASE(release_wakes_the_first_in_line_and_nobody_else),
    CORE_CASE(after_a_release_the_lock_is_not_taken_for_held),
    CORE_CASE(no_wait_caller_behind_a_waiter_is_told_held_when_the_waiter_is),
    CORE_CASE(who_waits_says_so_to_the_masters),
    CORE_CASE(first_in_line_is_woken_by_what_a_master_publishes),
    CORE_CASE(late_word_of_an_earlier_holder_wakes_nobody),
    CORE_CASE(word_that_overtakes_an_answer_is_not_lost),
    CORE_CASE(word_about_what_nobody_waits_for_is_nothing),
    CORE_CASE(new_first_in_line_looks_soon),
    CORE_CASE(waiter_is_not_granted_a_longer_lease_than_the_fleet_allows_by_then),
};

CASE_MAIN(cases, NULL, NULL)
