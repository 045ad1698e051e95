/* Watches: who looks, when, and what ends a watch. */
#include "tests/unit/fence/core_fixture.h"

enum {
    OTHER_TOKEN = CORE_TOKEN + 1,
    WAIT_MS = 10 * 1000,
    LEASE_MS = 20 * 1000,
    WATCHES = (CORE_WAITERS + 1) / 2, /* half of the calls that wait */
};

static void watch(struct core_fixture *f, uint64_t client, int64_t unless)
{
    struct fence_call call = core_call_of(FENCE_CALL_WATCH, client);
    call.token = unless;
    call.wait_ms = WAIT_MS;
    core_call(f, call);
}

static uint32_t looked(const struct core_fixture *f)
{
    return core_sent(f, FENCE_REQUEST_INSPECT);
}

static void held(struct core_fixture *f, unsigned i, int64_t number, uint64_t remaining_ms)
{
    core_reply(f, i,
               (struct fence_reply){.kind = FENCE_REPLY_HELD,
                                    .number = number,
                                    .holder = CORE_OTHER_HOLDER,
                                    .owner = "anna",
                                    .remaining_ms = remaining_ms});
}

/* Master 2 answers, too, so that no master is silent when time goes by. */
static void all_held(struct core_fixture *f, int64_t number, uint64_t remaining_ms)
{
    for (unsigned i = 0; i < 3; i++)
        held(f, i, number, remaining_ms);
}

static void all_reply(struct core_fixture *f, enum fence_reply_kind kind)
{
    for (unsigned i = 0; i < 3; i++)
        core_reply_kind(f, i, kind);
}

/* A fleet with three masters; client 1 watches, and found the lock as it knew the lock. */
static struct core_fixture *watching(void **state, int64_t unless)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    watch(f, 1, unless);
    assert_int_equal(looked(f), CORE_FIRST(3));
    if (unless == FENCE_WATCH_FREE)
        all_reply(f, FENCE_REPLY_NO);
    else
        all_held(f, unless, LEASE_MS);
    assert_no_effects(f);
    return f;
}

static void assert_held(const struct core_fixture *f, uint64_t client, int64_t token)
{
    assert_answer(f, client, 0);
    assert_true(core_answer_of(f)->inspect.held);
    assert_int_equal(core_answer_of(f)->token, token);
}

static void assert_free(const struct core_fixture *f, uint64_t client)
{
    assert_answer(f, client, 0);
    assert_false(core_answer_of(f)->inspect.held);
}

/* The tick that is due @after_us from now. */
static void tick_after(struct core_fixture *f, uint64_t after_us)
{
    const uint64_t from_us = f->now_us;
    core_tick(f);
    assert_int_equal(f->now_us - from_us, after_us);
}

static void lock_that_is_another_is_answered_at_once(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    watch(f, 1, CORE_TOKEN);
    all_held(f, OTHER_TOKEN, LEASE_MS);
    tick_after(f, 0);
    assert_held(f, 1, OTHER_TOKEN);
    assert_string_equal(core_answer_of(f)->owner, "anna");
    assert_int_equal(core_answer_of(f)->remaining_ms, LEASE_MS);
    assert_int_equal(fence_core_calls(f->core), 0);
}

static void change_that_nobody_told_is_found_by_the_next_look(void **state)
{
    struct core_fixture *f = watching(state, CORE_TOKEN);
    tick_after(f, FENCE_WATCH_US);
    assert_int_equal(looked(f), CORE_FIRST(3));
    all_reply(f, FENCE_REPLY_NO);
    tick_after(f, 0);
    assert_free(f, 1);
}

static void watch_of_a_free_lock_ends_once_it_is_held(void **state)
{
    struct core_fixture *f = watching(state, FENCE_WATCH_FREE);
    core_tick(f);
    all_held(f, CORE_TOKEN, LEASE_MS);
    tick_after(f, 0);
    assert_held(f, 1, CORE_TOKEN);
}

static void look_follows_the_end_of_the_lease(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    watch(f, 1, CORE_TOKEN);
    all_held(f, CORE_TOKEN, 80);
    tick_after(f, 80 * UINT64_C(1000));
    assert_int_equal(looked(f), CORE_FIRST(3));
}

