/* Several resources at once, all or none. */
#include "fence/protocol/name.h"
#include "tests/unit/fence/core_fixture.h"

#include <string.h>

enum {
    NAMES = 3,
};

static const char *const names[NAMES] = {"a", "b", "c"};

static const struct fence_group *three(void)
{
    static struct fence_group group = {.count = NAMES};
    for (unsigned k = 0; k < NAMES; k++) {
        group.locks[k].slot = (uint16_t)fence_slot(names[k], 1);
        memcpy(group.locks[k].resource, names[k], 2);
    }
    return &group;
}

static void acquire_three(struct core_fixture *f, uint64_t client, uint32_t wait_ms)
{
    const struct fence_group *group = three();
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, client);
    call.resource = group->locks[0].resource;
    call.group = group;
    call.wait_ms = wait_ms;
    core_call(f, call);
}

static struct core_fixture *acquiring_three(void **state, uint32_t wait_ms)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    acquire_three(f, 1, wait_ms);
    return f;
}

static void numbers(struct core_fixture *f, unsigned i, int64_t a, int64_t b, int64_t c)
{
    const int64_t given[] = {a, b, c};
    core_reply(f, i, (struct fence_reply){.kind = FENCE_REPLY_NUMBER, .numbers = given});
}

/* A majority says that another holds the second of them. */
static void second_is_held(struct core_fixture *f, uint64_t remaining_ms)
{
    for (unsigned i = 0; i < 2; i++)
        core_reply(f, i,
                   (struct fence_reply){
                       .kind = FENCE_REPLY_HELD,
                       .holder = CORE_OTHER_HOLDER,
                       .owner = "holder",
                       .blocked = 1,
                       .remaining_ms = remaining_ms,
                   });
}

/* How many resources the clean-up that was just sent to all takes back. */
static unsigned undone(const struct core_fixture *f)
{
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(3));
    return core_request(f, FENCE_REQUEST_UNDO, 0)->group->count;
}

static void acknowledge(struct core_fixture *f, unsigned i)
{
    core_reply_kind(f, i, FENCE_REPLY_YES);
}

static void one_request_a_master_asks_for_all(void **state)
{
    struct core_fixture *f = acquiring_three(state, 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
    const struct fence_group *asked = core_request(f, FENCE_REQUEST_TAKE, 0)->group;
    assert_int_equal(asked->count, 3);
    assert_string_equal(asked->locks[2].resource, "c");
    assert_int_equal(f->effects.count, 1);
}

static void equal_numbers_are_granted_each_with_its_token(void **state)
{
    struct core_fixture *f = acquiring_three(state, 0);
    numbers(f, 0, 7, 3, 5);
    numbers(f, 1, 7, 3, 5);
    assert_answer(f, 1, 0);
    const struct fence_group *granted = core_answer_of(f)->acquire.group;
    assert_int_equal(granted->locks[0].token, 7);
    assert_int_equal(granted->locks[1].token, 3);
    assert_int_equal(granted->locks[2].token, 5);
    assert_int_equal(fence_core_calls(f->core), 0);
}

static void one_number_that_differs_has_all_confirmed(void **state)
{
    struct core_fixture *f = acquiring_three(state, 0);
    numbers(f, 0, 7, 3, 5);
    numbers(f, 1, 7, 4, 5);
    assert_int_equal(core_sent(f, FENCE_REQUEST_CONFIRM), CORE_FIRST(2));
    const struct fence_group *asked = core_request(f, FENCE_REQUEST_CONFIRM, 0)->group;
    assert_int_equal(asked->locks[0].token, 7);
    assert_int_equal(asked->locks[1].token, 4);
    core_both_reply(f, FENCE_REPLY_YES);
    assert_int_equal(core_answer_of(f)->acquire.group->locks[1].token, 4);
}

static void one_that_is_held_fails_all_and_is_named(void **state)
{
    struct core_fixture *f = acquiring_three(state, 0);
    second_is_held(f, 4000);
    assert_answer(f, 1, FENCE_EHELD);
    assert_string_equal(core_answer_of(f)->resource, "b");
    assert_string_equal(core_answer_of(f)->owner, "holder");
    assert_int_equal(core_answer_of(f)->remaining_ms, 4000);
    assert_int_equal(fence_core_calls(f->core), 0);
}

static void failed_attempt_is_taken_back_at_once_with_one_request_a_master(void **state)
{
    struct core_fixture *f = acquiring_three(state, 0);
    numbers(f, 2, 1, 1, 1);
    second_is_held(f, 4000);
    assert_int_equal(undone(f), 3);
    for (unsigned i = 0; i < 3; i++)
        acknowledge(f, i);
    core_shake_hands(f, 1, core_facts(1));
    assert_false(core_is_due(f)); /* nothing is owed any more */
}

static void what_a_lost_master_owes_is_told_again_one_by_one(void **state)
{
    struct core_fixture *f = acquiring_three(state, 0);
    second_is_held(f, 4000);
    assert_int_equal(undone(f), 3);
    const uint64_t tag = f->tag[2];
    acknowledge(f, 0);
    acknowledge(f, 1);
    core_down(f, 2);
    core_reply_to(f, 2, tag, (struct fence_reply){.kind = FENCE_REPLY_LOST});
    core_shake_hands(f, 2, core_facts(2));
    for (unsigned k = 0; k < 3; k++) {
        core_tick(f);
        assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_SET(2));
        assert_string_equal(core_request(f, FENCE_REQUEST_UNDO, 2)->resource, names[k]);
    }
}

