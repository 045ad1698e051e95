/* Calls wait until the masters owe less. Their debts are clean-ups here, 64 locks each. */
#include "fence/protocol/name.h"
#include "tests/unit/fence/core_fixture.h"

#include <stdio.h>
#include <string.h>

enum {
    OF_A_GROUP = FENCE_GROUP_MAX,
    OWED_BY_GROUPS = FENCE_OWED_MAX / FENCE_OWED_GROUPS_PART,
    OWED_WITH_HOLDERS = FENCE_OWED_MAX * FENCE_OWED_HOLDERS_TIMES,
};

static const struct fence_group *group(unsigned count)
{
    static struct fence_group made;
    made.count = count;
    for (unsigned k = 0; k < count; k++) {
        struct fence_group_lock *lock = &made.locks[k];
        snprintf(lock->resource, sizeof(lock->resource), "group/%u", k);
        lock->slot = (uint16_t)fence_slot(lock->resource, strlen(lock->resource));
    }
    return &made;
}

static void clean_up(struct core_fixture *f)
{
    core_give(f, (struct fence_event){
                     .kind = FENCE_EVENT_DECLINED,
                     .declined = {.resource = "group/0",
                                  .group = group(OF_A_GROUP),
                                  .lock_id = core_lock_id(0),
                                  .attempt = 1,
                                  .ttl_ms = CORE_TTL_MS,
                                  .masters = CORE_FIRST(3)},
                 });
}

/* All three masters owe answers about @locks locks, or more. */
static void have_owed(struct core_fixture *f, uint32_t locks)
{
    while (fence_fleet_owed(fence_core_fleet(f->core), false) < locks)
        clean_up(f);
}

/* One of the clean-ups is done at master @i. */
static void cleaned_up(struct core_fixture *f, unsigned i)
{
    core_reply_to(f, i, 0, (struct fence_reply){.kind = FENCE_REPLY_YES, .locks = OF_A_GROUP});
}

static void acquire_several(struct core_fixture *f, uint64_t client)
{
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, client);
    call.resource = "group/0";
    call.group = group(2);
    core_call(f, call);
}

static void acquire_one(struct core_fixture *f, uint64_t client, uint32_t wait_ms)
{
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, client);
    char name[16];
    snprintf(name, sizeof(name), "one/%u", (unsigned)client);
    call.resource = name;
    call.wait_ms = wait_ms;
    core_call(f, call);
}

static void group_waits_until_a_majority_owes_less(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    have_owed(f, OWED_BY_GROUPS);
    acquire_several(f, 1);
    assert_no_effects(f);
    cleaned_up(f, 0);
    assert_false(core_is_due(f));
    cleaned_up(f, 2);
    assert_true(core_is_due(f));
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
}

static void groups_do_not_keep_single_locks_out(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    have_owed(f, OWED_BY_GROUPS);
    acquire_several(f, 1);
    acquire_one(f, 2, 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
}

static void single_lock_waits_until_a_majority_owes_less(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    have_owed(f, FENCE_OWED_MAX);
    acquire_one(f, 1, 0);
    assert_no_effects(f);
    core_call(f, core_call_of(FENCE_CALL_INSPECT, 2));
    assert_no_effects(f);
    cleaned_up(f, 0);
    cleaned_up(f, 1);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_INSPECT), CORE_FIRST(3));
}

static void holders_go_on_while_others_wait(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    have_owed(f, FENCE_OWED_MAX);
    acquire_one(f, 1, 0);
    core_call(f, core_call_of(FENCE_CALL_EXTEND, 2));
    assert_int_equal(core_sent(f, FENCE_REQUEST_EXTEND), CORE_FIRST(3));
    core_call(f, core_call_of(FENCE_CALL_RELEASE, 3));
    assert_int_equal(core_sent(f, FENCE_REQUEST_RELEASE), CORE_FIRST(3));
    have_owed(f, OWED_WITH_HOLDERS);
    core_call(f, core_call_of(FENCE_CALL_RELEASE, 4));
    assert_no_effects(f);
}

static void whoever_came_first_is_admitted_first(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    have_owed(f, FENCE_OWED_MAX);
    for (uint64_t client = 1; client <= 3; client++)
        acquire_one(f, client, 0);
    cleaned_up(f, 0);
    cleaned_up(f, 1);
    acquire_one(f, 4, 0); /* there is room, and others came before */
    assert_no_effects(f);
    for (uint64_t client = 1; client <= 4; client++) {
        core_tick(f);
        assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->lock_id, core_lock_id(client));
    }
    assert_false(core_is_due(f));
}

/* The clean-ups that no call answers would be taken for silence first. */
static void pass_admission_time(struct core_fixture *f)
{
    for (uint64_t passed_us = 0; passed_us < FENCE_ADMISSION_US;
         passed_us += FENCE_MASTER_DEADLINE_US / 2) {
        core_later_us(f, FENCE_MASTER_DEADLINE_US / 2);
        for (unsigned i = 0; i < 3; i++) {
            cleaned_up(f, i);
            assert_no_effects(f);
        }
        clean_up(f);
    }
}

