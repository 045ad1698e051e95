/* Calls about named counters: rounds, calls that share one, masters that differ, views. */
#include "tests/unit/fence/core_fixture.h"

#include <string.h>

#define NAME "invoices"

static void count_of(struct core_fixture *f, const char *name, uint64_t client, uint32_t values)
{
    core_call(f, (struct fence_call){.kind = FENCE_CALL_COUNT,
                                     .client = client,
                                     .resource = name,
                                     .lock_id = "",
                                     .owner = "",
                                     .count = values});
}

static void count(struct core_fixture *f, uint64_t client, uint32_t values)
{
    count_of(f, NAME, client, values);
}

/* All masters are active, and client 1 counts. */
static struct core_fixture *counting(void **state, unsigned n, uint32_t values)
{
    struct core_fixture *f = core_fixture_new(state, n);
    count(f, 1, values);
    return f;
}

static uint32_t counted(const struct core_fixture *f)
{
    return core_sent(f, FENCE_REQUEST_COUNT);
}

static void assert_value(const struct core_fixture *f, uint64_t client, int64_t value)
{
    assert_answer(f, client, 0);
    assert_int_equal(core_answer_of(f)->count.value, value);
}

static void value_is_had_once_a_majority_answers_one_number(void **state)
{
    struct core_fixture *f = counting(state, 3, 5);
    assert_int_equal(counted(f), CORE_FIRST(3));
    const struct fence_request *request = core_request(f, FENCE_REQUEST_COUNT, 0);
    assert_string_equal(request->resource, NAME);
    assert_int_equal(request->counter.values, 5);
    assert_int_equal(request->counter.hint, 0);
    assert_int_equal(request->counter.names_max, FENCE_COUNTERS_DEFAULT);
    core_number(f, 0, 12);
    assert_no_effects(f);
    core_number(f, 2, 12);
    assert_value(f, 1, 12);
}

static void masters_that_differ_are_asked_again_above_the_highest(void **state)
{
    struct core_fixture *f = counting(state, 3, 2);
    core_number(f, 2, 7);
    core_numbers(f, 40, 12);
    assert_int_equal(core_answers(f), 0);
    assert_int_equal(counted(f), CORE_FIRST(3));
    assert_int_equal(core_request(f, FENCE_REQUEST_COUNT, 1)->counter.hint, 40);
    core_numbers(f, 42, 42);
    assert_value(f, 1, 42);
}

static void spare_master_is_asked_for_the_highest_number_where_others_differ(void **state)
{
    struct core_fixture *f = core_fixture_new_majority(state, 3);
    count(f, 1, 2);
    assert_int_equal(counted(f), CORE_FIRST(2));
    core_numbers(f, 40, 12);
    assert_int_equal(counted(f), CORE_SET(2));
    assert_int_equal(core_request(f, FENCE_REQUEST_COUNT, 2)->counter.hint, 38);
    core_number(f, 2, 40);
    assert_value(f, 1, 40);
}

static void late_number_of_an_earlier_round_does_not_count(void **state)
{
    struct core_fixture *f = counting(state, 5, 1);
    uint64_t old = f->tag[4];
    core_number(f, 0, 3);
    core_number(f, 1, 4);
    core_number(f, 2, 5);
    core_number(f, 3, 6);
    assert_int_equal(counted(f), CORE_FIRST(5));
    core_numbers(f, 7, 7);
    core_reply_to(f, 4, old, (struct fence_reply){.kind = FENCE_REPLY_NUMBER, .number = 7});
    assert_no_effects(f);
    core_number(f, 2, 7);
    assert_value(f, 1, 7);
}

static void contended_after_as_many_rounds_as_there_may_be(void **state)
{
    struct core_fixture *f = counting(state, 3, 1);
    unsigned rounds = 0;
    for (int64_t number = 1; core_answers(f) == 0; number += 10) {
        assert_true(rounds++ < FENCE_COUNT_TRIES_MAX);
        if (counted(f) == 0)
            core_tick(f);
        core_number(f, 0, number);
        core_number(f, 1, number + 1);
        core_number(f, 2, number + 2);
    }
    assert_int_equal(rounds, FENCE_COUNT_TRIES_MAX);
    assert_answer(f, 1, FENCE_ECONTENDED);
}

static void no_majority_is_told_at_the_deadline(void **state)
{
    struct core_fixture *f = counting(state, 3, 1);
    core_number(f, 0, 1);
    core_later_us(f, FENCE_MASTER_DEADLINE_US);
    core_tick(f);
    assert_answer(f, 1, FENCE_ENOQUORUM);
    assert_int_equal(core_answer_of(f)->parts[1], FENCE_PART_TIMEOUT);
}

