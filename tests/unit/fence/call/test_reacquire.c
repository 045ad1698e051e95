/* Extensions that acquire the lock again, under its own lock id. */
#include "tests/unit/fence/core_fixture.h"

#include <string.h>

enum {
    NEW_TOKEN = 12,
    CLIENT = 1,
    EXTENSIONS = 4,
    FOUND_MS = 20000, /* the rest of the lock that is found */
};

static struct core_fixture *extending(void **state, unsigned n)
{
    struct core_fixture *f = core_fixture_new_spread(state, n);
    core_call(f, core_call_of(FENCE_CALL_EXTEND, CLIENT));
    return f;
}

static void answer(struct core_fixture *f, unsigned k, enum fence_reply_kind kind)
{
    core_reply_kind(f, core_nth(f, k), kind);
}

static void extends(struct core_fixture *f, unsigned k)
{
    core_reply(f, core_nth(f, k),
               (struct fence_reply){
                   .kind = FENCE_REPLY_YES,
                   .number = EXTENSIONS,
                   .owner = "worker",
               });
}

static void number(struct core_fixture *f, unsigned k, int64_t number)
{
    core_number(f, core_nth(f, k), number);
}

static void found(struct core_fixture *f, unsigned k, int64_t number)
{
    core_reply(f, core_nth(f, k),
               (struct fence_reply){
                   .kind = FENCE_REPLY_NUMBER,
                   .number = number,
                   .found = true,
                   .remaining_ms = FOUND_MS,
               });
}

static const struct fence_request *take_of(const struct core_fixture *f, unsigned k)
{
    return core_request(f, FENCE_REQUEST_TAKE, core_nth(f, k));
}

/* Place 0 of three, place 0 extended it, place 1 says @why it cannot, and place 2 is lost. */
static struct core_fixture *taking(void **state, enum fence_reply_kind why)
{
    struct core_fixture *f = extending(state, 3);
    extends(f, 0);
    answer(f, 1, why);
    answer(f, 2, FENCE_REPLY_LOST);
    return f;
}

/* And it was acquired again: found in place 0, taken in place 1. */
static struct core_fixture *extending_anew(void **state)
{
    struct core_fixture *f = taking(state, FENCE_REPLY_PAST);
    found(f, 0, CORE_TOKEN);
    number(f, 1, NEW_TOKEN);
    answer(f, 0, FENCE_REPLY_YES);
    answer(f, 1, FENCE_REPLY_YES);
    assert_int_equal(core_answers(f), 0);
    return f;
}

/* A seat of a writer has a number below the token of the writer. */
static void lock_below_the_token_that_free_masters_cannot_join_is_acquired_again(void **state)
{
    struct core_fixture *f = extending(state, 3);
    core_reply(f, core_nth(f, 0),
               (struct fence_reply){.kind = FENCE_REPLY_YES,
                                    .owner = "worker\x1e"
                                             "2000"});
    answer(f, 1, FENCE_REPLY_LOST);
    answer(f, 2, FENCE_REPLY_NO);
    assert_int_equal(core_answers(f), 0);
    assert_string_equal(take_of(f, 0)->resource, CORE_RESOURCE);
    assert_string_equal(take_of(f, 0)->owner, "worker\x1e"
                                              "2000"); /* the label and the delay that it has */
    assert_int_equal(take_of(f, 0)->ttl_ms, CORE_TTL_MS + 2000);
}

static void lock_that_one_has_and_another_cannot_extend_is_acquired_again(void **state)
{
    static const enum fence_reply_kind kinds[] = {FENCE_REPLY_PAST, FENCE_REPLY_SUPERSEDED,
                                                  FENCE_REPLY_UNCOUNTED};
    for (unsigned k = 0; k < 3; k++) {
        struct core_fixture *f = taking(state, kinds[k]);
        assert_int_equal(core_answers(f), 0);
        assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), core_nths(f, 0, 2));
        const struct fence_request *take = take_of(f, 0);
        assert_true(take->idempotent);
        assert_string_equal(take->lock_id, core_lock_id(CLIENT));
        assert_string_equal(take->owner, "worker"); /* the label that the lock has */
        assert_int_equal(take->ttl_ms, CORE_TTL_MS);
        assert_false(take->take.waits);
    }
}

