#include "tests/unit/fence/core_fixture.h"

#include <string.h>

/* Five masters; client 1's attempt has frozen 0, 2 and 3 with the token 9, out of 7, 9 and 8. */
static struct core_fixture *confirming(void **state, uint32_t wait_ms)
{
    struct core_fixture *f = core_fixture_acquiring(state, 5, wait_ms);
    core_number(f, 0, 7);
    core_number(f, 2, 9);
    core_number(f, 3, 8);
    assert_int_not_equal(core_sent(f, FENCE_REQUEST_CONFIRM), 0);
    return f;
}

static void acquire_asks_all_active_masters_at_once(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 5);
    core_down(f, 3);
    core_acquire(f, 1, 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(5) & ~CORE_SET(3));
    const struct fence_request *take = core_request(f, FENCE_REQUEST_TAKE, 4);
    assert_string_equal(take->resource, CORE_RESOURCE);
    assert_string_equal(take->lock_id, core_lock_id(1));
    assert_string_equal(take->owner, "worker");
    assert_int_equal(take->ttl_ms, CORE_TTL_MS);
    assert_true(take->attempt == core_request(f, FENCE_REQUEST_TAKE, 0)->attempt);
}

static void grant_takes_one_round_trip_where_numbers_agree(void **state)
{
    static const unsigned sizes[] = {1, 3, 5};
    for (unsigned s = 0; s < 3; s++) {
        unsigned n = sizes[s];
        struct core_fixture *f = core_fixture_acquiring(state, n, 0);
        for (unsigned i = n - 1; i > n / 2; i--) {
            core_number(f, i, 7);
            assert_no_effects(f);
        }
        core_number(f, n / 2, 7); /* the q-th; the slower ones are not waited for */
        assert_answer(f, 1, 0);
        assert_int_equal(f->effects.count, 1);
        const struct fence_answer *answer = core_answer_of(f);
        assert_int_equal(answer->token, 7);
        assert_string_equal(answer->lock_id, core_lock_id(1));
        assert_string_equal(answer->resource, CORE_RESOURCE);
        assert_int_equal(answer->lease.ttl_ms, CORE_TTL_MS);
        assert_int_equal(answer->lease.granted, n / 2 + 1);
        assert_int_equal(answer->total, n);
        assert_int_equal(fence_core_calls(f->core), 0);
    }
}

static void parts_name_what_each_master_did(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 5);
    core_down(f, 4);
    core_acquire(f, 1, 0);
    core_held(f, 0, CORE_OTHER_HOLDER, 100);
    core_reply_kind(f, 1, FENCE_REPLY_LOST);
    core_reply_kind(f, 2, FENCE_REPLY_REFUSED);
    assert_answer(f, 1, FENCE_ENOQUORUM);
    const enum fence_part *parts = core_answer_of(f)->parts;
    assert_int_equal(parts[0], FENCE_PART_HELD);
    assert_int_equal(parts[1], FENCE_PART_TIMEOUT);
    assert_int_equal(parts[2], FENCE_PART_REFUSED);
    assert_int_equal(parts[3], FENCE_PART_PENDING);
    assert_int_equal(parts[4], FENCE_PART_DOWN);
}

static void confirm_round_asks_only_the_frozen_set(void **state)
{
    struct core_fixture *f = confirming(state, 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_CONFIRM), CORE_SET(0) | CORE_SET(2) | CORE_SET(3));
    assert_int_equal(f->effects.count, 1);
}

static void confirmation_carries_its_attempt_and_the_fixed_token(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    uint64_t attempt = core_request(f, FENCE_REQUEST_TAKE, 0)->attempt;
    core_number(f, 1, 7);
    core_number(f, 2, 9);
    for (unsigned i = 1; i <= 2; i++) {
        const struct fence_request *confirm = core_request(f, FENCE_REQUEST_CONFIRM, i);
        assert_int_equal(confirm->token, 9);
        assert_true(confirm->attempt == attempt);
        assert_string_equal(confirm->lock_id, core_lock_id(1));
        assert_string_equal(confirm->resource, CORE_RESOURCE);
    }
}

