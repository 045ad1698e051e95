/* Calls of one queue that know other numbers of seats: a free seat goes to the first that knows it.
 */
#include "tests/unit/fence/core_fixture.h"

#include <stdio.h>
#include <string.h>

#define SEAT(k) CORE_RESOURCE "#" k

enum {
    WAIT_MS = 60000,
    LEASE_MS = 50000,
    LOOKS_MS = 1000,
    LOOKS_MAX = 100, /* in that time: two every 32 ms, once they have slowed down */
};

/* The last question to each of the two masters that answer */
struct asked {
    uint64_t tag[2];
    char seat[FENCE_RESOURCE_MAX + 1];
};

static struct asked asked(const struct core_fixture *f)
{
    struct asked asked = {.seat = ""};
    for (unsigned i = 0; i < 2; i++)
        asked.tag[i] = core_request(f, FENCE_REQUEST_TAKE, i)->tag;
    snprintf(asked.seat, sizeof(asked.seat), "%s",
             core_request(f, FENCE_REQUEST_TAKE, 0)->resource);
    return asked;
}

static void call_seat(struct core_fixture *f, uint64_t client, unsigned seats, uint32_t wait_ms)
{
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, client);
    call.seats = seats;
    call.wait_ms = wait_ms;
    core_call(f, call);
}

static void expect_silence(const struct core_fixture *f)
{
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0);
}

static struct asked expect_asked(const struct core_fixture *f, const char *seat)
{
    const struct asked now = asked(f);
    assert_string_equal(now.seat, seat);
    return now;
}

static void meets_holder(struct core_fixture *f, struct asked what, uint64_t remaining_ms)
{
    const struct fence_reply held = {.kind = FENCE_REPLY_HELD,
                                     .holder = CORE_OTHER_HOLDER,
                                     .owner = "",
                                     .remaining_ms = remaining_ms};
    core_reply_to(f, 0, what.tag[0], held);
    core_reply_to(f, 1, what.tag[1], held);
}

static void is_granted(struct core_fixture *f, struct asked what, int64_t number)
{
    const struct fence_reply granted = {.kind = FENCE_REPLY_NUMBER, .number = number};
    core_reply_to(f, 0, what.tag[0], granted);
    core_reply_to(f, 1, what.tag[1], granted);
}

/* Client 1 knows one seat, which is held, and waits. */
static struct core_fixture *one_waits(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    call_seat(f, 1, 1, WAIT_MS);
    meets_holder(f, expect_asked(f, SEAT("0")), LEASE_MS);
    assert_int_equal(core_answers(f), 0);
    return f;
}

static void waiter_that_knows_more_seats_asks_for_those_at_once(void **state)
{
    struct core_fixture *f = one_waits(state);
    call_seat(f, 2, 3, WAIT_MS);
    is_granted(f, expect_asked(f, SEAT("1")), 7);
    assert_answer(f, 2, 0);
    assert_string_equal(core_answer_of(f)->resource, SEAT("1"));
}

static void caller_that_does_not_wait_gets_a_seat_that_no_waiter_knows(void **state)
{
    struct core_fixture *f = one_waits(state);
    call_seat(f, 2, 2, 0);
    is_granted(f, expect_asked(f, SEAT("1")), 7);
    assert_answer(f, 2, 0);
}

static void caller_that_does_not_wait_is_told_where_all_are_held(void **state)
{
    struct core_fixture *f = one_waits(state);
    call_seat(f, 2, 2, 0);
    meets_holder(f, expect_asked(f, SEAT("1")), 300);
    assert_answer(f, 2, FENCE_EHELD);
    assert_int_equal(core_answer_of(f)->remaining_ms, 300);
}

