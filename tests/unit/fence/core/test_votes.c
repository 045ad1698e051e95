/* Extend, release and inspect. */
#include "tests/unit/fence/core/core_fixture.h"

#include <string.h>

enum {
    TOKEN = 7,
    CLIENT = 1,
};

static struct fence_call call_of(enum fence_call_kind kind)
{
    struct fence_call call = {
        .kind = kind,
        .client = CLIENT,
        .resource = CORE_RESOURCE,
        .lock_id = kind == FENCE_CALL_INSPECT ? NULL : core_lock_id(CLIENT),
    };
    if (kind == FENCE_CALL_EXTEND) {
        call.token = TOKEN;
        call.ttl_ms = CORE_TTL_MS;
    }
    return call;
}

static struct core_fixture *asked(void **state, unsigned n, enum fence_call_kind kind)
{
    struct core_fixture *f = core_fixture_new(state, n);
    core_call(f, call_of(kind));
    return f;
}

/* Masters 0 .. @count - 1 all reply so; nothing is answered before the last of them. */
static void reply_all(struct core_fixture *f, unsigned count, enum fence_reply_kind kind)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(core_answers(f), 0);
        core_reply_kind(f, i, kind);
    }
}

static void assert_calls_over(const struct core_fixture *f)
{
    assert_int_equal(fence_core_calls(f->core), 0);
}

static const unsigned sizes[] = {1, 3, 5};

#define FOR_EACH_SIZE(n) for (unsigned s = 0, n; s < 3 && (n = sizes[s], true); s++)

static void extend_names_id_token_and_ttl_to_all_active_masters(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 5);
    core_down(f, 2);
    core_call(f, call_of(FENCE_CALL_EXTEND));
    assert_int_equal(core_sent(f, FENCE_REQUEST_EXTEND), CORE_FIRST(5) & ~CORE_SET(2));
    const struct fence_request *extend = core_request(f, FENCE_REQUEST_EXTEND, 4);
    assert_string_equal(extend->resource, CORE_RESOURCE);
    assert_string_equal(extend->lock_id, core_lock_id(CLIENT));
    assert_int_equal(extend->token, TOKEN);
    assert_int_equal(extend->ttl_ms, CORE_TTL_MS);
}

static void extended_as_soon_as_a_majority_agreed(void **state)
{
    FOR_EACH_SIZE(n)
    {
        struct core_fixture *f = asked(state, n, FENCE_CALL_EXTEND);
        core_later_us(f, 3000);
        reply_all(f, n / 2 + 1, FENCE_REPLY_YES);
        assert_answer(f, CLIENT, 0);
        assert_int_equal(core_answer_of(f)->granted, n / 2 + 1);
        assert_int_equal(core_answer_of(f)->ttl_ms, CORE_TTL_MS);
        assert_int_equal(core_answer_of(f)->validity_ms, 30000 - 3 - 302);
        assert_int_equal(core_answer_of(f)->served_ms, 3);
        assert_int_equal(f->effects.count, 1);
        assert_calls_over(f);
    }
}

static void extend_is_lost_as_soon_as_too_many_are_past_its_token(void **state)
{
    FOR_EACH_SIZE(n)
    {
        struct core_fixture *f = asked(state, n, FENCE_CALL_EXTEND);
        reply_all(f, n - n / 2, FENCE_REPLY_PAST);
        assert_answer(f, CLIENT, FENCE_ELOCKLOST);
        assert_int_equal(core_answer_of(f)->validity_ms, 0);
        assert_int_equal(core_answer_of(f)->parts[0], FENCE_PART_FREE);
        assert_calls_over(f);
    }
}

static void extend_is_lost_once_all_masters_say_that_it_is_not_there(void **state)
{
    FOR_EACH_SIZE(n)
    {
        struct core_fixture *f = asked(state, n, FENCE_CALL_EXTEND);
        reply_all(f, n, n == 3 ? FENCE_REPLY_TAKEN : FENCE_REPLY_NO);
        assert_answer(f, CLIENT, FENCE_ELOCKLOST);
        assert_int_equal(core_answer_of(f)->validity_ms, 0);
        assert_calls_over(f);
    }
}