/* A grant is under way, and not all masters know its number. */
static void token_that_masters_differ_on_is_looked_at_again_soon(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    watch(f, 1, CORE_TOKEN);
    held(f, 0, OTHER_TOKEN, LEASE_MS);
    held(f, 2, CORE_TOKEN - 1, LEASE_MS);
    held(f, 1, OTHER_TOKEN + 1, LEASE_MS);
    assert_no_effects(f);
    tick_after(f, FENCE_WATCH_UNSETTLED_US);
    all_held(f, OTHER_TOKEN, LEASE_MS);
    core_tick(f);
    assert_held(f, 1, OTHER_TOKEN);
}

/* ---- many ------------------------------------------------------------------------------------ */

static void one_look_is_for_all_who_watch(void **state)
{
    struct core_fixture *f = watching(state, CORE_TOKEN);
    watch(f, 2, CORE_TOKEN);
    watch(f, 3, CORE_TOKEN);
    assert_no_effects(f);
    tick_after(f, 0);
    assert_int_equal(looked(f), CORE_FIRST(3));
    all_held(f, CORE_TOKEN, LEASE_MS);
    tick_after(f, FENCE_WATCH_US);
    assert_int_equal(looked(f), CORE_FIRST(3));
    all_reply(f, FENCE_REPLY_NO);
    for (unsigned k = 0; k < 3; k++) {
        tick_after(f, 0);
        assert_free(f, core_answer_of(f)->client);
    }
    assert_int_equal(fence_core_calls(f->core), 0);
}

/* Its answers may be older than the call. */
static void look_does_not_count_for_calls_that_came_later(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    watch(f, 1, CORE_TOKEN);
    watch(f, 2, FENCE_WATCH_FREE);
    all_held(f, CORE_TOKEN, LEASE_MS);
    assert_no_effects(f);
    tick_after(f, 0);
    assert_int_equal(looked(f), CORE_FIRST(3));
    all_reply(f, FENCE_REPLY_NO);
    tick_after(f, 0);
    assert_free(f, 1);
    assert_int_equal(fence_core_calls(f->core), 1);
}

static void each_is_compared_with_what_it_knows(void **state)
{
    struct core_fixture *f = watching(state, CORE_TOKEN);
    watch(f, 2, OTHER_TOKEN);
    core_tick(f);
    all_held(f, CORE_TOKEN, LEASE_MS);
    tick_after(f, 0);
    assert_held(f, 2, CORE_TOKEN);
    assert_int_equal(fence_core_calls(f->core), 1);
}

static void next_one_looks_after_the_first_left(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    watch(f, 1, CORE_TOKEN);
    watch(f, 2, CORE_TOKEN);
    core_client_left(f, 1);
    assert_answer(f, 1, FENCE_ELEFT);
    tick_after(f, 0);
    assert_int_equal(looked(f), CORE_FIRST(3));
    all_reply(f, FENCE_REPLY_NO);
    tick_after(f, 0);
    assert_free(f, 2);
}

static void watches_count_as_calls_that_wait(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    for (uint64_t client = 1; client <= WATCHES; client++)
        watch(f, client, CORE_TOKEN);
    assert_int_equal(fence_core_waiting(f->core), WATCHES);
    watch(f, WATCHES + 1, CORE_TOKEN);
    assert_answer(f, WATCHES + 1, FENCE_EWAITERS);
    core_acquire(f, WATCHES + 2, 5000);
    assert_int_equal(fence_core_waiting(f->core), WATCHES + 1);
}

/* ---- changes of this server's own ------------------------------------------------------------ */

static void grant_of_this_server_is_looked_at_at_once(void **state)
{
    struct core_fixture *f = watching(state, FENCE_WATCH_FREE);
    core_acquire(f, 2, 0);
    core_numbers(f, CORE_TOKEN, CORE_TOKEN);
    assert_answer(f, 2, 0);
    tick_after(f, 0);
    assert_int_equal(looked(f), CORE_FIRST(3));
}

static void release_that_is_told_is_looked_at_at_once(void **state)
{
    struct core_fixture *f = watching(state, CORE_TOKEN);
    core_tell_released(f, CORE_RESOURCE, CORE_OTHER_HOLDER);
    tick_after(f, 0);
    assert_int_equal(looked(f), CORE_FIRST(3));
}