static void silent_master_is_replaced_by_a_spare_one(void **state)
{
    struct core_fixture *f = core_fixture_new_majority(state, 3);
    count(f, 1, 1);
    core_number(f, 0, 9);
    core_tick(f);
    assert_int_equal(counted(f), CORE_SET(2));
    core_number(f, 2, 9);
    assert_value(f, 1, 9);
}

static void obstacle_of_a_majority_is_named(void **state)
{
    static const struct {
        enum fence_reply_kind kind;
        int error;
    } rows[] = {
        {FENCE_REPLY_FULL, FENCE_ECOUNTERS},
        {FENCE_REPLY_SPENT, FENCE_ESPENT},
        {FENCE_REPLY_MISCOUNTED, FENCE_EMISCOUNTED},
        {FENCE_REPLY_REFUSED, FENCE_ENOQUORUM},
    };
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        struct core_fixture *f = core_fixture_new(state, 3);
        count(f, 1, 1);
        core_reply_kind(f, 0, rows[r].kind);
        core_reply_kind(f, 1, rows[r].kind);
        assert_answer(f, 1, rows[r].error);
    }
}

/* Else it would be there for no waiter, and in the way of others. */
static void name_without_room_is_not_begun_on_spare_masters(void **state)
{
    struct core_fixture *f = core_fixture_new_majority(state, 3);
    count(f, 1, 1);
    core_reply_kind(f, 0, FENCE_REPLY_FULL);
    assert_no_effects(f);
    core_reply_kind(f, 1, FENCE_REPLY_FULL);
    assert_answer(f, 1, FENCE_ECOUNTERS);
    assert_int_equal(counted(f), 0);
}

static void name_that_a_majority_has_no_room_for_is_refused_whatever_others_answer(void **state)
{
    struct core_fixture *f = counting(state, 5, 1);
    core_number(f, 3, 1);
    core_number(f, 4, 1);
    core_both_reply(f, FENCE_REPLY_FULL);
    assert_no_effects(f);
    core_reply_kind(f, 2, FENCE_REPLY_FULL);
    assert_answer(f, 1, FENCE_ECOUNTERS);
}

static void full_master_makes_room_for_what_another_has(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_down(f, 2);
    count(f, 1, 1);
    core_reply_kind(f, 1, FENCE_REPLY_FULL);
    assert_no_effects(f);
    core_number(f, 0, 9);
    assert_int_equal(core_answers(f), 0);
    assert_int_equal(core_request(f, FENCE_REQUEST_COUNT, 1)->counter.hint, 9);
    core_numbers(f, 10, 10);
    assert_value(f, 1, 10);
}

static void reading_of_what_never_counted_says_so(void **state)
{
    struct core_fixture *f = counting(state, 3, 0);
    assert_int_equal(core_request(f, FENCE_REQUEST_COUNT, 0)->counter.values, 0);
    core_reply_kind(f, 0, FENCE_REPLY_NO);
    assert_no_effects(f);
    core_reply_kind(f, 1, FENCE_REPLY_NO);
    assert_answer(f, 1, FENCE_ENOENT);
}

static void what_a_minority_has_is_brought_to_a_majority_before_it_is_told(void **state)
{
    struct core_fixture *f = counting(state, 3, 0);
    core_down(f, 2);
    core_number(f, 0, 5);
    core_reply_kind(f, 1, FENCE_REPLY_NO);
    core_reply_kind(f, 2, FENCE_REPLY_LOST);
    assert_int_equal(core_answers(f), 0);
    assert_int_equal(core_request(f, FENCE_REQUEST_COUNT, 1)->counter.hint, 5);
    assert_int_equal(core_request(f, FENCE_REQUEST_COUNT, 1)->counter.values, 0);
    core_numbers(f, 5, 5);
    assert_value(f, 1, 5);
}

static void calls_behind_the_first_share_its_next_round(void **state)
{
    struct core_fixture *f = counting(state, 3, 1);
    count(f, 2, 10);
    assert_no_effects(f);
    count(f, 3, 100);
    assert_no_effects(f);
    core_numbers(f, 1, 1);
    assert_value(f, 1, 1);
    core_tick(f);
    assert_int_equal(counted(f), CORE_FIRST(3));
    assert_int_equal(core_request(f, FENCE_REQUEST_COUNT, 0)->counter.values, 110);
    core_numbers(f, 111, 111);
    assert_value(f, 2, 11);
    core_tick(f);
    assert_value(f, 3, 111);
    assert_int_equal(fence_core_calls(f->core), 0);
}

