/* The tickets of waiters, which order them between servers (fence/master/next.h). */
#include "tests/unit/fence/core_fixture.h"

#define OWN_ID "own-lock-id-of-the-waiter"

enum {
    WAIT_MS = 5000,
    HELD_MS = 20 * 1000,
};

/* Two of three masters say that @holder has the lock under @number. */
static void meet_under(struct core_fixture *f, const char *holder, int64_t number,
                       uint64_t remaining_ms)
{
    for (unsigned i = 0; i < 2; i++)
        core_reply(f, i,
                   (struct fence_reply){.kind = FENCE_REPLY_HELD,
                                        .holder = holder,
                                        .owner = "",
                                        .number = number,
                                        .remaining_ms = remaining_ms});
}

static void meet(struct core_fixture *f, int64_t number)
{
    meet_under(f, CORE_OTHER_HOLDER, number, HELD_MS);
}

/* The holder that was met releases, and the first of the line asks: with this ticket. */
static int64_t ticket_at_release(struct core_fixture *f, const char *holder)
{
    core_tell_released(f, CORE_RESOURCE, holder);
    core_tick(f);
    return core_request(f, FENCE_REQUEST_TAKE, 0)->take.ticket;
}

static void waiter_that_has_met_no_holder_has_no_ticket(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, WAIT_MS);
    assert_int_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->take.ticket, 0);
}

static void waiter_has_the_highest_number_that_it_met_first(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, WAIT_MS);
    meet(f, 34);
    assert_int_equal(ticket_at_release(f, CORE_OTHER_HOLDER), 34);
    meet(f, 35);
    assert_int_equal(ticket_at_release(f, CORE_OTHER_HOLDER), 34);
}

static void each_of_a_line_has_the_number_that_was_known_as_it_came(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, WAIT_MS);
    core_acquire(f, 2, WAIT_MS); /* while the first has met no holder */
    meet(f, 34);
    assert_int_equal(ticket_at_release(f, CORE_OTHER_HOLDER), 34);
    meet(f, 36);
    core_acquire(f, 3, WAIT_MS);
    (void)ticket_at_release(f, CORE_OTHER_HOLDER);
    core_grant(f, 37);
    core_acquire(f, 4, WAIT_MS);
    assert_int_equal(ticket_at_release(f, core_lock_id(1)), 34);
    core_grant(f, 38);
    assert_int_equal(ticket_at_release(f, core_lock_id(2)), 36);
    core_grant(f, 39);
    assert_int_equal(ticket_at_release(f, core_lock_id(3)), 37);
}

static void own_id(struct core_fixture *f, uint64_t client)
{
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, client);
    call.lock_id = OWN_ID;
    call.idempotent = true;
    call.wait_ms = WAIT_MS;
    core_call(f, call);
}

static void waiter_that_asks_again_has_its_ticket(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    own_id(f, 1);
    meet(f, 34);
    core_acquire(f, 2, WAIT_MS);
    core_client_left(f, 1);
    assert_answer(f, 1, FENCE_ELEFT);
    core_tick(f); /* the next one looks */
    meet(f, 40);
    own_id(f, 3); /* and asks at once, as the first */
    assert_int_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->take.ticket, 34);
}

static void tell_place(struct core_fixture *f, int64_t ticket, uint64_t waited_us)
{
    core_give(f, (struct fence_event){.kind = FENCE_EVENT_PLACE,
                                      .place = {.resource = CORE_RESOURCE,
                                                .lock_id = OWN_ID,
                                                .owner = "",
                                                .ticket = ticket,
                                                .waited_us = waited_us}});
}

static void waiter_that_leaves_is_told_to_the_other_servers(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    own_id(f, 1);
    meet(f, 34);
    core_later_us(f, 1500);
    core_client_left(f, 1);
    assert_int_equal(core_effect(f, FENCE_EFFECT_PLACE), 7);
    for (unsigned e = 0; e < f->effects.count; e++) {
        const struct fence_effect *effect = &f->effects.items[e];
        if (effect->kind != FENCE_EFFECT_PLACE)
            continue;
        assert_string_equal(effect->place.resource, CORE_RESOURCE);
        assert_string_equal(effect->place.lock_id, OWN_ID);
        assert_int_equal(effect->place.ticket, 34);
        assert_int_equal(effect->place.waited_us, 1500);
    }
}

static void waiter_without_a_place_is_not_told(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, WAIT_MS);
    meet(f, 34);
    core_client_left(f, 1);
    assert_int_equal(core_effect(f, FENCE_EFFECT_PLACE), 0);
    own_id(f, 2);
    core_grant(f, 35);
    assert_int_equal(core_effect(f, FENCE_EFFECT_PLACE), 0);
}

static void waiter_that_another_server_told_has_its_ticket(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, WAIT_MS);
    meet(f, 40);
    tell_place(f, 34, 20000);
    own_id(f, 3); /* and asks at once, as the first */
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->lock_id, OWN_ID);
    assert_int_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->take.ticket, 34);
}

