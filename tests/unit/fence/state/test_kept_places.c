/* A waiter that leaves without the lock, and asks again with its own lock id, keeps its place. */
#include "tests/unit/fence/core_fixture.h"

#include <stdio.h>

enum {
    WAIT_MS = 5000,
    HELD_MS = 100 * 1000,
    AWAY_US = FENCE_PLACE_KEPT_US - 1, /* the longest that a place is kept */
};

static const char *id_of(unsigned who)
{
    static char ids[26][FENCE_LOCK_ID_LEN + 1];
    snprintf(ids[who - 'a'], sizeof(ids[0]), "own-lock-id-of-waiter-%c", who);
    return ids[who - 'a'];
}

static struct fence_call call_of(unsigned who, uint64_t client)
{
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, client);
    call.lock_id = id_of(who);
    call.idempotent = true;
    call.wait_ms = WAIT_MS;
    return call;
}

static void ask(struct core_fixture *f, unsigned who, uint64_t client)
{
    core_call(f, call_of(who, client));
}

static void leave(struct core_fixture *f, uint64_t client)
{
    core_client_left(f, client);
    assert_answer(f, client, FENCE_ELEFT);
}

/* Waiters a, b and c in this order, of clients 1, 2 and 3; somebody else holds the lock. */
static struct core_fixture *new_line(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    ask(f, 'a', 1);
    core_meet_holder(f, HELD_MS);
    ask(f, 'b', 2);
    assert_no_effects(f);
    ask(f, 'c', 3);
    assert_no_effects(f);
    return f;
}

/* @holder releases, and the first of the line asks: it is @who, whose call is @client's. */
static void hand_over(struct core_fixture *f, const char *holder, unsigned who, uint64_t client)
{
    core_tell_released(f, CORE_RESOURCE, holder);
    for (unsigned t = 0; t < 2 && core_sent(f, FENCE_REQUEST_TAKE) == 0; t++)
        core_tick(f); /* one that was the first before may look first, and steps back */
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->lock_id, id_of(who));
    core_grant(f, 7);
    assert_answer(f, client, 0);
    fence_core_check(f->core);
}

/* The same for a whole line: "abc", of which 'a' is @clients[0]'s. */
static void hand_down(struct core_fixture *f, const char *line, const uint64_t *clients)
{
    const char *holder = CORE_OTHER_HOLDER;
    for (unsigned k = 0; line[k] != '\0'; k++) {
        hand_over(f, holder, (unsigned char)line[k], clients[k]);
        holder = id_of((unsigned char)line[k]);
    }
    assert_int_equal(fence_core_calls(f->core), 0);
}

static void first_that_asks_again_is_the_first(void **state)
{
    struct core_fixture *f = new_line(state);
    leave(f, 1);
    core_later_us(f, 1000);
    ask(f, 'a', 4);
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->lock_id, id_of('a'));
    core_meet_holder(f, HELD_MS);
    hand_down(f, "abc", (const uint64_t[]){4, 2, 3});
}

static void one_in_the_middle_that_asks_again_stands_where_it_stood(void **state)
{
    struct core_fixture *f = new_line(state);
    leave(f, 2);
    core_later_us(f, 1000);
    ask(f, 'd', 5);
    ask(f, 'b', 4);
    assert_no_effects(f);
    hand_down(f, "abcd", (const uint64_t[]){1, 4, 3, 5});
}

static void all_that_ask_again_in_any_order_stand_as_they_stood(void **state)
{
    struct core_fixture *f = new_line(state);
    for (uint64_t client = 1; client <= 3; client++)
        leave(f, client);
    ask(f, 'c', 6);
    core_meet_holder(f, HELD_MS);
    ask(f, 'd', 7);
    ask(f, 'a', 4);
    ask(f, 'b', 5);
    core_meet_holder(f, HELD_MS);
    hand_down(f, "abcd", (const uint64_t[]){4, 5, 6, 7});
}

/* Its proxy may have cut the connection, and pawld not have seen it yet. */
static void one_that_asks_again_before_it_is_gone_stands_behind_itself(void **state)
{
    struct core_fixture *f = new_line(state);
    ask(f, 'b', 4);
    assert_no_effects(f);
    leave(f, 2);
    hand_down(f, "abc", (const uint64_t[]){1, 4, 3});
}

static void end_of_a_wait_keeps_the_place(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    struct fence_call call = call_of('a', 1);
    call.wait_ms = 4;
    core_call(f, call);
    core_meet_holder(f, HELD_MS);
    ask(f, 'b', 2);
    core_tick(f);
    assert_answer(f, 1, FENCE_EWAITTIMEOUT);
    ask(f, 'a', 3);
    core_meet_holder(f, HELD_MS);
    hand_down(f, "ab", (const uint64_t[]){3, 2});
}