static void caller_that_does_not_wait_sees_what_becomes_of_the_other_seats(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    call_seat(f, 1, 1, 0);
    const struct asked first = expect_asked(f, SEAT("0"));
    call_seat(f, 2, 2, 0);
    meets_holder(f, expect_asked(f, SEAT("1")), LEASE_MS);
    assert_int_equal(core_answers(f), 0); /* seat 0 may be free, and client 1 ask in vain */
    core_reply_to(f, 0, first.tag[0],
                  (struct fence_reply){.kind = FENCE_REPLY_NUMBER, .number = 7});
    core_client_left(f, 1);
    assert_answer(f, 1, FENCE_ELEFT);
    for (unsigned ticks = 0; core_sent(f, FENCE_REQUEST_TAKE) == 0; ticks++) {
        assert_true(ticks < 8);
        core_tick(f);
    }
    is_granted(f, expect_asked(f, SEAT("0")), 8);
    assert_answer(f, 2, 0);
}

static void free_seat_goes_to_the_first_that_knows_it(void **state)
{
    struct core_fixture *f = one_waits(state);
    call_seat(f, 2, 2, WAIT_MS);
    meets_holder(f, expect_asked(f, SEAT("1")), LEASE_MS);
    call_seat(f, 3, 2, WAIT_MS);
    expect_silence(f);
    call_seat(f, 4, 3, WAIT_MS);
    meets_holder(f, expect_asked(f, SEAT("2")), LEASE_MS);

    core_tell_released(f, SEAT("2"), CORE_OTHER_HOLDER);
    core_tick(f);
    is_granted(f, expect_asked(f, SEAT("2")), 7);
    assert_answer(f, 4, 0);
    core_tell_released(f, SEAT("0"), CORE_OTHER_HOLDER);
    core_tick(f);
    is_granted(f, expect_asked(f, SEAT("0")), 8);
    assert_answer(f, 1, 0);
    core_tell_released(f, SEAT("1"), CORE_OTHER_HOLDER);
    core_tick(f);
    is_granted(f, expect_asked(f, SEAT("1")), 9);
    assert_answer(f, 2, 0);
}

static void turn_of_a_seat_passes_to_the_next_that_knows_it(void **state)
{
    struct core_fixture *f = one_waits(state);
    call_seat(f, 2, 2, WAIT_MS);
    meets_holder(f, expect_asked(f, SEAT("1")), LEASE_MS);
    call_seat(f, 3, 1, WAIT_MS);
    core_client_left(f, 1);
    core_tell_released(f, SEAT("0"), CORE_OTHER_HOLDER);
    for (unsigned ticks = 0; core_sent(f, FENCE_REQUEST_TAKE) == 0; ticks++) {
        assert_true(ticks < 4);
        core_tick(f);
    }
    is_granted(f, expect_asked(f, SEAT("0")), 7);
    assert_answer(f, 2, 0);
}

/* Two holders have their leases renewed in turn, each just before it ends. */
static void leases_that_end_by_turns_are_looked_at_more_and_more_seldom(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    unsigned looks = 0;
    call_seat(f, 1, 2, WAIT_MS);
    for (const uint64_t end_us = f->now_us + LOOKS_MS * UINT64_C(1000); f->now_us < end_us;) {
        if (core_sent(f, FENCE_REQUEST_TAKE) == 0) {
            core_tick(f);
            continue;
        }
        const struct asked what = asked(f);
        const bool first = strcmp(what.seat, SEAT("0")) == 0;
        const struct fence_reply held = {.kind = FENCE_REPLY_HELD,
                                         .holder = first ? CORE_OTHER_HOLDER : core_lock_id(7),
                                         .owner = "",
                                         .remaining_ms = looks == 0 ? 2 : 4};
        core_reply_to(f, 0, what.tag[0], held);
        core_reply_to(f, 1, what.tag[1], held);
        looks++;
    }
    assert_in_range(looks, 10, LOOKS_MAX);
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(waiter_that_knows_more_seats_asks_for_those_at_once),
    CORE_CASE(caller_that_does_not_wait_gets_a_seat_that_no_waiter_knows),
    CORE_CASE(caller_that_does_not_wait_is_told_where_all_are_held),
    CORE_CASE(caller_that_does_not_wait_sees_what_becomes_of_the_other_seats),
    CORE_CASE(free_seat_goes_to_the_first_that_knows_it),
    CORE_CASE(turn_of_a_seat_passes_to_the_next_that_knows_it),
    CORE_CASE(leases_that_end_by_turns_are_looked_at_more_and_more_seldom),
};

CASE_MAIN(cases, NULL, NULL)
