/* One of several seats: which is asked for, who waits, and what wakes. */
#include "tests/unit/fence/core_fixture.h"

#include <stdio.h>
#include <string.h>

#define SEAT(k) CORE_RESOURCE "#" k

static void acquire_seat(struct core_fixture *f, uint64_t client, unsigned seats, uint32_t wait_ms)
{
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, client);
    call.seats = seats;
    call.wait_ms = wait_ms;
    core_call(f, call);
}

static struct core_fixture *acquiring_seat(void **state, unsigned seats, uint32_t wait_ms)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    acquire_seat(f, 1, seats, wait_ms);
    return f;
}

static void assert_asks_for(const struct core_fixture *f, const char *seat)
{
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->resource, seat);
}

/* A caller that repeats its call: with the lock id of @client. */
static void ask_again(struct core_fixture *f, uint64_t client, unsigned seats)
{
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, client);
    call.seats = seats;
    call.idempotent = true;
    core_call(f, call);
}

/* The questions of the survey in the last step to master @i about @seat. */
static uint64_t surveyed(const struct core_fixture *f, unsigned i, const char *seat)
{
    for (unsigned k = 0; k < f->effects.count; k++) {
        const struct fence_effect *effect = &f->effects.items[k];
        if (effect->kind == FENCE_EFFECT_SEND && effect->masters >> i & 1 &&
            effect->request.kind == FENCE_REQUEST_INSPECT &&
            strcmp(effect->request.resource, seat) == 0)
            return effect->request.tag;
    }
    fail_msg("master %u is not asked about %s", i, seat);
    return 0;
}

static void held_seat_is_left_for_the_next(void **state)
{
    struct core_fixture *f = acquiring_seat(state, 2, 0);
    assert_asks_for(f, SEAT("0"));
    core_both_held(f, CORE_OTHER_HOLDER, 1000);
    assert_string_equal(core_request(f, FENCE_REQUEST_UNDO, 0)->resource, SEAT("0"));
    assert_asks_for(f, SEAT("1"));
    core_numbers(f, 7, 7);
    assert_answer(f, 1, 0);
    assert_string_equal(core_answer_of(f)->resource, SEAT("1"));
    assert_int_equal(core_answer_of(f)->token, 7);
}

static void all_held_is_held_until_the_first_lease_ends(void **state)
{
    struct core_fixture *f = acquiring_seat(state, 2, 0);
    core_both_held(f, CORE_OTHER_HOLDER, 3000);
    core_both_held(f, CORE_OTHER_HOLDER, 2000);
    assert_answer(f, 1, FENCE_EHELD);
    assert_string_equal(core_answer_of(f)->resource, CORE_RESOURCE);
    assert_int_equal(core_answer_of(f)->remaining_ms, 2000);
}

static void waiter_is_told_of_the_release_of_any_seat(void **state)
{
    struct core_fixture *f = acquiring_seat(state, 2, 10000);
    core_both_held(f, CORE_OTHER_HOLDER, 9000);
    core_both_held(f, CORE_OTHER_HOLDER, 9000);
    assert_int_equal(core_answers(f), 0);
    core_tell_released(f, SEAT("1"), CORE_OTHER_HOLDER);
    core_tick(f);
    assert_asks_for(f, SEAT("1"));
}

static void waiter_asks_when_the_first_lease_ends(void **state)
{
    struct core_fixture *f = acquiring_seat(state, 2, 10000);
    core_both_held(f, CORE_OTHER_HOLDER, 9000);
    core_both_held(f, CORE_OTHER_HOLDER, 300);
    core_later_us(f, 302 * UINT64_C(1000));
    core_tick(f);
    assert_asks_for(f, SEAT("1"));
}

static void all_that_wait_for_seats_of_a_name_stand_in_one_queue(void **state)
{
    struct core_fixture *f = acquiring_seat(state, 2, 10000);
    acquire_seat(f, 2, 2, 10000);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0);
    core_reply(f, 0, (struct fence_reply){.kind = FENCE_REPLY_NUMBER, .number = 5});
    core_reply(f, 1, (struct fence_reply){.kind = FENCE_REPLY_NUMBER, .number = 5});
    assert_answer(f, 1, 0);
    core_tick(f);
    assert_asks_for(f, SEAT("1"));
    core_numbers(f, 6, 6);
    assert_answer(f, 2, 0);
}

static void lock_of_the_same_name_has_a_queue_of_its_own(void **state)
{
    struct core_fixture *f = acquiring_seat(state, 1, 10000);
    core_acquire(f, 2, 10000);
    assert_asks_for(f, CORE_RESOURCE);
}

static void retry_asks_a_majority_for_its_seat_first(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    ask_again(f, 1, 2);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0);
    uint64_t tags[2][2];
    for (unsigned i = 0; i < 2; i++) {
        tags[i][0] = surveyed(f, i, SEAT("0"));
        tags[i][1] = surveyed(f, i, SEAT("1"));
    }
    for (unsigned i = 0; i < 2; i++) {
        core_reply_to(f, i, tags[i][0], (struct fence_reply){.kind = FENCE_REPLY_NO});
        core_reply_to(f, i, tags[i][1],
                      (struct fence_reply){.kind = FENCE_REPLY_HELD,
                                           .holder = core_lock_id(1),
                                           .owner = "",
                                           .remaining_ms = 500});
    }
    assert_asks_for(f, SEAT("1"));
}