static void place_is_kept_for_a_moment_only(void **state)
{
    for (unsigned late = 0; late < 2; late++) {
        struct core_fixture *f = new_line(state);
        leave(f, 2);
        core_later_us(f, AWAY_US + late);
        ask(f, 'b', 4);
        hand_down(f, late ? "acb" : "abc",
                  late ? (const uint64_t[]){1, 3, 4} : (const uint64_t[]){1, 4, 3});
    }
}

static void attempt_of_the_first_goes_on_behind_one_that_is_back(void **state)
{
    struct core_fixture *f = new_line(state);
    leave(f, 1);
    core_tick(f);
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->lock_id, id_of('b'));
    const uint64_t take = f->tag[0];
    ask(f, 'a', 4);
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->lock_id, id_of('a'));
    for (unsigned i = 0; i < 2; i++)
        core_reply_to(f, i, take, (struct fence_reply){.kind = FENCE_REPLY_NUMBER, .number = 7});
    assert_answer(f, 2, 0);
}

static void lock_goes_to_the_next_while_the_first_is_away(void **state)
{
    struct core_fixture *f = new_line(state);
    leave(f, 1);
    hand_over(f, CORE_OTHER_HOLDER, 'b', 2);
    ask(f, 'd', 5);
    ask(f, 'a', 4);
    core_both_held(f, id_of('b'), HELD_MS);
    hand_over(f, id_of('b'), 'a', 4);
    hand_over(f, id_of('a'), 'c', 3);
    hand_over(f, id_of('c'), 'd', 5);
}

static void place_is_of_one_lock_id_one_resource_and_one_key(void **state)
{
    static const struct {
        const char *resource, *owner;
        unsigned who;
        bool keeps;
    } rows[] = {
        {CORE_RESOURCE,
         "worker\x1f"
         "deploy",
         'b', true},
        {CORE_RESOURCE,
         "another label\x1f"
         "deploy",
         'b', true},
        {CORE_RESOURCE,
         "worker\x1f"
         "deploy",
         'x', false},
        {CORE_RESOURCE,
         "worker\x1f"
         "others",
         'b', false},
        {CORE_RESOURCE, "worker", 'b', false},
        {"orders/43",
         "worker\x1f"
         "deploy",
         'b', false},
    };
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct core_fixture *f = core_fixture_new(state, 3);
        struct fence_call b = call_of('b', 2);
        ask(f, 'a', 1);
        core_meet_holder(f, HELD_MS);
        b.resource = rows[row].resource;
        b.owner = "worker\x1f"
                  "deploy";
        core_call(f, b);
        ask(f, 'c', 3);
        leave(f, 2);
        b = call_of(rows[row].who, 4);
        b.owner = rows[row].owner;
        core_call(f, b);
        hand_over(f, CORE_OTHER_HOLDER, 'a', 1);
        if (rows[row].keeps)
            hand_over(f, id_of('a'), 'b', 4);
        else
            hand_over(f, id_of('a'), 'c', 3);
    }
}

static void lock_id_that_the_server_made_keeps_none(void **state)
{
    struct core_fixture *f = new_line(state);
    struct fence_call b = call_of('b', 4);
    b.idempotent = false;
    leave(f, 2);
    core_call(f, b);
    hand_down(f, "acb", (const uint64_t[]){1, 3, 4});
}

static void call_that_does_not_wait_takes_no_place(void **state)
{
    struct core_fixture *f = new_line(state);
    struct fence_call b = call_of('b', 4);
    b.wait_ms = 0;
    leave(f, 2);
    core_call(f, b);
    assert_answer(f, 4, FENCE_EHELD);
    ask(f, 'b', 5);
    hand_down(f, "abc", (const uint64_t[]){1, 5, 3});
}

static void grant_ends_a_place(void **state)
{
    struct core_fixture *f = new_line(state);
    hand_over(f, CORE_OTHER_HOLDER, 'a', 1);
    core_tell_released(f, CORE_RESOURCE, id_of('a'));
    ask(f, 'a', 4);
    core_tick(f);
    core_grant(f, 7);
    assert_answer(f, 2, 0);
    hand_over(f, id_of('b'), 'c', 3);
    hand_over(f, id_of('c'), 'a', 4);
}