/* Another round may be extending it, over another server. */
static void nothing_is_sent_after_lost(void **state)
{
    struct core_fixture *f = asked(state, 5, FENCE_CALL_EXTEND);
    core_reply_kind(f, 4, FENCE_REPLY_YES); /* it still has the lock */
    reply_all(f, 3, FENCE_REPLY_PAST);
    assert_answer(f, CLIENT, FENCE_ELOCKLOST);
    assert_int_equal(f->effects.count, 1);
}

/* It stands under a number that the client was not told: that is not lost (test_reacquire.c). */
static void extend_acquires_again_where_a_majority_has_a_higher_number(void **state)
{
    FOR_EACH_SIZE(n)
    {
        struct core_fixture *f = asked(state, n, FENCE_CALL_EXTEND);
        reply_all(f, n / 2 + 1, FENCE_REPLY_SUPERSEDED);
        assert_int_equal(core_answers(f), 0);
        assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(n));
        assert_true(core_request(f, FENCE_REQUEST_TAKE, 0)->idempotent);
    }
}

/* What is imported proves nothing: neither that the lock stands nor that it is lost. */
static void extend_that_no_majority_counts_is_no_quorum(void **state)
{
    FOR_EACH_SIZE(n)
    {
        struct core_fixture *f = asked(state, n, FENCE_CALL_EXTEND);
        reply_all(f, n, FENCE_REPLY_UNCOUNTED);
        assert_answer(f, CLIENT, FENCE_ENOQUORUM);
        assert_int_equal(f->effects.count, 1);
        assert_calls_over(f);
    }
}

static void extend_fails_when_majority_timed_out(void **state)
{
    FOR_EACH_SIZE(n)
    {
        struct core_fixture *f = asked(state, n, FENCE_CALL_EXTEND);
        reply_all(f, n / 2, FENCE_REPLY_YES);
        uint64_t asked_us = f->now_us;
        while (core_answers(f) == 0)
            core_tick(f);
        assert_int_equal(f->now_us - asked_us, FENCE_MASTER_DEADLINE_US);
        assert_answer(f, CLIENT, FENCE_ENOQUORUM);
        assert_int_equal(core_answer_of(f)->validity_ms, 0);
        assert_int_equal(core_answer_of(f)->parts[n - 1], FENCE_PART_TIMEOUT);
        assert_calls_over(f);
    }
}

static void unknown_extend_releases_nothing(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_EXTEND);
    core_reply_kind(f, 0, FENCE_REPLY_NO);
    core_reply_kind(f, 1, FENCE_REPLY_LOST);
    assert_no_effects(f);
    core_reply_kind(f, 2, FENCE_REPLY_LOST);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
    assert_int_equal(core_sent(f, FENCE_REQUEST_RELEASE), 0);
}

static void patience_of_extend_is_a_tenth_of_a_short_ttl(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    struct fence_call call = call_of(FENCE_CALL_EXTEND);
    call.ttl_ms = 100;
    core_call(f, call);
    uint64_t asked_us = f->now_us;
    core_tick(f); /* by now those that do not answer are late */
    assert_no_effects(f);
    assert_int_equal(fence_core_deadline(f->core), asked_us + 10000);
    core_tick(f);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
}

static void extend_that_took_longer_than_its_ttl_is_too_slow(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    struct fence_call call = call_of(FENCE_CALL_EXTEND);
    call.ttl_ms = 100;
    core_call(f, call);
    core_later_us(f, 97000);
    core_reply_kind(f, 0, FENCE_REPLY_YES);
    core_reply_kind(f, 1, FENCE_REPLY_YES);
    assert_answer(f, CLIENT, FENCE_ETOOSLOW);
    assert_int_equal(core_sent(f, FENCE_REQUEST_RELEASE), 0);
}