/* A client that retried its acquire may extend under the token of the first answer. */
static void lock_under_a_higher_number_is_there_without_any_yes(void **state)
{
    struct core_fixture *f = extending(state, 3);
    for (unsigned i = 0; i < 2; i++)
        core_reply(f, core_nth(f, i),
                   (struct fence_reply){.kind = FENCE_REPLY_SUPERSEDED,
                                        .owner = "worker\x1e"
                                                 "2000"});
    assert_int_equal(core_answers(f), 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), core_nths(f, 0, 2));
    assert_string_equal(take_of(f, 0)->owner, "worker\x1e"
                                              "2000");
    assert_int_equal(take_of(f, 0)->ttl_ms, CORE_TTL_MS + 2000);
}

/* All masters were replaced one after the other since it was extended. */
static void lock_that_a_majority_has_by_imports_alone_is_acquired_again(void **state)
{
    struct core_fixture *f = extending(state, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0);
        answer(f, i, FENCE_REPLY_UNCOUNTED);
    }
    assert_int_equal(core_answers(f), 0);
    assert_true(take_of(f, 0)->idempotent);
    assert_string_equal(take_of(f, 0)->lock_id, core_lock_id(CLIENT));
}

/* A master that lacks the lock would store it without its label. */
static void lock_that_a_majority_has_by_imports_alone_is_asked_for_only_there(void **state)
{
    static const enum fence_reply_kind lacks[] = {FENCE_REPLY_NO, FENCE_REPLY_PAST,
                                                  FENCE_REPLY_TAKEN, FENCE_REPLY_LOST};
    for (unsigned k = 0; k < 4; k++) {
        struct core_fixture *f = extending(state, 3);
        answer(f, 0, FENCE_REPLY_UNCOUNTED);
        answer(f, 1, lacks[k]);
        assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0);
        answer(f, 2, FENCE_REPLY_UNCOUNTED);
        assert_int_equal(core_answers(f), 0);
        const uint32_t there = core_nths(f, 0, 1) | core_nths(f, 2, 1);
        assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), there);
        found(f, 0, NEW_TOKEN);
        found(f, 2, NEW_TOKEN);
        assert_true(core_sent(f, FENCE_REQUEST_EXTEND) != 0);
        assert_int_equal(core_request(f, FENCE_REQUEST_EXTEND, core_nth(f, 0))->token, NEW_TOKEN);
    }
}

static void lock_that_nobody_is_known_to_have_is_not(void **state)
{
    struct core_fixture *f = extending(state, 3);
    answer(f, 0, FENCE_REPLY_PAST);
    answer(f, 1, FENCE_REPLY_UNCOUNTED);
    answer(f, 2, FENCE_REPLY_LOST);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
    assert_int_equal(f->effects.count, 1);
}

static void silence_alone_is_no_reason(void **state)
{
    struct core_fixture *f = taking(state, FENCE_REPLY_LOST);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
    f = taking(state, FENCE_REPLY_TAKEN);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0);
}

static void lock_that_is_lost_is_not_acquired_again(void **state)
{
    struct core_fixture *f = extending(state, 3);
    extends(f, 0);
    answer(f, 1, FENCE_REPLY_PAST);
    answer(f, 2, FENCE_REPLY_PAST);
    assert_answer(f, CLIENT, FENCE_ELOCKLOST);
    assert_int_equal(f->effects.count, 1);
}

static void what_joined_is_undone_before(void **state)
{
    struct core_fixture *f = extending(state, 5);
    extends(f, 0);
    answer(f, 1, FENCE_REPLY_NO);
    answer(f, 2, FENCE_REPLY_NO);
    answer(f, 3, FENCE_REPLY_LOST);
    assert_int_equal(core_sent(f, FENCE_REQUEST_JOIN), core_nths(f, 1, 2));
    uint64_t tag = core_request(f, FENCE_REQUEST_JOIN, core_nth(f, 1))->attempt;
    extends(f, 1);
    answer(f, 2, FENCE_REPLY_PAST); /* its counter rose meanwhile */
    answer(f, 4, FENCE_REPLY_LOST);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), core_nths(f, 1, 2));
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), core_nths(f, 0, 3));
    assert_int_equal(f->effects.items[0].request.kind, FENCE_REQUEST_UNDO);
    assert_true(f->effects.items[0].request.attempt == tag);
    assert_true(take_of(f, 0)->attempt != tag);
}

