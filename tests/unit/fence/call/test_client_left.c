/* Clients that go before they are answered. */
#include "tests/unit/fence/core_fixture.h"

static void waiter_that_left_is_out_of_the_line_at_once(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    for (uint64_t client = 1; client <= 3; client++)
        core_acquire(f, client, 5000);
    core_client_left(f, 2);
    assert_answer(f, 2, FENCE_ELEFT);
    assert_int_equal(fence_core_calls(f->core), 2);
    core_numbers(f, 7, 7);
    assert_answer(f, 1, 0);
    core_tick(f);
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->lock_id, core_lock_id(3));
}

static void what_one_that_left_may_have_been_granted_is_taken_back(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
    const uint64_t attempt = core_request(f, FENCE_REQUEST_TAKE, 0)->attempt;
    core_number(f, 0, 7);
    core_client_left(f, 1);
    assert_answer(f, 1, FENCE_ELEFT);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(3));
    assert_int_equal(core_request(f, FENCE_REQUEST_UNDO, 0)->attempt, attempt);
    core_number(f, 1, 7);
    assert_int_equal(core_answers(f), 0);
}

static void next_in_line_takes_the_place_of_the_first_that_left(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
    core_acquire(f, 2, 5000);
    core_client_left(f, 1);
    core_tick(f);
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->lock_id, core_lock_id(2));
}

static void caller_that_did_not_wait_is_let_go_too(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_client_left(f, 1);
    assert_answer(f, 1, FENCE_ELEFT);
    assert_int_equal(fence_core_calls(f->core), 0);
}

/* A release is carried out though no client hears of it. */
static void other_calls_go_on(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_call(f, core_call_of(FENCE_CALL_RELEASE, 1));
    core_client_left(f, 1);
    assert_no_effects(f);
    core_both_reply(f, FENCE_REPLY_YES);
    assert_answer(f, 1, 0);
}

static void client_that_was_answered_has_left_nothing(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_numbers(f, 7, 7);
    assert_answer(f, 1, 0);
    core_client_left(f, 1);
    assert_no_effects(f);
}

/* As its driver does when it cannot hand over what was just granted. */
static void decline(struct core_fixture *f, struct fence_answer answer)
{
    core_give(f, (struct fence_event){
                     .kind = FENCE_EVENT_DECLINED,
                     .declined =
                         {
                             .resource = answer.resource,
                             .group = answer.acquire.group,
                             .lock_id = answer.lock_id,
                             .attempt = answer.acquire.attempt,
                             .ttl_ms = answer.lease.ttl_ms,
                             .masters = answer.acquire.sent,
                         },
                 });
}

/* Under its lock id it would take what the client was given elsewhere when it asked again. */
static void declined_grant_is_taken_back_by_its_attempt(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    uint64_t attempt = core_request(f, FENCE_REQUEST_TAKE, 0)->attempt;
    core_grant(f, 7);
    decline(f, *core_answer_of(f));
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(3));
    assert_int_equal(core_request(f, FENCE_REQUEST_UNDO, 2)->attempt, attempt);
    assert_int_equal(core_sent(f, FENCE_REQUEST_RELEASE), 0);
}

static void who_waits_behind_a_declined_grant_tries_at_once(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_acquire(f, 2, 5000);
    core_grant(f, 7);
    decline(f, *core_answer_of(f));
    uint64_t declined_us = f->now_us;
    core_tick(f);
    assert_int_equal(f->now_us, declined_us);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(waiter_that_left_is_out_of_the_line_at_once),
    CORE_CASE(what_one_that_left_may_have_been_granted_is_taken_back),
    CORE_CASE(next_in_line_takes_the_place_of_the_first_that_left),
    CORE_CASE(caller_that_did_not_wait_is_let_go_too),
    CORE_CASE(other_calls_go_on),
    CORE_CASE(client_that_was_answered_has_left_nothing),
    CORE_CASE(declined_grant_is_taken_back_by_its_attempt),
    CORE_CASE(who_waits_behind_a_declined_grant_tries_at_once),
};

CASE_MAIN(cases, NULL, NULL)