static void grant_needs_every_frozen_master_to_confirm(void **state)
{
    struct core_fixture *f = confirming(state, 0);
    core_reply_kind(f, 3, FENCE_REPLY_YES);
    core_reply_kind(f, 2, FENCE_REPLY_YES);
    assert_no_effects(f);
    core_reply_kind(f, 0, FENCE_REPLY_YES);
    assert_answer(f, 1, 0);
    assert_int_equal(core_answer_of(f)->token, 9);
    assert_int_equal(core_answer_of(f)->lease.granted, 3);
}

/* This process stood still. Meanwhile a master may have come back with an older disk. */
static void answer_that_is_read_late_counts_for_nothing(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    f->now_us += FENCE_ANSWER_US + 1;
    core_numbers(f, 1, 1);
    assert_answer(f, 1, FENCE_ENOQUORUM);
}

static void reply_to_the_first_round_is_no_confirmation(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    uint64_t take = f->tag[0];
    core_numbers(f, 7, 9);
    core_reply_kind(f, 1, FENCE_REPLY_YES);
    /* Duplicates of what 0 said before, and whatever else goes by the old tag. */
    core_reply_to(f, 0, take, (struct fence_reply){.kind = FENCE_REPLY_NUMBER, .number = 9});
    assert_no_effects(f);
    core_reply_to(f, 0, take, (struct fence_reply){.kind = FENCE_REPLY_YES});
    assert_no_effects(f);
    core_reply_kind(f, 0, FENCE_REPLY_YES);
    assert_answer(f, 1, 0);
}

static void confirmation_refused_by_one_fails_the_attempt(void **state)
{
    struct core_fixture *f = confirming(state, 0);
    core_reply_kind(f, 0, FENCE_REPLY_YES);
    core_reply_kind(f, 2, FENCE_REPLY_NO);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(5));
    assert_int_equal(core_answers(f), 0); /* it will try again */
}

static void new_view_between_the_rounds_fails_the_attempt(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_number(f, 0, 7);
    struct fence_facts facts = core_facts(2);
    facts.view.incarnation[2]++;
    uint64_t take = f->tag[1];
    core_shake_hands(f, 2, facts);
    core_reply_to(f, 1, take, (struct fence_reply){.kind = FENCE_REPLY_NUMBER, .number = 9});
    assert_int_equal(core_sent(f, FENCE_REQUEST_CONFIRM), 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(3));
    core_tick(f); /* and the next works under the new view */
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
    core_numbers(f, 7, 9);
    assert_int_equal(core_sent(f, FENCE_REQUEST_CONFIRM), CORE_FIRST(2));
}

static void frozen_master_lost_before_the_second_round_fails_the_attempt(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_number(f, 0, 7);
    core_down(f, 0);
    core_number(f, 1, 9);
    assert_int_equal(core_sent(f, FENCE_REQUEST_CONFIRM), 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_SET(1) | CORE_SET(2));
}

static void reply_to_an_earlier_attempt_does_not_count(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    uint64_t first = f->tag[2];
    core_held(f, 0, "contender-a", 1000);
    core_held(f, 1, "contender-b", 1000);
    core_held(f, 2, "contender-c", 1000);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
    assert_true(f->tag[2] != first);
    core_number(f, 0, 7);
    core_reply_to(f, 2, first, (struct fence_reply){.kind = FENCE_REPLY_NUMBER, .number = 7});
    assert_no_effects(f);
    core_number(f, 1, 7);
    assert_answer(f, 1, 0);
}

static void reply_between_two_attempts_does_not_count(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
    core_meet_holder(f, 1000);
    core_number(f, 2, 7);
    assert_no_effects(f);
}