static void what_was_acquired_again_is_extended_under_its_new_token(void **state)
{
    struct core_fixture *f = taking(state, FENCE_REPLY_PAST);
    found(f, 0, CORE_TOKEN);
    number(f, 1, NEW_TOKEN);
    const struct fence_request *confirm = core_request(f, FENCE_REQUEST_CONFIRM, core_nth(f, 0));
    assert_int_equal(confirm->token, NEW_TOKEN);
    assert_true(confirm->idempotent);
    answer(f, 0, FENCE_REPLY_YES);
    answer(f, 1, FENCE_REPLY_YES);
    assert_int_equal(core_answers(f), 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_EXTEND), core_nths(f, 0, 2));
    const struct fence_request *extend = core_request(f, FENCE_REQUEST_EXTEND, core_nth(f, 0));
    assert_int_equal(extend->token, NEW_TOKEN);
    assert_string_equal(extend->lock_id, core_lock_id(CLIENT));
    assert_int_equal(extend->ttl_ms, CORE_TTL_MS);
}

static void it_asks_others_as_an_acquire_does(void **state)
{
    struct core_fixture *f = taking(state, FENCE_REPLY_PAST);
    uint64_t attempt = take_of(f, 0)->attempt;
    found(f, 0, CORE_TOKEN);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), core_nths(f, 2, 1));
    assert_int_equal(take_of(f, 2)->take.hint, CORE_TOKEN - 1);
    found(f, 2, CORE_TOKEN);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), core_nths(f, 1, 1));
    assert_true(core_request(f, FENCE_REQUEST_UNDO, core_nth(f, 1))->attempt == attempt);
    assert_int_equal(core_sent(f, FENCE_REQUEST_EXTEND), core_nths(f, 0, 2));
}

static void failed_attempt_is_undone_and_the_old_validity_stands(void **state)
{
    struct core_fixture *f = taking(state, FENCE_REPLY_PAST);
    uint64_t attempt = take_of(f, 0)->attempt;
    found(f, 0, CORE_TOKEN);
    core_held(f, core_nth(f, 1), CORE_OTHER_HOLDER, 1000);
    core_held(f, core_nth(f, 2), CORE_OTHER_HOLDER, 1000);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(3));
    assert_true(core_request(f, FENCE_REQUEST_UNDO, 0)->attempt == attempt);
    assert_int_equal(core_answer_of(f)->parts[core_nth(f, 1)], FENCE_PART_HELD);
    assert_int_equal(core_answer_of(f)->lease.granted, 1);
    assert_false(core_answer_of(f)->extend.anew);
    assert_int_equal(fence_core_calls(f->core), 0);
}

static void attempt_that_nobody_answers_ends_with_its_round(void **state)
{
    struct core_fixture *f = taking(state, FENCE_REPLY_PAST);
    uint64_t asked_us = f->now_us;
    while (core_answers(f) == 0)
        core_tick(f);
    assert_int_equal(f->now_us - asked_us, FENCE_MASTER_DEADLINE_US);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(3));
}

static void obstacle_that_it_meets_is_named(void **state)
{
    struct core_fixture *f = taking(state, FENCE_REPLY_PAST);
    answer(f, 0, FENCE_REPLY_FOREIGN);
    answer(f, 1, FENCE_REPLY_FOREIGN);
    assert_answer(f, CLIENT, FENCE_EFOREIGN);
}

static void too_few_that_can_be_asked_fail_it_at_once(void **state)
{
    struct core_fixture *f = extending(state, 3);
    extends(f, 0);
    answer(f, 1, FENCE_REPLY_PAST);
    core_down(f, core_nth(f, 1));
    core_down(f, core_nth(f, 2));
    answer(f, 2, FENCE_REPLY_LOST);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), 0);
}

static void lock_that_is_about_to_end_is_extended_all_the_same(void **state)
{
    struct core_fixture *f = taking(state, FENCE_REPLY_SUPERSEDED);
    for (unsigned k = 0; k < 2; k++)
        core_reply(f, core_nth(f, k),
                   (struct fence_reply){
                       .kind = FENCE_REPLY_NUMBER,
                       .number = NEW_TOKEN,
                       .found = true,
                       .remaining_ms = 1,
                   });
    assert_int_equal(core_sent(f, FENCE_REQUEST_EXTEND), core_nths(f, 0, 2));
    answer(f, 0, FENCE_REPLY_LOST);
    answer(f, 1, FENCE_REPLY_LOST);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM); /* a lock that was found is worth nothing */
}

/* A copy may have ended between the two rounds. */
static void attempt_that_meets_contenders_is_made_again(void **state)
{
    struct core_fixture *f = taking(state, FENCE_REPLY_SUPERSEDED);
    number(f, 0, NEW_TOKEN - 1);
    number(f, 1, NEW_TOKEN);
    assert_int_equal(core_sent(f, FENCE_REQUEST_CONFIRM), core_nths(f, 0, 2));
    answer(f, 0, FENCE_REPLY_NO);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), core_nths(f, 0, 2));
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), core_nths(f, 0, 2));
}