static void call_that_waits_too_long_is_refused(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    have_owed(f, FENCE_OWED_MAX + OF_A_GROUP);
    acquire_one(f, 1, 0);
    core_call(f, core_call_of(FENCE_CALL_INSPECT, 2));
    pass_admission_time(f);
    core_tick(f);
    assert_int_equal(f->effects.count, 1);
    assert_answer(f, 1, FENCE_EBUSY);
    core_tick(f);
    assert_int_equal(f->effects.count, 1);
    assert_answer(f, 2, FENCE_EBUSY);
    assert_int_equal(fence_core_calls(f->core), 0);
}

static void call_that_may_wait_waits_for_as_long_as_it_said(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    have_owed(f, FENCE_OWED_MAX);
    acquire_one(f, 1, 20);
    core_tick(f);
    assert_int_equal(f->effects.count, 1);
    assert_answer(f, 1, FENCE_EWAITTIMEOUT);
    assert_int_equal(core_answer_of(f)->served_us / 1000, 20);
}

static void client_that_leaves_waits_no_more(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    have_owed(f, FENCE_OWED_MAX);
    acquire_one(f, 1, 0);
    acquire_one(f, 2, 0);
    core_client_left(f, 1);
    assert_answer(f, 1, FENCE_ELEFT);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), 0);
    cleaned_up(f, 0);
    cleaned_up(f, 1);
    core_tick(f);
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->lock_id, core_lock_id(2));
    assert_false(core_is_due(f));
}

static void without_a_majority_nobody_waits(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    have_owed(f, FENCE_OWED_MAX);
    acquire_one(f, 1, 0);
    core_down(f, 0);
    core_down(f, 1);
    core_tick(f);
    assert_answer(f, 1, FENCE_ENOQUORUM);
}

static void acquire_seat(struct core_fixture *f, uint64_t client, unsigned seats, uint32_t wait_ms)
{
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, client);
    call.seats = seats;
    call.wait_ms = wait_ms;
    call.idempotent = wait_ms > 0; /* its place is kept */
    core_call(f, call);
}

static void both_held(struct core_fixture *f, uint64_t tag)
{
    for (unsigned i = 0; i < 2; i++)
        core_reply_to(f, i, tag,
                      (struct fence_reply){.kind = FENCE_REPLY_HELD,
                                           .holder = CORE_OTHER_HOLDER,
                                           .owner = "",
                                           .remaining_ms = 9000});
}

/* While client 1 is to ask for seat 0, client 2 comes back to its place before client 1, and has
 * the turn of that seat. */
static void call_whose_seat_is_anothers_turn_by_then_looks_again(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    acquire_seat(f, 2, 1, 100);
    both_held(f, core_request(f, FENCE_REQUEST_INSPECT, 0)->tag);
    core_later_us(f, 101 * UINT64_C(1000));
    core_tick(f);
    assert_answer(f, 2, FENCE_EWAITTIMEOUT);
    acquire_seat(f, 1, 2, 0);
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->resource, CORE_RESOURCE "#1");
    const uint64_t taking = core_request(f, FENCE_REQUEST_TAKE, 0)->tag;
    core_tell_released(f, CORE_RESOURCE "#0", CORE_OTHER_HOLDER);
    have_owed(f, FENCE_OWED_MAX);
    both_held(f, taking);
    acquire_seat(f, 2, 1, 100);
    assert_no_effects(f);
    cleaned_up(f, 0);
    cleaned_up(f, 1);
    core_tick(f); /* client 1 is admitted, and lets client 2 ask */
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0);
    assert_int_equal(core_answers(f), 0);
}

static void what_was_cleaned_up_in_vain_is_told_again_when_little_is_owed(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    acquire_one(f, 1, 0);
    core_both_reply(f, FENCE_REPLY_REFUSED);
    core_down(f, 2);
    core_reply_kind(f, 2, FENCE_REPLY_LOST);
    core_shake_hands(f, 2, core_facts(2));
    have_owed(f, FENCE_OWED_MAX);
    assert_false(core_is_due(f));
    cleaned_up(f, 0);
    cleaned_up(f, 1);
    assert_true(core_is_due(f));
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_SET(2));
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(group_waits_until_a_majority_owes_less),
    CORE_CASE(groups_do_not_keep_single_locks_out),
    CORE_CASE(single_lock_waits_until_a_majority_owes_less),
    CORE_CASE(holders_go_on_while_others_wait),
    CORE_CASE(whoever_came_first_is_admitted_first),
    CORE_CASE(call_that_waits_too_long_is_refused),
    CORE_CASE(call_that_may_wait_waits_for_as_long_as_it_said),
    CORE_CASE(client_that_leaves_waits_no_more),
    CORE_CASE(without_a_majority_nobody_waits),
    CORE_CASE(call_whose_seat_is_anothers_turn_by_then_looks_again),
    CORE_CASE(what_was_cleaned_up_in_vain_is_told_again_when_little_is_owed),
};

CASE_MAIN(cases, NULL, NULL)