static void reply_to_an_ended_call_does_not_reach_the_next_in_its_slot(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    uint64_t slow = f->tag[2];
    core_grant(f, 7);
    core_acquire(f, 2, 0);
    core_reply_to(f, 2, slow, (struct fence_reply){.kind = FENCE_REPLY_NUMBER, .number = 7});
    core_number(f, 0, 8);
    assert_no_effects(f);
    core_number(f, 2, 8);
    assert_answer(f, 2, 0);
    assert_int_equal(core_answer_of(f)->token, 8);
}

static void reply_with_a_tag_never_given_is_dropped(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    struct fence_reply reply = {.kind = FENCE_REPLY_NUMBER, .number = 7};
    core_reply_to(f, 0, 0, reply);
    core_reply_to(f, 0, UINT64_MAX, reply);
    core_reply_to(f, 0, f->tag[0] + 1, reply);
    core_number(f, 1, 7);
    assert_no_effects(f);
}

static void clean_up_names_its_attempt_on_every_master_sent_to(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 5);
    core_down(f, 0);
    core_acquire(f, 1, 0);
    uint64_t attempt = core_request(f, FENCE_REQUEST_TAKE, 1)->attempt;
    core_held(f, 1, CORE_OTHER_HOLDER, 100);
    core_reply_kind(f, 2, FENCE_REPLY_LOST);
    core_reply_kind(f, 3, FENCE_REPLY_REFUSED);
    /* 4 never answered, 2 may have done it: both may hold the lock for this attempt. */
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(5) & ~CORE_SET(0));
    for (unsigned i = 1; i < 5; i++) {
        const struct fence_request *undo = core_request(f, FENCE_REQUEST_UNDO, i);
        assert_true(undo->attempt == attempt);
        assert_string_equal(undo->lock_id, core_lock_id(1));
        assert_string_equal(undo->resource, CORE_RESOURCE);
        assert_true(undo->tag != 0); /* it is remembered until it is acknowledged */
    }
}

static void clean_up_reaches_masters_that_never_answered(void **state)
{
    /* After 20 ms no master is reset for silence yet; those that are get their clean-up before. */
    static const uint32_t ttl_ms[] = {200, CORE_TTL_MS};
    for (unsigned k = 0; k < 2; k++) {
        struct core_fixture *f = core_fixture_new(state, 5);
        core_acquire_ttl(f, 1, ttl_ms[k]);
        core_number(f, 0, 7);
        core_tick(f);
        assert_answer(f, 1, FENCE_ENOQUORUM);
        assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(5));
    }
}

static void grant_is_not_cleaned_up(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_grant(f, 7);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), 0);
}

static void every_attempt_has_an_id_of_its_own(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    uint64_t ids[FENCE_TRIES_MAX] = {core_request(f, FENCE_REQUEST_TAKE, 0)->attempt};
    for (unsigned t = 1; t < FENCE_TRIES_MAX; t++) {
        core_meet_contenders(f);
        assert_true(core_request(f, FENCE_REQUEST_UNDO, 0)->attempt == ids[t - 1]);
        core_tick(f);
        ids[t] = core_request(f, FENCE_REQUEST_TAKE, 0)->attempt;
        for (unsigned earlier = 0; earlier < t; earlier++)
            assert_true(ids[t] != ids[earlier]);
    }
}

static void held_is_answered_as_soon_as_it_is_certain(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 5, 0);
    core_held(f, 0, CORE_OTHER_HOLDER, 3000);
    core_held(f, 1, CORE_OTHER_HOLDER, 1000);
    assert_no_effects(f);
    core_held(f, 2, CORE_OTHER_HOLDER, 2000);
    assert_answer(f, 1, FENCE_EHELD);
    assert_string_equal(core_answer_of(f)->owner, "holder");
    assert_int_equal(core_answer_of(f)->remaining_ms, 1000); /* the q-th longest */
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(5));
    assert_int_equal(fence_core_calls(f->core), 0);
}

