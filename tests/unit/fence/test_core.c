/* The core and its masters: who is asked, who is reset, and what is refused before anybody is. */
#include "tests/unit/fence/core_fixture.h"

#include <string.h>

static const struct fence_master *master(const struct core_fixture *f, unsigned i)
{
    return &fence_core_fleet(f->core)->master[i];
}

static uint32_t active(const struct core_fixture *f)
{
    return fence_fleet_active(fence_core_fleet(f->core));
}

static void assert_config_refused(unsigned masters, uint32_t calls)
{
    struct fence_core *core = NULL;
    struct fence_config config = {.masters = masters, .calls = calls};
    assert_int_equal(fence_core_new(&config, &core), FENCE_EINVAL);
    assert_null(core);
}

static void even_or_oversized_fleets_are_refused(void **state)
{
    assert_config_refused(0, 1);
    assert_config_refused(2, 1);
    assert_config_refused(4, 1);
    assert_config_refused(FENCE_MASTERS_MAX + 2, 1);
}

static void number_of_calls_is_bounded(void **state)
{
    assert_config_refused(3, 0);
    assert_config_refused(3, FENCE_CALLS_MAX + 1);
}

static void freeing_nothing_is_fine(void **state)
{
    fence_core_free(NULL);
}

static void call_before_the_fleet_is_known_is_not_ready(void **state)
{
    struct core_fixture *f = core_fixture_new_down(state, 3);
    core_shake_hands(f, 0, core_facts(0));
    core_acquire(f, 1, 5000);
    assert_answer(f, 1, FENCE_ENOTREADY);
    assert_int_equal(f->effects.count, 1);
    assert_int_equal(core_answer_of(f)->total, 3);
    core_shake_hands(f, 2, core_facts(2));
    core_acquire(f, 1, 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_SET(0) | CORE_SET(2));
}

static void ttl_beyond_the_fleets_maximum_is_refused(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_acquire_ttl(f, 1, CORE_TTL_MAX_MS + 1);
    assert_answer(f, 1, FENCE_ETTL);
    assert_int_equal(core_answer_of(f)->lease.ttl_max_ms, CORE_TTL_MAX_MS);
    assert_int_equal(f->effects.count, 1);
    assert_int_equal(fence_core_calls(f->core), 0);
    struct fence_call extend = core_call_of(FENCE_CALL_EXTEND, 2);
    extend.ttl_ms = CORE_TTL_MAX_MS + 1;
    core_call(f, extend);
    assert_answer(f, 2, FENCE_ETTL);
    core_acquire_ttl(f, 3, CORE_TTL_MAX_MS);
    assert_int_equal(core_answers(f), 0);
}

static void calls_beyond_capacity_are_busy_until_one_ends(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    for (unsigned client = CORE_CALLS; client >= 1; client--) {
        if (client > CORE_WAITERS)
            core_call(f, core_call_of(FENCE_CALL_INSPECT, client));
        else
            core_acquire(f, client, 5000);
        assert_int_equal(core_answers(f), 0);
    }
    assert_int_equal(fence_core_calls(f->core), CORE_CALLS);
    core_acquire(f, 99, 5000);
    assert_answer(f, 99, FENCE_EBUSY);
    assert_int_equal(f->effects.count, 1);
    core_numbers(f, 7, 7);
    assert_answer(f, CORE_WAITERS, 0);
    core_acquire(f, 100, 5000);
    assert_int_equal(core_answers(f), 0);
    assert_int_equal(fence_core_calls(f->core), CORE_CALLS);
}

static void only_so_many_may_wait(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    for (unsigned client = 1; client <= CORE_WAITERS; client++)
        core_acquire(f, client, 5000);
    core_acquire(f, 98, 5000);
    assert_answer(f, 98, FENCE_EWAITERS);
    assert_int_equal(f->effects.count, 1);
    core_acquire(f, 99, 0); /* a caller that does not wait is welcome */
    assert_int_equal(core_answers(f), 0);
    core_numbers(f, 7, 7);
    assert_answer(f, 1, 0);
    core_acquire(f, 100, 5000);
    assert_int_equal(core_answers(f), 0);
}

static void silent_master_is_reset_and_asked_no_more(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_numbers(f, 7, 7);
    assert_answer(f, 1, 0);
    core_tick(f);
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(2));
    assert_int_equal(master(f, 2)->state, FENCE_MASTER_DOWN);
    assert_int_equal(master(f, 2)->reason, FENCE_REASON_SILENT);
    assert_true(fence_core_deadline(f->core) == FENCE_NEVER);
    core_acquire(f, 2, 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(2));
}

static void master_that_answers_something_is_not_silent(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_later_us(f, FENCE_MASTER_DEADLINE_US - 1);
    core_number(f, 2, 7);
    core_number(f, 1, 8); /* 1 and 2 owe a confirmation now, 0 its first answer */
    core_tick(f);
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(0));
}

static void silence_after_a_clean_up_counts_too(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 1, 0);
    core_held(f, 0, CORE_OTHER_HOLDER, 1000);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_SET(0));
    assert_int_equal(fence_core_deadline(f->core), f->now_us + FENCE_MASTER_DEADLINE_US);
    core_reply_to(f, 0, 0, (struct fence_reply){.kind = FENCE_REPLY_NO});
    assert_true(fence_core_deadline(f->core) == FENCE_NEVER);
}