static void answer_is_a_new_grant(void **state)
{
    struct core_fixture *f = extending_anew(state);
    extends(f, 0);
    extends(f, 1);
    assert_answer(f, CLIENT, 0);
    const struct fence_answer *given = core_answer_of(f);
    assert_true(given->extend.anew);
    assert_int_equal(given->kind, FENCE_CALL_EXTEND);
    assert_int_equal(given->token, NEW_TOKEN);
    assert_string_equal(given->owner, "worker");
    assert_string_equal(given->lock_id, core_lock_id(CLIENT));
    assert_int_equal(given->lease.validity_ms, CORE_TTL_MS - CORE_TTL_MS / 100 - 2);
    assert_int_equal(f->effects.count, 1);
}

static void lease_that_was_found_stands_where_it_is_not_known_to_be_extended(void **state)
{
    struct core_fixture *f = extending_anew(state);
    uint64_t won_us = f->now_us;
    extends(f, 0);
    core_later_us(f, 5000);
    answer(f, 1, FENCE_REPLY_LOST);
    answer(f, 2, FENCE_REPLY_LOST);
    assert_answer(f, CLIENT, 0);
    assert_true(core_answer_of(f)->extend.anew);
    assert_int_equal(core_answer_of(f)->token, NEW_TOKEN);
    assert_int_equal(core_answer_of(f)->lease.validity_ms,
                     FOUND_MS - FOUND_MS / 100 - 2 - (f->now_us - won_us) / 1000);
}

static void it_is_acquired_again_once(void **state)
{
    struct core_fixture *f = extending_anew(state);
    extends(f, 0);
    answer(f, 1, FENCE_REPLY_SUPERSEDED); /* somebody else was faster */
    answer(f, 2, FENCE_REPLY_PAST);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0);
    assert_answer(f, CLIENT, 0);
    assert_true(core_answer_of(f)->extend.anew);
}

static void lock_that_is_lost_after_all_is_lost(void **state)
{
    struct core_fixture *f = extending_anew(state);
    answer(f, 1, FENCE_REPLY_PAST);
    answer(f, 2, FENCE_REPLY_PAST);
    assert_answer(f, CLIENT, FENCE_ELOCKLOST);
    assert_false(core_answer_of(f)->extend.anew);
}

static void next_extension_of_the_slot_is_not_a_new_grant(void **state)
{
    struct core_fixture *f = extending_anew(state);
    extends(f, 0);
    extends(f, 1);
    assert_true(core_answer_of(f)->extend.anew);
    struct fence_call next = core_call_of(FENCE_CALL_EXTEND, CLIENT);
    next.token = NEW_TOKEN;
    core_call(f, next);
    extends(f, 0);
    extends(f, 1);
    assert_answer(f, CLIENT, 0);
    assert_false(core_answer_of(f)->extend.anew);
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(lock_below_the_token_that_free_masters_cannot_join_is_acquired_again),
    CORE_CASE(lock_that_one_has_and_another_cannot_extend_is_acquired_again),
    CORE_CASE(lock_under_a_higher_number_is_there_without_any_yes),
    CORE_CASE(lock_that_a_majority_has_by_imports_alone_is_acquired_again),
    CORE_CASE(lock_that_a_majority_has_by_imports_alone_is_asked_for_only_there),
    CORE_CASE(lock_that_nobody_is_known_to_have_is_not),
    CORE_CASE(silence_alone_is_no_reason),
    CORE_CASE(lock_that_is_lost_is_not_acquired_again),
    CORE_CASE(what_joined_is_undone_before),
    CORE_CASE(what_was_acquired_again_is_extended_under_its_new_token),
    CORE_CASE(it_asks_others_as_an_acquire_does),
    CORE_CASE(failed_attempt_is_undone_and_the_old_validity_stands),
    CORE_CASE(attempt_that_nobody_answers_ends_with_its_round),
    CORE_CASE(obstacle_that_it_meets_is_named),
    CORE_CASE(too_few_that_can_be_asked_fail_it_at_once),
    CORE_CASE(lock_that_is_about_to_end_is_extended_all_the_same),
    CORE_CASE(attempt_that_meets_contenders_is_made_again),
    CORE_CASE(answer_is_a_new_grant),
    CORE_CASE(lease_that_was_found_stands_where_it_is_not_known_to_be_extended),
    CORE_CASE(it_is_acquired_again_once),
    CORE_CASE(lock_that_is_lost_after_all_is_lost),
    CORE_CASE(next_extension_of_the_slot_is_not_a_new_grant),
};

CASE_MAIN(cases, NULL, NULL)
