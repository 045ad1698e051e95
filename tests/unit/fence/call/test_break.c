/* Breaking a grant. */
#include "tests/unit/fence/core_fixture.h"

enum {
    BREAKER = 3,
    HOLDER = 1,
};

static void ask_to_break(struct core_fixture *f)
{
    struct fence_call call = core_call_of(FENCE_CALL_BREAK, BREAKER);
    call.owner = "operator";
    core_call(f, call);
}

static void held_with(struct core_fixture *f, unsigned i, int64_t number)
{
    core_reply(f, i,
               (struct fence_reply){.kind = FENCE_REPLY_HELD,
                                    .holder = core_lock_id(HOLDER),
                                    .owner = "w-1",
                                    .number = number,
                                    .remaining_ms = 1000});
}

/* The first round has found the lock id. */
static struct core_fixture *found(void **state, unsigned n)
{
    struct core_fixture *f = core_fixture_new(state, n);
    ask_to_break(f);
    for (unsigned i = 0; i < n / 2 + 1; i++)
        held_with(f, i, CORE_TOKEN);
    return f;
}

static void lock_id_is_learnt_before_anything_is_broken(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    ask_to_break(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_INSPECT), CORE_FIRST(3));
    held_with(f, 0, CORE_TOKEN);
    assert_int_equal(core_sent(f, FENCE_REQUEST_BREAK), 0);
    held_with(f, 1, CORE_TOKEN);
    assert_int_equal(core_sent(f, FENCE_REQUEST_BREAK), CORE_FIRST(3));
    const struct fence_request *request = core_request(f, FENCE_REQUEST_BREAK, 2);
    assert_string_equal(request->resource, CORE_RESOURCE);
    assert_string_equal(request->lock_id, core_lock_id(HOLDER));
    assert_string_equal(request->owner, "operator");
    assert_int_equal(request->token, CORE_TOKEN);
    assert_int_equal(request->ttl_ms, CORE_TTL_MAX_MS);
}

static void broken_as_soon_as_a_majority_did_it(void **state)
{
    struct core_fixture *f = found(state, 5);
    core_reply_kind(f, 4, FENCE_REPLY_YES);
    core_reply_kind(f, 0, FENCE_REPLY_YES);
    assert_int_equal(core_answers(f), 0);
    core_reply_kind(f, 2, FENCE_REPLY_YES);
    assert_answer(f, BREAKER, 0);
    assert_true(core_answer_of(f)->breaks.released);
    assert_int_equal(core_answer_of(f)->token, CORE_TOKEN);
    assert_int_equal(core_answer_of(f)->breaks.sent, CORE_FIRST(5));
    assert_string_equal(core_answer_of(f)->lock_id, "");
    assert_int_equal(fence_core_calls(f->core), 0);
}

static void late_answer_to_the_first_round_counts_for_nothing(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    ask_to_break(f);
    uint64_t tag = core_request(f, FENCE_REQUEST_INSPECT, 2)->tag;
    held_with(f, 0, CORE_TOKEN);
    held_with(f, 1, CORE_TOKEN);
    core_reply_kind(f, 0, FENCE_REPLY_YES);
    core_reply_to(f, 2, tag, (struct fence_reply){.kind = FENCE_REPLY_YES});
    assert_int_equal(core_answers(f), 0);
}

static void another_grant_is_named_and_nothing_is_broken(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    ask_to_break(f);
    held_with(f, 0, CORE_TOKEN + 2);
    held_with(f, 1, CORE_TOKEN + 2);
    assert_int_equal(core_sent(f, FENCE_REQUEST_BREAK), 0);
    assert_answer(f, BREAKER, FENCE_EMISMATCH);
    assert_int_equal(core_answer_of(f)->token, CORE_TOKEN + 2);
    assert_int_equal(core_answer_of(f)->breaks.sent, 0);
}

static void lock_that_is_free_is_not_broken(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    ask_to_break(f);
    core_both_reply(f, FENCE_REPLY_NO);
    assert_answer(f, BREAKER, 0);
    assert_false(core_answer_of(f)->breaks.released);
}

static void silent_masters_leave_it_unknown(void **state)
{
    struct core_fixture *f = found(state, 3);
    core_reply_kind(f, 0, FENCE_REPLY_YES);
    core_tick(f);
    assert_answer(f, BREAKER, FENCE_ENOQUORUM);
}

/* All that count have to act under one view. */
static void outdated_view_begins_both_rounds_anew(void **state)
{
    struct core_fixture *f = found(state, 3);
    core_reply_kind(f, 0, FENCE_REPLY_YES);
    struct fence_view view = core_facts(1).view;
    view.incarnation[2] += CORE_ADMISSIONS(1);
    core_reply(f, 1, (struct fence_reply){.kind = FENCE_REPLY_STALE, .view = &view});
    assert_true(core_sent(f, FENCE_REQUEST_INSPECT) & CORE_FIRST(2));
    assert_int_equal(core_answers(f), 0);
}

static void waiter_of_this_server_is_told(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_acquire(f, 2, 60000);
    for (unsigned i = 0; i < 3; i++)
        core_held(f, i, core_lock_id(HOLDER), 20000);
    ask_to_break(f);
    held_with(f, 0, CORE_TOKEN);
    held_with(f, 1, CORE_TOKEN);
    core_both_reply(f, FENCE_REPLY_YES);
    assert_answer(f, BREAKER, 0);
    core_tick(f);
    assert_true(core_sent(f, FENCE_REQUEST_TAKE) != 0);
}

static void extension_of_a_broken_grant_names_the_breaker(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_call(f, core_call_of(FENCE_CALL_EXTEND, HOLDER));
    core_reply(f, 0, (struct fence_reply){.kind = FENCE_REPLY_YES, .number = 1, .owner = "w-1"});
    core_reply(f, 1, (struct fence_reply){.kind = FENCE_REPLY_BROKEN, .owner = "operator"});
    assert_answer(f, HOLDER, FENCE_EBROKEN);
    assert_string_equal(core_answer_of(f)->owner, "operator");
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0);
    assert_int_equal(fence_core_calls(f->core), 0);
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(lock_id_is_learnt_before_anything_is_broken),
    CORE_CASE(broken_as_soon_as_a_majority_did_it),
    CORE_CASE(late_answer_to_the_first_round_counts_for_nothing),
    CORE_CASE(another_grant_is_named_and_nothing_is_broken),
    CORE_CASE(lock_that_is_free_is_not_broken),
    CORE_CASE(silent_masters_leave_it_unknown),
    CORE_CASE(outdated_view_begins_both_rounds_anew),
    CORE_CASE(waiter_of_this_server_is_told),
    CORE_CASE(extension_of_a_broken_grant_names_the_breaker),
};

CASE_MAIN(cases, NULL, NULL)