static void reading_shares_no_round_with_calls_that_count(void **state)
{
    struct core_fixture *f = counting(state, 3, 1);
    count(f, 2, 1);
    count(f, 3, 0);
    count(f, 4, 0);
    core_numbers(f, 1, 1);
    core_tick(f);
    assert_int_equal(core_request(f, FENCE_REQUEST_COUNT, 0)->counter.values, 1);
    core_numbers(f, 2, 2);
    assert_value(f, 2, 2);
    core_tick(f);
    assert_int_equal(core_request(f, FENCE_REQUEST_COUNT, 0)->counter.values, 0);
    core_numbers(f, 2, 2);
    assert_value(f, 3, 2);
    core_tick(f);
    assert_value(f, 4, 2);
}

static void all_calls_of_a_round_that_failed_hear_why(void **state)
{
    struct core_fixture *f = counting(state, 3, 1);
    count(f, 2, 1);
    count(f, 3, 1);
    core_numbers(f, 1, 1);
    core_tick(f);
    core_both_reply(f, FENCE_REPLY_FULL);
    assert_answer(f, 2, FENCE_ECOUNTERS);
    core_tick(f);
    assert_answer(f, 3, FENCE_ECOUNTERS);
    assert_int_equal(core_answer_of(f)->parts[1], FENCE_PART_REFUSED);
}

static void round_counts_no_more_values_than_one_call_may_take(void **state)
{
    struct core_fixture *f = counting(state, 3, 1);
    count(f, 2, FENCE_COUNT_MAX - 1);
    count(f, 3, 1);
    count(f, 4, 1);
    core_numbers(f, 1, 1);
    core_tick(f);
    assert_int_equal(core_request(f, FENCE_REQUEST_COUNT, 0)->counter.values, FENCE_COUNT_MAX);
}

static void call_that_waits_too_long_for_its_turn_is_busy(void **state)
{
    struct core_fixture *f = counting(state, 1, 1);
    count(f, 2, 1);
    for (unsigned k = 0; core_answers(f) == 0 || core_answer_of(f)->client == 1; k++) {
        assert_true(k < 2 * FENCE_COUNT_TRIES_MAX);
        core_tick(f);
    }
    assert_int_equal(core_answer_of(f)->client, 2);
}

static void other_counters_do_not_wait(void **state)
{
    struct core_fixture *f = counting(state, 3, 1);
    count_of(f, "receipts", 2, 1);
    assert_int_equal(counted(f), CORE_FIRST(3));
    core_acquire(f, 3, 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
}

static void round_begins_anew_under_a_newer_view(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    const struct fence_view view = core_view_after(2, 1);
    count(f, 1, 1);
    core_number(f, 0, 4);
    core_hear(f, 0, &view);
    core_reply(f, 1, (struct fence_reply){.kind = FENCE_REPLY_STALE, .view = &view});
    assert_int_equal(core_answers(f), 0);
    if (counted(f) == 0)
        core_tick(f);
    assert_true((counted(f) & CORE_FIRST(2)) == CORE_FIRST(2));
    core_number(f, 1, 4); /* with the number before it would be a majority */
    assert_int_equal(core_answers(f), 0);
    core_number(f, 0, 4);
    assert_value(f, 1, 4);
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(value_is_had_once_a_majority_answers_one_number),
    CORE_CASE(masters_that_differ_are_asked_again_above_the_highest),
    CORE_CASE(spare_master_is_asked_for_the_highest_number_where_others_differ),
    CORE_CASE(late_number_of_an_earlier_round_does_not_count),
    CORE_CASE(contended_after_as_many_rounds_as_there_may_be),
    CORE_CASE(no_majority_is_told_at_the_deadline),
    CORE_CASE(silent_master_is_replaced_by_a_spare_one),
    CORE_CASE(obstacle_of_a_majority_is_named),
    CORE_CASE(name_without_room_is_not_begun_on_spare_masters),
    CORE_CASE(name_that_a_majority_has_no_room_for_is_refused_whatever_others_answer),
    CORE_CASE(full_master_makes_room_for_what_another_has),
    CORE_CASE(reading_of_what_never_counted_says_so),
    CORE_CASE(what_a_minority_has_is_brought_to_a_majority_before_it_is_told),
    CORE_CASE(calls_behind_the_first_share_its_next_round),
    CORE_CASE(reading_shares_no_round_with_calls_that_count),
    CORE_CASE(all_calls_of_a_round_that_failed_hear_why),
    CORE_CASE(round_counts_no_more_values_than_one_call_may_take),
    CORE_CASE(call_that_waits_too_long_for_its_turn_is_busy),
    CORE_CASE(other_counters_do_not_wait),
    CORE_CASE(round_begins_anew_under_a_newer_view),
};

CASE_MAIN(cases, NULL, NULL)