static void exhausted_extensions_leave_the_lock_alone(void **state)
{
    FOR_EACH_SIZE(n)
    {
        struct core_fixture *f = asked(state, n, FENCE_CALL_EXTEND);
        reply_all(f, n < 2 ? n : 2, FENCE_REPLY_EXHAUSTED);
        assert_answer(f, CLIENT, FENCE_EEXHAUSTED);
        assert_int_equal(f->effects.count, 1);
        assert_calls_over(f);
    }
}

static void release_matches_the_lock_id_alone(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_RELEASE);
    assert_int_equal(core_sent(f, FENCE_REQUEST_RELEASE), CORE_FIRST(3));
    const struct fence_request *release = core_request(f, FENCE_REQUEST_RELEASE, 2);
    assert_string_equal(release->lock_id, core_lock_id(CLIENT));
    assert_int_equal(release->token, 0);
}

static void released_as_soon_as_a_majority_deleted_it(void **state)
{
    FOR_EACH_SIZE(n)
    {
        struct core_fixture *f = asked(state, n, FENCE_CALL_RELEASE);
        reply_all(f, n / 2 + 1, FENCE_REPLY_YES);
        assert_answer(f, CLIENT, 0);
        assert_true(core_answer_of(f)->released);
        assert_calls_over(f);
    }
}

static void release_of_what_was_lost_is_no_error(void **state)
{
    FOR_EACH_SIZE(n)
    {
        struct core_fixture *f = asked(state, n, FENCE_CALL_RELEASE);
        reply_all(f, n - n / 2, FENCE_REPLY_NO);
        assert_answer(f, CLIENT, 0);
        assert_false(core_answer_of(f)->released);
        assert_calls_over(f);
    }
}

static void release_of_what_is_nobodys_is_unknown(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_RELEASE);
    core_reply_kind(f, 0, FENCE_REPLY_UNCOUNTED);
    core_reply_kind(f, 1, FENCE_REPLY_UNCOUNTED);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
}

static void release_is_unknown_where_too_few_answered(void **state)
{
    FOR_EACH_SIZE(n)
    {
        struct core_fixture *f = asked(state, n, FENCE_CALL_RELEASE);
        reply_all(f, n / 2, FENCE_REPLY_YES);
        core_tick(f);
        assert_answer(f, CLIENT, FENCE_ENOQUORUM);
        assert_false(core_answer_of(f)->released);
    }
}

static void unknown_release_does_not_wake_waiters(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_acquire(f, 2, 5000);
    core_held(f, 0, core_lock_id(CLIENT), 20000);
    core_held(f, 1, core_lock_id(CLIENT), 20000);
    core_call(f, call_of(FENCE_CALL_RELEASE));
    core_reply_kind(f, 0, FENCE_REPLY_LOST);
    core_reply_kind(f, 1, FENCE_REPLY_LOST);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
    assert_true(fence_core_deadline(f->core) > f->now_us);
}

static void release_is_tried_even_where_a_majority_is_down(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_down(f, 0);
    core_down(f, 1);
    core_call(f, call_of(FENCE_CALL_RELEASE));
    assert_int_equal(core_sent(f, FENCE_REQUEST_RELEASE), CORE_SET(2));
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
    assert_int_equal(core_answer_of(f)->parts[0], FENCE_PART_DOWN);
    assert_calls_over(f);
}

static void inspected(struct core_fixture *f, unsigned i, const char *holder, int64_t number,
                      uint64_t remaining_ms)
{
    core_reply(f, i,
               (struct fence_reply){
                   .kind = FENCE_REPLY_HELD,
                   .number = number,
                   .holder = holder,
                   .owner = holder,
                   .remaining_ms = remaining_ms,
               });
}