/* The proxy had cut the connection before the grant. */
static void grant_that_found_nobody_keeps_the_place(void **state)
{
    struct core_fixture *f = new_line(state);
    hand_over(f, CORE_OTHER_HOLDER, 'a', 1);
    const struct fence_answer grant = *core_answer_of(f);
    core_give(f, (struct fence_event){
                     .kind = FENCE_EVENT_DECLINED,
                     .declined = {.resource = CORE_RESOURCE,
                                  .lock_id = id_of('a'),
                                  .attempt = grant.acquire.attempt,
                                  .ttl_ms = CORE_TTL_MS,
                                  .masters = grant.acquire.sent},
                 });
    ask(f, 'a', 4);
    core_grant(f, 8);
    assert_answer(f, 4, 0);
    hand_over(f, id_of('a'), 'b', 2);
    hand_over(f, id_of('b'), 'c', 3);
}

/* Waiters and places are CORE_WAITERS together. */
static void place_left_first_is_dropped_where_waiters_need_the_room(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    ask(f, 'a', 1);
    core_meet_holder(f, HELD_MS);
    for (unsigned k = 1; k < CORE_WAITERS; k++)
        ask(f, 'a' + k, 1 + k);
    leave(f, 2); /* b is away, then c */
    leave(f, 3);
    fence_core_check(f->core);
    ask(f, 'x', 20); /* takes the room of b's place */
    fence_core_check(f->core);
    ask(f, 'c', 21);
    fence_core_check(f->core);
    leave(f, 20);
    ask(f, 'b', 22);
    hand_down(f, "acdefgb", (const uint64_t[]){1, 21, 4, 5, 6, 7, 22});
}

static void absent_waiters_keep_nobody_out(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    for (unsigned round = 0; round < 8; round++) {
        for (unsigned k = 0; k < CORE_WAITERS; k++) {
            ask(f, 'a' + (round + k) % 26, 1 + k);
            assert_int_equal(core_answers(f), 0);
        }
        fence_core_check(f->core);
        for (unsigned k = 0; k < CORE_WAITERS; k++)
            leave(f, 1 + k);
        fence_core_check(f->core);
    }
}

static void ask_that_waited(struct core_fixture *f, unsigned who, uint64_t client,
                            uint32_t waited_ms)
{
    struct fence_call call = call_of(who, client);
    call.waited_ms = waited_ms;
    core_call(f, call);
    fence_core_check(f->core);
}

static void new_process_orders_waiters_by_how_long_they_have_waited(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    ask_that_waited(f, 'c', 1, 1000);
    core_meet_holder(f, HELD_MS);
    ask_that_waited(f, 'd', 2, 0);
    ask_that_waited(f, 'a', 3, FENCE_WAITED_MAX_MS);
    core_meet_holder(f, HELD_MS);
    ask_that_waited(f, 'b', 4, 2000);
    hand_down(f, "abcd", (const uint64_t[]){3, 4, 1, 2});
}

static void process_that_is_no_longer_new_believes_nobody(void **state)
{
    for (unsigned late = 0; late < 2; late++) {
        struct core_fixture *f = core_fixture_new(state, 3);
        ask(f, 'a', 1);
        core_meet_holder(f, HELD_MS);
        core_later_us(f, FENCE_CLAIMS_US - 1 + late);
        ask_that_waited(f, 'b', 2, 60 * 1000);
        if (!late)
            core_meet_holder(f, HELD_MS);
        hand_down(f, late ? "ab" : "ba",
                  late ? (const uint64_t[]){1, 2} : (const uint64_t[]){2, 1});
    }
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(first_that_asks_again_is_the_first),
    CORE_CASE(one_in_the_middle_that_asks_again_stands_where_it_stood),
    CORE_CASE(all_that_ask_again_in_any_order_stand_as_they_stood),
    CORE_CASE(one_that_asks_again_before_it_is_gone_stands_behind_itself),
    CORE_CASE(end_of_a_wait_keeps_the_place),
    CORE_CASE(place_is_kept_for_a_moment_only),
    CORE_CASE(attempt_of_the_first_goes_on_behind_one_that_is_back),
    CORE_CASE(lock_goes_to_the_next_while_the_first_is_away),
    CORE_CASE(place_is_of_one_lock_id_one_resource_and_one_key),
    CORE_CASE(lock_id_that_the_server_made_keeps_none),
    CORE_CASE(call_that_does_not_wait_takes_no_place),
    CORE_CASE(grant_ends_a_place),
    CORE_CASE(grant_that_found_nobody_keeps_the_place),
    CORE_CASE(place_left_first_is_dropped_where_waiters_need_the_room),
    CORE_CASE(absent_waiters_keep_nobody_out),
    CORE_CASE(new_process_orders_waiters_by_how_long_they_have_waited),
    CORE_CASE(process_that_is_no_longer_new_believes_nobody),
};

CASE_MAIN(cases, NULL, NULL)