/* More than can be remembered are told anyway. */
/* A group whose clean-up master 0 lost with its connection, which is back. */
static struct core_fixture *fixture_with_cleanups(void **state)
{
    struct core_fixture *f = acquiring_three(state, 0);
    core_both_reply(f, FENCE_REPLY_LOST);
    uint64_t tag = core_request(f, FENCE_REQUEST_UNDO, 0)->tag;
    core_reply_to(f, 1, tag, (struct fence_reply){.kind = FENCE_REPLY_YES});
    core_reply_to(f, 2, tag, (struct fence_reply){.kind = FENCE_REPLY_YES});
    core_down(f, 0);
    core_reply_to(f, 0, tag, (struct fence_reply){.kind = FENCE_REPLY_LOST});
    core_shake_hands(f, 0, core_facts(0));
    return f;
}

/* The message for master 0 in the next turn; 0: nothing. */
static uint64_t told_again(struct core_fixture *f)
{
    if (!core_is_due(f))
        return 0;
    core_tick(f);
    return core_sent(f, FENCE_REQUEST_UNDO) & CORE_SET(0)
               ? core_request(f, FENCE_REQUEST_UNDO, 0)->tag
               : 0;
}

static void acknowledging_one_that_was_told_again_leaves_the_rest_of_its_group(void **state)
{
    struct core_fixture *f = fixture_with_cleanups(state);
    for (unsigned k = 0; k < NAMES; k++) {
        const uint64_t tag = told_again(f);
        assert_true(tag != 0);
        core_reply_to(f, 0, tag, (struct fence_reply){.kind = FENCE_REPLY_YES});
    }
    assert_true(told_again(f) == 0);
}

static void what_was_told_again_and_lost_again_is_told_once_more(void **state)
{
    struct core_fixture *f = fixture_with_cleanups(state);
    uint64_t tags[NAMES];
    for (unsigned k = 0; k < NAMES; k++)
        tags[k] = told_again(f);
    core_reply_to(f, 0, tags[0], (struct fence_reply){.kind = FENCE_REPLY_YES});
    core_down(f, 0);
    for (unsigned k = 1; k < NAMES; k++)
        core_reply_to(f, 0, tags[k], (struct fence_reply){.kind = FENCE_REPLY_LOST});
    core_shake_hands(f, 0, core_facts(0));
    assert_true(told_again(f) != 0);
    assert_true(told_again(f) != 0);
    assert_true(told_again(f) == 0);
}