static void held_needs_a_majority_that_names_one_id(void **state)
{
    FOR_EACH_SIZE(n)
    {
        struct core_fixture *f = asked(state, n, FENCE_CALL_INSPECT);
        assert_int_equal(core_sent(f, FENCE_REQUEST_INSPECT), CORE_FIRST(n));
        for (unsigned i = 0; i <= n / 2; i++) {
            assert_int_equal(core_answers(f), 0);
            inspected(f, i, "a", TOKEN, 500 + i);
        }
        assert_answer(f, CLIENT, 0);
        assert_true(core_answer_of(f)->held);
        assert_int_equal(core_answer_of(f)->token, TOKEN);
        assert_int_equal(core_answer_of(f)->remaining_ms, 500);
        assert_string_equal(core_answer_of(f)->owner, "a");
        assert_calls_over(f);
    }
}

static void token_is_not_given_where_the_masters_differ(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_INSPECT);
    inspected(f, 0, "a", 7, 500);
    inspected(f, 2, "a", 8, 600);
    assert_no_effects(f);
    inspected(f, 1, "a", 9, 400);
    assert_true(core_answer_of(f)->held);
    assert_int_equal(core_answer_of(f)->token, 0);
    assert_int_equal(core_answer_of(f)->remaining_ms, 500);
}

static void free_needs_that_no_id_can_have_a_majority(void **state)
{
    FOR_EACH_SIZE(n)
    {
        struct core_fixture *f = asked(state, n, FENCE_CALL_INSPECT);
        reply_all(f, n - n / 2, FENCE_REPLY_NO);
        assert_answer(f, CLIENT, 0);
        assert_false(core_answer_of(f)->held);
        assert_string_equal(core_answer_of(f)->owner, "");
    }
}

static void split_lock_is_held_by_nobody(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_INSPECT);
    inspected(f, 0, "a", 7, 500);
    inspected(f, 1, "b", 7, 500);
    assert_no_effects(f);
    core_reply_kind(f, 2, FENCE_REPLY_NO);
    assert_answer(f, CLIENT, 0);
    assert_false(core_answer_of(f)->held);
}

static void tombstone_is_held_without_a_token(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_INSPECT);
    inspected(f, 0, FENCE_TOMBSTONE, 0, 500);
    inspected(f, 1, FENCE_TOMBSTONE, 0, 600);
    inspected(f, 2, FENCE_TOMBSTONE, 0, 400);
    assert_answer(f, CLIENT, 0);
    assert_true(core_answer_of(f)->held);
    assert_int_equal(core_answer_of(f)->token, 0);
    assert_int_equal(core_answer_of(f)->remaining_ms, 500);
}

static void reading_of_too_few_is_no_quorum(void **state)
{
    FOR_EACH_SIZE(n)
    {
        struct core_fixture *f = asked(state, n, FENCE_CALL_INSPECT);
        reply_all(f, n / 2, FENCE_REPLY_NO);
        core_tick(f);
        assert_answer(f, CLIENT, FENCE_ENOQUORUM);
        assert_false(core_answer_of(f)->held);
        assert_calls_over(f);
    }
}

static void answer_to_a_listing_says_so(void **state)
{
    struct fence_call call = call_of(FENCE_CALL_INSPECT);
    call.origin = FENCE_ORIGIN_LISTING;
    struct core_fixture *f = core_fixture_new_down(state, 3);
    core_call(f, call);
    assert_answer(f, CLIENT, FENCE_ENOTREADY);
    assert_int_equal(core_answer_of(f)->origin, FENCE_ORIGIN_LISTING);
    f = core_fixture_new(state, 3);
    core_call(f, call);
    reply_all(f, 2, FENCE_REPLY_NO);
    assert_answer(f, CLIENT, 0);
    assert_int_equal(core_answer_of(f)->origin, FENCE_ORIGIN_LISTING);
}

static void inspect_counts_those_that_wait(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_acquire(f, 2, 5000);
    core_acquire(f, 3, 5000);
    core_call(f, call_of(FENCE_CALL_INSPECT));
    core_reply_kind(f, 0, FENCE_REPLY_NO);
    core_reply_kind(f, 1, FENCE_REPLY_NO);
    assert_answer(f, CLIENT, 0);
    assert_int_equal(core_answer_of(f)->waiters, 2);
}