static void place_that_another_server_told_ends(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, WAIT_MS);
    meet(f, 40);
    tell_place(f, 34, 20000);
    core_later_us(f, FENCE_PLACE_KEPT_US);
    own_id(f, 3);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0); /* it stands at the end */
}

static void waiter_that_came_before_the_word_moves_forward(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, WAIT_MS);
    meet(f, 40);
    core_acquire(f, 2, WAIT_MS);
    own_id(f, 3);
    tell_place(f, 34, 20000);
    assert_int_equal(ticket_at_release(f, CORE_OTHER_HOLDER), 34);
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->lock_id, OWN_ID);
}

/* A word moves no waiter back, and no waiter before those that came before it. */
static void word_that_is_late_changes_nothing(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, WAIT_MS);
    meet(f, 40);
    core_later_us(f, 1000);
    own_id(f, 3);
    core_later_us(f, 1000);
    core_acquire(f, 4, WAIT_MS);
    tell_place(f, 39, 1500);
    tell_place(f, 50, 0);
    (void)ticket_at_release(f, CORE_OTHER_HOLDER);
    core_grant(f, 41);
    assert_int_equal(ticket_at_release(f, core_lock_id(1)), 39);
}

static void ticket_ends_with_the_grant(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    own_id(f, 1);
    meet(f, 34);
    core_acquire(f, 2, WAIT_MS);
    (void)ticket_at_release(f, CORE_OTHER_HOLDER);
    core_grant(f, 35);
    (void)ticket_at_release(f, OWN_ID);
    meet(f, 36);
    own_id(f, 3);
    (void)ticket_at_release(f, CORE_OTHER_HOLDER);
    core_grant(f, 37);
    assert_int_equal(ticket_at_release(f, core_lock_id(2)), 36);
}

static void call_that_does_not_wait_tells_no_ticket(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, WAIT_MS);
    meet(f, 34);
    (void)ticket_at_release(f, CORE_OTHER_HOLDER);
    core_acquire(f, 2, 0);
    core_both_reply(f, FENCE_REPLY_LOST);
    core_tick(f);
    for (unsigned t = 0; t < 4 && core_sent(f, FENCE_REQUEST_TAKE) == 0; t++)
        core_tick(f);
    const struct fence_request *take = core_request(f, FENCE_REQUEST_TAKE, 0);
    assert_string_equal(take->lock_id, core_lock_id(2));
    assert_false(take->take.waits);
    assert_int_equal(take->take.ticket, 0);
}

static void waiter_for_a_seat_has_no_ticket(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, 1);
    call.seats = 2;
    call.wait_ms = WAIT_MS;
    core_call(f, call);
    assert_int_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->take.ticket, FENCE_TICKET_NONE);
}

static void waiter_that_is_held_back_asks_when_that_is_over(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, WAIT_MS);
    const uint64_t take = f->tag[2];
    meet_under(f, FENCE_TOMBSTONE, 34, FENCE_NEXT_MS);
    for (unsigned i = 0; i < 3; i++)
        core_reply_kind(f, i, FENCE_REPLY_NO); /* to the clean-up */
    core_reply_to(f, 2, take,
                  (struct fence_reply){.kind = FENCE_REPLY_HELD,
                                       .holder = FENCE_TOMBSTONE,
                                       .owner = "",
                                       .number = 34,
                                       .remaining_ms = FENCE_NEXT_MS});
    const uint64_t over_us = f->now_us + FENCE_NEXT_MS * UINT64_C(1000) + FENCE_LOOK_LEAST_US;
    core_tick(f);
    assert_int_equal(f->now_us, over_us);
    assert_int_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->take.ticket, 34);
}

static void waiter_that_is_held_back_is_woken_by_any_release(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, WAIT_MS);
    meet_under(f, FENCE_TOMBSTONE, 34, FENCE_NEXT_MS);
    assert_false(core_is_due(f));
    core_tell_released(f, CORE_RESOURCE, core_lock_id(5));
    assert_true(core_is_due(f));
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(waiter_that_has_met_no_holder_has_no_ticket),
    CORE_CASE(waiter_has_the_highest_number_that_it_met_first),
    CORE_CASE(each_of_a_line_has_the_number_that_was_known_as_it_came),
    CORE_CASE(waiter_that_asks_again_has_its_ticket),
    CORE_CASE(waiter_that_leaves_is_told_to_the_other_servers),
    CORE_CASE(waiter_without_a_place_is_not_told),
    CORE_CASE(waiter_that_another_server_told_has_its_ticket),
    CORE_CASE(place_that_another_server_told_ends),
    CORE_CASE(waiter_that_came_before_the_word_moves_forward),
    CORE_CASE(word_that_is_late_changes_nothing),
    CORE_CASE(ticket_ends_with_the_grant),
    CORE_CASE(call_that_does_not_wait_tells_no_ticket),
    CORE_CASE(waiter_for_a_seat_has_no_ticket),
    CORE_CASE(waiter_that_is_held_back_asks_when_that_is_over),
    CORE_CASE(waiter_that_is_held_back_is_woken_by_any_release),
};

CASE_MAIN(cases, NULL, NULL)