static void contention_is_given_up_after_so_many_tries(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    for (unsigned t = 1; t < FENCE_TRIES_MAX; t++) {
        core_meet_contenders(f);
        assert_int_equal(core_answers(f), 0);
        core_tick(f);
        assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
    }
    core_meet_contenders(f);
    assert_answer(f, 1, FENCE_ECONTENDED);
    assert_int_equal(fence_core_calls(f->core), 0);
}

/* How long the core waits after the @tries-th attempt was contended, with these random bits. */
static uint64_t delay_us(void **state, unsigned tries, uint64_t random)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    for (unsigned t = 1; t < tries; t++) {
        core_meet_contenders(f);
        core_tick(f);
    }
    f->random = random;
    core_meet_contenders(f);
    uint64_t paused_us = f->now_us;
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
    return f->now_us - paused_us;
}

static void retries_are_delayed_at_random_and_longer_each_time(void **state)
{
    for (unsigned tries = 1; tries < FENCE_TRIES_MAX; tries++) {
        uint64_t bound_us = (uint64_t)FENCE_RETRY_BASE_US << tries;
        uint64_t least_us = FENCE_NEVER;
        uint64_t most_us = 0;
        for (uint64_t random = 0; random < 64; random++) {
            uint64_t us = delay_us(state, tries, random << 32);
            least_us = us < least_us ? us : least_us;
            most_us = us > most_us ? us : most_us;
        }
        assert_true(most_us < bound_us);
        assert_true(most_us > bound_us * 3 / 4);
        assert_true(least_us < bound_us / 4);
    }
}

static void no_quorum_is_answered_at_once_even_to_a_waiter(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 5000);
    core_both_reply(f, FENCE_REPLY_LOST);
    assert_answer(f, 1, FENCE_ENOQUORUM);
    core_down(f, 0);
    core_down(f, 1);
    core_acquire(f, 2, 5000); /* and nothing is sent where too few are up */
    assert_answer(f, 2, FENCE_ENOQUORUM);
    assert_int_equal(f->effects.count, 1);
    assert_int_equal(core_answer_of(f)->parts[0], FENCE_PART_DOWN);
}

static void validity_is_what_time_and_drift_leave(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_later_us(f, 12500);
    core_grant(f, 7);
    /* 30 s less 12.5 ms less 1% less 2 ms is 29,685.5 ms, rounded down. */
    assert_int_equal(core_answer_of(f)->lease.validity_ms, 29685);
    assert_int_equal(core_answer_of(f)->served_us / 1000, 12);
}

static void validity_counts_from_the_winning_attempt(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    uint64_t arrived_us = f->now_us;
    core_later_us(f, 40000);
    core_meet_contenders(f);
    core_tick(f);
    core_later_us(f, 10000);
    core_grant(f, 7);
    assert_int_equal(core_answer_of(f)->lease.validity_ms, 30000 - 10 - 302);
    assert_int_equal(core_answer_of(f)->served_us, f->now_us - arrived_us);
}

static void validity_counts_both_rounds(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_later_us(f, 10000);
    core_numbers(f, 7, 8);
    core_later_us(f, 10000);
    core_both_reply(f, FENCE_REPLY_YES);
    assert_answer(f, 1, 0);
    assert_int_equal(core_answer_of(f)->lease.validity_ms, 30000 - 20 - 302);
}

static void grant_that_took_too_long_is_refused_and_undone(void **state)
{
    /* A lease of 100 ms, 3 ms are drift: after 97 ms nothing is left. */
    struct core_fixture *f = core_fixture_new(state, 3);
    core_acquire_ttl(f, 1, 100);
    core_later_us(f, 97000);
    core_numbers(f, 7, 7);
    assert_answer(f, 1, FENCE_ETOOSLOW);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(3));

    f = core_fixture_new(state, 3);
    core_acquire_ttl(f, 1, 100);
    core_later_us(f, 96000);
    core_grant(f, 7);
    assert_int_equal(core_answer_of(f)->lease.validity_ms, 1);
}