static void reply_after_the_answer_is_dropped(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_RELEASE);
    uint64_t slow = f->tag[2];
    reply_all(f, 2, FENCE_REPLY_YES);
    assert_answer(f, CLIENT, 0);
    core_reply_kind(f, 2, FENCE_REPLY_YES);
    assert_no_effects(f);
    core_call(f, call_of(FENCE_CALL_EXTEND)); /* the same slot again */
    core_reply_kind(f, 0, FENCE_REPLY_YES);
    core_reply_to(f, 2, slow, (struct fence_reply){.kind = FENCE_REPLY_YES});
    assert_no_effects(f);
}

static void one_master_has_one_vote(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_EXTEND);
    core_reply_kind(f, 0, FENCE_REPLY_YES);
    core_reply_kind(f, 0, FENCE_REPLY_YES);
    assert_no_effects(f);
    core_reply_kind(f, 0, FENCE_REPLY_NO);
    core_reply_kind(f, 1, FENCE_REPLY_NO);
    assert_no_effects(f);
}

static void votes_do_not_stand_in_the_line_for_acquires(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_acquire(f, 2, 5000);
    static const enum fence_call_kind kinds[] = {
        FENCE_CALL_EXTEND,
        FENCE_CALL_RELEASE,
        FENCE_CALL_INSPECT,
    };
    for (unsigned k = 0; k < 3; k++) {
        core_call(f, call_of(kinds[k]));
        assert_int_equal(f->effects.count, 1);
        assert_int_equal(core_effect(f, FENCE_EFFECT_SEND), CORE_FIRST(3));
    }
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(extend_names_id_token_and_ttl_to_all_active_masters),
    CORE_CASE(extended_as_soon_as_a_majority_agreed),
    CORE_CASE(extend_is_lost_as_soon_as_too_many_are_past_its_token),
    CORE_CASE(extend_is_lost_once_all_masters_say_that_it_is_not_there),
    CORE_CASE(nothing_is_sent_after_lost),
    CORE_CASE(extend_acquires_again_where_a_majority_has_a_higher_number),
    CORE_CASE(extend_that_no_majority_counts_is_no_quorum),
    CORE_CASE(extend_fails_when_majority_timed_out),
    CORE_CASE(unknown_extend_releases_nothing),
    CORE_CASE(patience_of_extend_is_a_tenth_of_a_short_ttl),
    CORE_CASE(extend_that_took_longer_than_its_ttl_is_too_slow),
    CORE_CASE(exhausted_extensions_leave_the_lock_alone),
    CORE_CASE(release_matches_the_lock_id_alone),
    CORE_CASE(released_as_soon_as_a_majority_deleted_it),
    CORE_CASE(release_of_what_was_lost_is_no_error),
    CORE_CASE(release_of_what_is_nobodys_is_unknown),
    CORE_CASE(release_is_unknown_where_too_few_answered),
    CORE_CASE(unknown_release_does_not_wake_waiters),
    CORE_CASE(release_is_tried_even_where_a_majority_is_down),
    CORE_CASE(held_needs_a_majority_that_names_one_id),
    CORE_CASE(token_is_not_given_where_the_masters_differ),
    CORE_CASE(free_needs_that_no_id_can_have_a_majority),
    CORE_CASE(split_lock_is_held_by_nobody),
    CORE_CASE(tombstone_is_held_without_a_token),
    CORE_CASE(reading_of_too_few_is_no_quorum),
    CORE_CASE(answer_to_a_listing_says_so),
    CORE_CASE(inspect_counts_those_that_wait),
    CORE_CASE(reply_after_the_answer_is_dropped),
    CORE_CASE(one_master_has_one_vote),
    CORE_CASE(votes_do_not_stand_in_the_line_for_acquires),
};

CASE_MAIN(cases, NULL, NULL)