static void replies_lost_with_a_reset_do_not_count_for_the_new_connection(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    uint64_t lost = f->tag[2];
    core_numbers(f, 7, 7);
    core_tick(f);
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(2));
    core_reply_to(f, 2, lost, (struct fence_reply){.kind = FENCE_REPLY_LOST});
    assert_no_effects(f);
    core_shake_hands(f, 2, core_facts(2));
    assert_int_equal(active(f), CORE_FIRST(3));
    assert_true(fence_core_deadline(f->core) == FENCE_NEVER);
}

static void refused_master_is_reset_and_keeps_its_reason(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    struct fence_facts facts = core_facts(2);
    facts.unfit = &core_unfit;
    core_shake_hands(f, 2, facts);
    assert_int_equal(f->effects.count, 1);
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(2));
    assert_int_equal(master(f, 2)->state, FENCE_MASTER_REFUSED);
    assert_int_equal(master(f, 2)->reason, FENCE_REASON_UNFIT);
    core_acquire(f, 1, 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(2));
}

static void refused_master_votes_once_it_is_mended(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    struct fence_facts facts = core_facts(2);
    facts.unfit = &core_unfit;
    for (unsigned again = 0; again < 3; again++) {
        core_shake_hands(f, 2, facts);
        assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(2));
    }
    core_shake_hands(f, 2, core_facts(2));
    assert_no_effects(f);
    assert_int_equal(active(f), CORE_FIRST(3));
}

static void assert_restamped_before_it_votes(struct core_fixture *f, struct fence_facts facts)
{
    core_shake_hands(f, 1, facts);
    if (f->effects.count == 0) /* others may tell more of a new process */
        core_tick(f);
    assert_int_equal(f->effects.count, 1);
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESTAMP), CORE_SET(1));
    assert_int_equal(active(f), CORE_SET(0));
    memcpy(facts.marked_server_id, facts.server_id, sizeof(facts.server_id));
    memcpy(facts.marked_lineage, facts.lineage, sizeof(facts.lineage));
    core_shake_hands(f, 1, facts);
    assert_no_effects(f);
    assert_int_equal(active(f), CORE_FIRST(2));
}

/* If no other master can tell more than it knows itself. */
static void intact_master_is_restamped_before_it_votes(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_down(f, 1);
    core_down(f, 2);
    f->now_us += FENCE_TRUST_GRACE_US;
    struct fence_facts facts = core_facts(1);
    facts.intact = true;
    memset(facts.server_id, 'e', FENCE_ID_HEX_LEN);
    assert_restamped_before_it_votes(f, facts);
    core_down(f, 1);
    memcpy(facts.marked_server_id, facts.server_id, sizeof(facts.server_id));
    facts.lineage[0] = 'e';
    assert_restamped_before_it_votes(f, facts);
}

static void one_handshake_can_change_what_is_known_of_all(void **state)
{
    struct core_fixture *f = core_fixture_new_down(state, 3);
    struct fence_facts stray = core_facts(0);
    memset(stray.fleet_id, '5', FENCE_ID_HEX_LEN);
    core_shake_hands(f, 0, stray);
    assert_no_effects(f); /* no master can say yet that it is of another fleet */
    core_shake_hands(f, 2, core_facts(2));
    assert_no_effects(f);
    core_shake_hands(f, 1, core_facts(1));
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(0));
    assert_int_equal(master(f, 0)->reason, FENCE_REASON_OTHER_FLEET);
    assert_int_equal(active(f), CORE_SET(1) | CORE_SET(2));
}

/* Its marker says so itself, whatever the others are. */
static void master_in_anothers_place_is_told_at_once(void **state)
{
    struct core_fixture *f = core_fixture_new_down(state, 3);
    core_shake_hands(f, 0, core_facts(1));
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(0));
    assert_int_equal(master(f, 0)->reason, FENCE_REASON_OTHER_MEMBER);
}

static void master_that_comes_back_takes_part_in_the_next_attempt(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_down(f, 2);
    core_acquire(f, 1, 0);
    core_shake_hands(f, 2, core_facts(2));
    assert_no_effects(f); /* the attempt under way goes on without it */
    core_number(f, 1, 7);
    core_held(f, 0, "contender-a", 1000);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(even_or_oversized_fleets_are_refused),
    CORE_CASE(number_of_calls_is_bounded),
    CORE_CASE(freeing_nothing_is_fine),
    CORE_CASE(call_before_the_fleet_is_known_is_not_ready),
    CORE_CASE(ttl_beyond_the_fleets_maximum_is_refused),
    CORE_CASE(calls_beyond_capacity_are_busy_until_one_ends),
    CORE_CASE(only_so_many_may_wait),
    CORE_CASE(silent_master_is_reset_and_asked_no_more),
    CORE_CASE(master_that_answers_something_is_not_silent),
    CORE_CASE(silence_after_a_clean_up_counts_too),
    CORE_CASE(replies_lost_with_a_reset_do_not_count_for_the_new_connection),
    CORE_CASE(refused_master_is_reset_and_keeps_its_reason),
    CORE_CASE(refused_master_votes_once_it_is_mended),
    CORE_CASE(intact_master_is_restamped_before_it_votes),
    CORE_CASE(one_handshake_can_change_what_is_known_of_all),
    CORE_CASE(master_in_anothers_place_is_told_at_once),
    CORE_CASE(master_that_comes_back_takes_part_in_the_next_attempt),
};

CASE_MAIN(cases, NULL, NULL)