static void every_failed_attempt_is_taken_back_however_many_there_are(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    for (unsigned round = 0; round < 3 * CORE_CALLS; round++) {
        acquire_three(f, 1, 0);
        second_is_held(f, 4000);
        assert_int_equal(undone(f), 3);
        for (unsigned i = 0; i < 3; i++) {
            core_reply_to(f, i, 0, (struct fence_reply){.kind = FENCE_REPLY_YES, .locks = 3});
            assert_no_effects(f);
        }
    }
}

static void waiter_is_woken_when_the_one_in_its_way_is_released(void **state)
{
    struct core_fixture *f = acquiring_three(state, 60000);
    assert_true(core_request(f, FENCE_REQUEST_TAKE, 0)->take.waits);
    second_is_held(f, 40000);
    assert_int_equal(core_answers(f), 0);
    core_tell_released(f, "b", CORE_OTHER_HOLDER);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
}

static void waiter_is_not_woken_by_what_it_did_not_ask_for(void **state)
{
    struct core_fixture *f = acquiring_three(state, 60000);
    second_is_held(f, 40000);
    core_tell_released(f, "d", CORE_OTHER_HOLDER);
    assert_false(core_is_due(f));
}

static void waiter_that_leaves_is_gone(void **state)
{
    struct core_fixture *f = acquiring_three(state, 60000);
    core_client_left(f, 1);
    assert_answer(f, 1, FENCE_ELEFT);
    assert_int_equal(undone(f), 3);
    assert_int_equal(fence_core_calls(f->core), 0);
}

static void it_stands_in_nobodys_way(void **state)
{
    struct core_fixture *f = acquiring_three(state, 60000);
    second_is_held(f, 40000);
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, 2);
    call.resource = "a";
    core_call(f, call);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
}

static void those_that_wait_leave_room_for_those_that_do_not(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    uint64_t client = 1;
    for (acquire_three(f, client, 60000); core_answers(f) == 0; acquire_three(f, client, 60000)) {
        second_is_held(f, 40000);
        client++;
    }
    assert_answer(f, client, FENCE_EWAITERS);
    assert_int_equal(client - 1, CORE_CALLS - CORE_CALLS / FENCE_GROUPS_KEPT_PART);
    acquire_three(f, client + 1, 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
}

static void there_is_no_end_of_them(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    for (unsigned round = 1; round <= 3 * CORE_CALLS; round++) {
        acquire_three(f, 1, 0);
        numbers(f, 0, round, round, round);
        numbers(f, 1, round, round, round);
        assert_answer(f, 1, 0);
    }
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(one_request_a_master_asks_for_all),
    CORE_CASE(equal_numbers_are_granted_each_with_its_token),
    CORE_CASE(one_number_that_differs_has_all_confirmed),
    CORE_CASE(one_that_is_held_fails_all_and_is_named),
    CORE_CASE(failed_attempt_is_taken_back_at_once_with_one_request_a_master),
    CORE_CASE(what_a_lost_master_owes_is_told_again_one_by_one),
    CORE_CASE(acknowledging_one_that_was_told_again_leaves_the_rest_of_its_group),
    CORE_CASE(what_was_told_again_and_lost_again_is_told_once_more),
    CORE_CASE(every_failed_attempt_is_taken_back_however_many_there_are),
    CORE_CASE(waiter_is_woken_when_the_one_in_its_way_is_released),
    CORE_CASE(waiter_is_not_woken_by_what_it_did_not_ask_for),
    CORE_CASE(waiter_that_leaves_is_gone),
    CORE_CASE(it_stands_in_nobodys_way),
    CORE_CASE(those_that_wait_leave_room_for_those_that_do_not),
    CORE_CASE(there_is_no_end_of_them),
};

CASE_MAIN(cases, NULL, NULL)
