/* A client asks again with its own lock id. */
#include "tests/unit/fence/core_fixture.h"

#include <string.h>

static void acquire_again(struct core_fixture *f, uint64_t client, uint32_t wait_ms)
{
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, client);
    call.lock_id = "the-clients-own-lock-id";
    call.idempotent = true;
    call.wait_ms = wait_ms;
    core_call(f, call);
}

static void found(struct core_fixture *f, unsigned i, int64_t number, uint64_t remaining_ms)
{
    core_reply(f, i,
               (struct fence_reply){
                   .kind = FENCE_REPLY_NUMBER,
                   .number = number,
                   .found = true,
                   .remaining_ms = remaining_ms,
               });
}

static void masters_are_told_that_the_id_is_the_clients_own(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    acquire_again(f, 1, 0);
    assert_true(core_request(f, FENCE_REQUEST_TAKE, 0)->idempotent);
    core_numbers(f, 7, 8);
    assert_true(core_request(f, FENCE_REQUEST_CONFIRM, 0)->idempotent);
    core_fixture_new(state, 3);
    core_acquire(*state, 1, 0);
    assert_false(core_request(*state, FENCE_REQUEST_TAKE, 0)->idempotent);
}

static void lock_that_a_majority_finds_is_granted_as_found(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    acquire_again(f, 1, 0);
    found(f, 0, 7, 20000);
    found(f, 1, 7, 20000);
    assert_answer(f, 1, 0);
    assert_true(core_answer_of(f)->acquire.found);
    assert_int_equal(core_answer_of(f)->token, 7);
}

static void lock_that_was_partly_taken_is_granted_as_new(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    acquire_again(f, 1, 0);
    found(f, 0, 7, 20000);
    core_number(f, 1, 7);
    assert_answer(f, 1, 0);
    assert_false(core_answer_of(f)->acquire.found);
}

static void validity_is_what_the_shortest_of_those_counted_has_left(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    acquire_again(f, 1, 0);
    core_later_us(f, 10000);
    found(f, 0, 7, 20000);
    found(f, 1, 7, 5000);
    /* 5000 ms, less the 10 since the first request left, less 1 % of it and 2. */
    assert_int_equal(core_answer_of(f)->lease.validity_ms, 5000 - 10 - 50 - 2);
}

static void lock_that_is_about_to_end_is_not_granted(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    acquire_again(f, 1, 0);
    found(f, 0, 7, 20000);
    found(f, 1, 7, 1);
    assert_answer(f, 1, FENCE_ETOOSLOW);
}

static void numbers_that_differ_are_confirmed_as_ever(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    acquire_again(f, 1, 0);
    found(f, 0, 7, 20000);
    found(f, 1, 9, 20000);
    assert_int_equal(core_request(f, FENCE_REQUEST_CONFIRM, 0)->token, 9);
    core_both_reply(f, FENCE_REPLY_YES);
    assert_int_equal(core_answer_of(f)->token, 9);
    assert_true(core_answer_of(f)->acquire.found);
}

/* The first answer got lost, and the client asks the same server again while others wait. */
static void holder_that_asks_again_does_not_wait_for_those_who_wait_for_it(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    acquire_again(f, 1, 0);
    core_acquire(f, 2, 5000);
    core_grant(f, 7);
    acquire_again(f, 3, 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
    found(f, 0, 7, 20000);
    found(f, 1, 7, 20000);
    assert_answer(f, 3, 0);
    assert_true(core_answer_of(f)->acquire.found);
    core_acquire(f, 4, 0);
    assert_answer(f, 4, FENCE_EHELD);
}

static void retry_that_waits_in_line_is_served_when_its_first_call_is(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    acquire_again(f, 1, 5000);
    core_acquire(f, 2, 5000);
    acquire_again(f, 3, 5000);
    core_grant(f, 7);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
    found(f, 0, 7, 20000);
    found(f, 1, 7, 20000);
    assert_answer(f, 3, 0);
}

static void waiter_whose_own_lock_is_about_to_end_tries_again(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    acquire_again(f, 1, 5000);
    found(f, 0, 7, 1);
    found(f, 1, 7, 1);
    assert_int_equal(core_answers(f), 0);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(masters_are_told_that_the_id_is_the_clients_own),
    CORE_CASE(lock_that_a_majority_finds_is_granted_as_found),
    CORE_CASE(lock_that_was_partly_taken_is_granted_as_new),
    CORE_CASE(validity_is_what_the_shortest_of_those_counted_has_left),
    CORE_CASE(lock_that_is_about_to_end_is_not_granted),
    CORE_CASE(numbers_that_differ_are_confirmed_as_ever),
    CORE_CASE(holder_that_asks_again_does_not_wait_for_those_who_wait_for_it),
    CORE_CASE(retry_that_waits_in_line_is_served_when_its_first_call_is),
    CORE_CASE(waiter_whose_own_lock_is_about_to_end_tries_again),
};

CASE_MAIN(cases, NULL, NULL)