/* Master @i has the seats in @own of two under the lock id of client 1, and no other. */
static void tell_own(struct core_fixture *f, unsigned i, const uint64_t tags[2], uint64_t own)
{
    for (unsigned k = 0; k < 2; k++)
        core_reply_to(f, i, tags[k],
                      own >> k & 1 ? (struct fence_reply){.kind = FENCE_REPLY_HELD,
                                                          .holder = core_lock_id(1),
                                                          .owner = "",
                                                          .remaining_ms = 500}
                                   : (struct fence_reply){.kind = FENCE_REPLY_NO});
}

/* An attempt left seat 0 behind on a master. */
static void retry_asks_for_the_seat_that_most_masters_have(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    ask_again(f, 1, 2);
    const uint64_t tags[2] = {surveyed(f, 0, SEAT("0")), surveyed(f, 0, SEAT("1"))};
    tell_own(f, 0, tags, 3);
    tell_own(f, 1, tags, 2);
    assert_asks_for(f, SEAT("1"));
}

static void retry_asks_all_masters_where_they_have_different_seats(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    ask_again(f, 1, 2);
    const uint64_t tags[2] = {surveyed(f, 0, SEAT("0")), surveyed(f, 0, SEAT("1"))};
    tell_own(f, 0, tags, 1);
    tell_own(f, 1, tags, 2);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0);
    tell_own(f, 2, tags, 2);
    assert_asks_for(f, SEAT("1"));
}

/* Masters 0 and 1 tell of each seat of @seats in the survey of the last step: those in @held have
 * another holder, seat k for 100 * (k + 1) ms more. */
static void tell_survey(struct core_fixture *f, unsigned seats, uint64_t held)
{
    uint64_t tags[2][FENCE_SEATS_MAX];
    for (unsigned k = 0; k < seats; k++) {
        char seat[FENCE_RESOURCE_MAX + 1];
        snprintf(seat, sizeof(seat), CORE_RESOURCE "#%u", k);
        for (unsigned i = 0; i < 2; i++)
            tags[i][k] = surveyed(f, i, seat);
    }
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k < seats; k++)
            core_reply_to(f, i, tags[i][k],
                          held >> k & 1
                              ? (struct fence_reply){.kind = FENCE_REPLY_HELD,
                                                     .holder = CORE_OTHER_HOLDER,
                                                     .owner = "them",
                                                     .remaining_ms = UINT64_C(100) * (k + 1)}
                              : (struct fence_reply){.kind = FENCE_REPLY_NO});
}

static void full_semaphore_costs_one_attempt_and_one_survey(void **state)
{
    struct core_fixture *f = acquiring_seat(state, 64, 0);
    assert_asks_for(f, SEAT("0"));
    core_both_held(f, CORE_OTHER_HOLDER, 9000);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0);
    tell_survey(f, 64, UINT64_MAX);
    assert_answer(f, 1, FENCE_EHELD);
    assert_int_equal(core_answer_of(f)->remaining_ms, 100);
    assert_string_equal(core_answer_of(f)->owner, "them");
    assert_int_equal(fence_core_counts(f->core)->attempts, 1);
}

static void survey_leads_to_a_seat_that_no_majority_says_is_held(void **state)
{
    struct core_fixture *f = acquiring_seat(state, 4, 0);
    core_both_held(f, CORE_OTHER_HOLDER, 9000);
    tell_survey(f, 4, 7);
    assert_asks_for(f, SEAT("3"));
    core_numbers(f, 7, 7);
    assert_answer(f, 1, 0);
}

static void retry_where_all_are_held_makes_no_attempt(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    ask_again(f, 1, 64);
    tell_survey(f, 64, UINT64_MAX);
    assert_answer(f, 1, FENCE_EHELD);
    assert_int_equal(fence_core_counts(f->core)->attempts, 0);
}

static struct fence_reply held_for_ms(uint64_t remaining_ms)
{
    return (struct fence_reply){.kind = FENCE_REPLY_HELD,
                                .holder = CORE_OTHER_HOLDER,
                                .owner = "",
                                .remaining_ms = remaining_ms};
}

/* One master of three says so: the others may grant it. */
static void seat_that_a_minority_says_is_held_is_asked_for(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    ask_again(f, 1, 1);
    const uint64_t tag = surveyed(f, 0, SEAT("0"));
    core_reply_to(f, 0, tag, held_for_ms(500));
    core_reply_to(f, 1, tag, (struct fence_reply){.kind = FENCE_REPLY_NO});
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0);
    core_reply_to(f, 2, tag, (struct fence_reply){.kind = FENCE_REPLY_NO});
    assert_asks_for(f, SEAT("0"));
}