/* The masters may have answered before the change. */
static void change_during_a_look_is_looked_at_again_at_once(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    watch(f, 1, CORE_TOKEN);
    core_tell_released(f, CORE_RESOURCE, CORE_OTHER_HOLDER);
    all_held(f, CORE_TOKEN, LEASE_MS);
    tick_after(f, 0);
    assert_int_equal(looked(f), CORE_FIRST(3));
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void wait_that_is_over_is_answered_with_what_was_seen_last(void **state)
{
    struct core_fixture *f = watching(state, CORE_TOKEN);
    const uint64_t ends_us = f->now_us + WAIT_MS * UINT64_C(1000);
    while (core_answers(f) == 0) {
        core_tick(f);
        if (looked(f))
            all_held(f, CORE_TOKEN, LEASE_MS);
    }
    assert_int_equal(f->now_us, ends_us);
    assert_held(f, 1, CORE_TOKEN);
}

static void look_that_fails_ends_a_watch_that_knows_nothing(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_down(f, 0);
    core_down(f, 1);
    watch(f, 1, CORE_TOKEN);
    tick_after(f, 0);
    assert_answer(f, 1, FENCE_ENOQUORUM);
}

static void watch_outlives_a_look_that_fails(void **state)
{
    struct core_fixture *f = watching(state, CORE_TOKEN);
    for (unsigned failures = 0; failures < 3; failures++) {
        tick_after(f, FENCE_WATCH_US);
        all_reply(f, FENCE_REPLY_LOST);
        assert_int_equal(core_answers(f), 0);
    }
    tick_after(f, FENCE_WATCH_US);
    all_reply(f, FENCE_REPLY_NO);
    tick_after(f, 0);
    assert_free(f, 1);
}

static void outage_after_the_end_of_the_lease_is_no_hot_loop(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    watch(f, 1, CORE_TOKEN);
    all_held(f, CORE_TOKEN, 80);
    core_tick(f);
    all_reply(f, FENCE_REPLY_LOST);
    tick_after(f, FENCE_WATCH_US);
    all_reply(f, FENCE_REPLY_LOST);
    tick_after(f, FENCE_WATCH_US);
}

static void change_that_the_first_was_told_is_not_forgotten_as_it_leaves(void **state)
{
    struct core_fixture *f = watching(state, CORE_TOKEN);
    watch(f, 2, CORE_TOKEN);
    core_tick(f);
    all_held(f, CORE_TOKEN, LEASE_MS);
    core_tell_released(f, CORE_RESOURCE, CORE_OTHER_HOLDER);
    core_client_left(f, 1);
    tick_after(f, 0);
    assert_int_equal(looked(f), CORE_FIRST(3));
}

static void wait_that_ends_in_failure_says_so(void **state)
{
    struct core_fixture *f = watching(state, CORE_TOKEN);
    while (core_answers(f) == 0) {
        core_tick(f);
        if (looked(f))
            all_reply(f, FENCE_REPLY_LOST);
    }
    assert_answer(f, 1, FENCE_ENOQUORUM);
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(lock_that_is_another_is_answered_at_once),
    CORE_CASE(change_that_nobody_told_is_found_by_the_next_look),
    CORE_CASE(watch_of_a_free_lock_ends_once_it_is_held),
    CORE_CASE(look_follows_the_end_of_the_lease),
    CORE_CASE(token_that_masters_differ_on_is_looked_at_again_soon),
    CORE_CASE(one_look_is_for_all_who_watch),
    CORE_CASE(look_does_not_count_for_calls_that_came_later),
    CORE_CASE(each_is_compared_with_what_it_knows),
    CORE_CASE(next_one_looks_after_the_first_left),
    CORE_CASE(watches_count_as_calls_that_wait),
    CORE_CASE(grant_of_this_server_is_looked_at_at_once),
    CORE_CASE(release_that_is_told_is_looked_at_at_once),
    CORE_CASE(change_during_a_look_is_looked_at_again_at_once),
    CORE_CASE(wait_that_is_over_is_answered_with_what_was_seen_last),
    CORE_CASE(look_that_fails_ends_a_watch_that_knows_nothing),
    CORE_CASE(watch_outlives_a_look_that_fails),
    CORE_CASE(outage_after_the_end_of_the_lease_is_no_hot_loop),
    CORE_CASE(change_that_the_first_was_told_is_not_forgotten_as_it_leaves),
    CORE_CASE(wait_that_ends_in_failure_says_so),
};

CASE_MAIN(cases, NULL, NULL)