static void patience_is_a_tenth_of_a_short_ttl_and_at_most_the_master_deadline(void **state)
{
    static const struct {
        uint32_t ttl_ms;
        uint64_t timeout_us;
    } rows[] = {{100, 10000}, {499, 49900}, {500, 50000}, {501, 50000}, {30000, 50000}};
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        struct core_fixture *f = core_fixture_new(state, 5);
        core_acquire_ttl(f, 1, rows[r].ttl_ms);
        uint64_t asked_us = f->now_us;
        assert_int_equal(fence_core_deadline(f->core), asked_us + rows[r].timeout_us);
        core_tick(f);
        assert_answer(f, 1, FENCE_ENOQUORUM);
        assert_int_equal(core_answer_of(f)->parts[4], FENCE_PART_TIMEOUT);
    }
}

static void second_round_has_patience_of_its_own(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_acquire_ttl(f, 1, 100);
    core_later_us(f, 9000);
    core_numbers(f, 7, 8);
    assert_int_equal(fence_core_deadline(f->core), f->now_us + 10000);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(3));
}

static void tick_before_anything_is_due_does_nothing(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_later_us(f, FENCE_MASTER_DEADLINE_US - 1);
    core_give(f, (struct fence_event){.kind = FENCE_EVENT_TICK});
    assert_no_effects(f);
    core_grant(f, 7);
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(acquire_asks_all_active_masters_at_once),
    CORE_CASE(grant_takes_one_round_trip_where_numbers_agree),
    CORE_CASE(parts_name_what_each_master_did),
    CORE_CASE(confirm_round_asks_only_the_frozen_set),
    CORE_CASE(confirmation_carries_its_attempt_and_the_fixed_token),
    CORE_CASE(grant_needs_every_frozen_master_to_confirm),
    CORE_CASE(answer_that_is_read_late_counts_for_nothing),
    CORE_CASE(reply_to_the_first_round_is_no_confirmation),
    CORE_CASE(confirmation_refused_by_one_fails_the_attempt),
    CORE_CASE(new_view_between_the_rounds_fails_the_attempt),
    CORE_CASE(frozen_master_lost_before_the_second_round_fails_the_attempt),
    CORE_CASE(reply_to_an_earlier_attempt_does_not_count),
    CORE_CASE(reply_between_two_attempts_does_not_count),
    CORE_CASE(reply_to_an_ended_call_does_not_reach_the_next_in_its_slot),
    CORE_CASE(reply_with_a_tag_never_given_is_dropped),
    CORE_CASE(clean_up_names_its_attempt_on_every_master_sent_to),
    CORE_CASE(clean_up_reaches_masters_that_never_answered),
    CORE_CASE(grant_is_not_cleaned_up),
    CORE_CASE(every_attempt_has_an_id_of_its_own),
    CORE_CASE(held_is_answered_as_soon_as_it_is_certain),
    CORE_CASE(contention_is_given_up_after_so_many_tries),
    CORE_CASE(retries_are_delayed_at_random_and_longer_each_time),
    CORE_CASE(no_quorum_is_answered_at_once_even_to_a_waiter),
    CORE_CASE(validity_is_what_time_and_drift_leave),
    CORE_CASE(validity_counts_from_the_winning_attempt),
    CORE_CASE(validity_counts_both_rounds),
    CORE_CASE(grant_that_took_too_long_is_refused_and_undone),
    CORE_CASE(patience_is_a_tenth_of_a_short_ttl_and_at_most_the_master_deadline),
    CORE_CASE(second_round_has_patience_of_its_own),
    CORE_CASE(tick_before_anything_is_due_does_nothing),
};

CASE_MAIN(cases, NULL, NULL)