/* The holder's majority and the one that is asked first need not be the same masters. */
static void survey_asks_the_other_masters_where_the_first_differ(void **state)
{
    struct core_fixture *f = core_fixture_new_majority(state, 3);
    ask_again(f, 1, 1);
    const unsigned first = core_nth(f, 0);
    const unsigned second = core_nth(f, 1);
    const unsigned third = core_nth(f, 2);
    const uint64_t tag = surveyed(f, first, SEAT("0"));
    core_reply_to(f, first, tag, held_for_ms(500));
    core_reply_to(f, second, tag, (struct fence_reply){.kind = FENCE_REPLY_NO});
    assert_int_equal(surveyed(f, third, SEAT("0")), tag);
    core_reply_to(f, third, tag, held_for_ms(400));
    assert_answer(f, 1, FENCE_EHELD);
    assert_int_equal(core_answer_of(f)->remaining_ms, 400);
}

static void acquire_name(struct core_fixture *f, uint64_t client, unsigned name)
{
    char resource[FENCE_RESOURCE_MAX + 1];
    snprintf(resource, sizeof(resource), "name/%u", name);
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, client);
    call.resource = resource;
    call.seats = 2;
    core_call(f, call);
}

static void full_table_of_names_refuses_other_names_alone(void **state)
{
    struct core_fixture *f = core_fixture_new_large(state, 3);
    for (unsigned k = 0; k < FENCE_SEAT_QUEUES_MAX; k++) {
        acquire_name(f, 1 + k, k);
        assert_int_equal(core_answers(f), 0);
    }
    acquire_name(f, 5000, FENCE_SEAT_QUEUES_MAX);
    assert_answer(f, 5000, FENCE_EBUSY);
    acquire_name(f, 5001, 0);
    assert_int_equal(core_answers(f), 0);
    struct fence_call call = core_call_of(FENCE_CALL_INSPECT, 5002);
    call.seats = 2;
    core_call(f, call);
    assert_int_equal(core_answers(f), 0);
    core_client_left(f, 2);
    assert_answer(f, 2, FENCE_ELEFT);
    acquire_name(f, 5003, FENCE_SEAT_QUEUES_MAX);
    assert_int_equal(core_answers(f), 0);
}

static void retry_without_a_majority_is_told_so(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_down(f, 1);
    core_down(f, 2);
    ask_again(f, 1, 2);
    assert_answer(f, 1, FENCE_ENOQUORUM);
    assert_string_equal(core_answer_of(f)->resource, CORE_RESOURCE);
}

static void inspection_shows_the_seats_that_are_held(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    struct fence_call call = core_call_of(FENCE_CALL_INSPECT, 1);
    call.seats = 2;
    core_call(f, call);
    uint64_t tags[2][2];
    for (unsigned i = 0; i < 2; i++) {
        tags[i][0] = surveyed(f, i, SEAT("0"));
        tags[i][1] = surveyed(f, i, SEAT("1"));
    }
    for (unsigned i = 0; i < 2; i++) { /* a majority that agrees is enough */
        core_reply_to(f, i, tags[i][0], (struct fence_reply){.kind = FENCE_REPLY_NO});
        core_reply_to(f, i, tags[i][1],
                      (struct fence_reply){.kind = FENCE_REPLY_HELD,
                                           .holder = CORE_OTHER_HOLDER,
                                           .owner = "them",
                                           .number = 9,
                                           .remaining_ms = 500});
    }
    const struct fence_seats_shown *shown = core_answer_of(f)->inspect.shown;
    assert_non_null(shown);
    assert_int_equal(shown->count, 1);
    assert_int_equal(shown->held[0].seat, 1);
    assert_int_equal(shown->held[0].token, 9);
    assert_string_equal(shown->held[0].owner, "them");
    assert_int_equal(shown->held[0].remaining_ms, 500);
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(held_seat_is_left_for_the_next),
    CORE_CASE(all_held_is_held_until_the_first_lease_ends),
    CORE_CASE(waiter_is_told_of_the_release_of_any_seat),
    CORE_CASE(waiter_asks_when_the_first_lease_ends),
    CORE_CASE(all_that_wait_for_seats_of_a_name_stand_in_one_queue),
    CORE_CASE(lock_of_the_same_name_has_a_queue_of_its_own),
    CORE_CASE(retry_asks_a_majority_for_its_seat_first),
    CORE_CASE(retry_asks_for_the_seat_that_most_masters_have),
    CORE_CASE(retry_asks_all_masters_where_they_have_different_seats),
    CORE_CASE(full_semaphore_costs_one_attempt_and_one_survey),
    CORE_CASE(survey_leads_to_a_seat_that_no_majority_says_is_held),
    CORE_CASE(retry_where_all_are_held_makes_no_attempt),
    CORE_CASE(seat_that_a_minority_says_is_held_is_asked_for),
    CORE_CASE(survey_asks_the_other_masters_where_the_first_differ),
    CORE_CASE(full_table_of_names_refuses_other_names_alone),
    CORE_CASE(retry_without_a_majority_is_told_so),
    CORE_CASE(inspection_shows_the_seats_that_are_held),
};

CASE_MAIN(cases, NULL, NULL)
