#include "fence/state/wait_queue.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

enum {
    CAPACITY = 8,
};

static struct core_wait_queues queues;

static uint64_t ranks;

/* @who comes last. */
static struct core_wait_queue *join(uint32_t who, const char *resource)
{
    return core_wait_queues_join(&queues, who, resource, ++ranks);
}

static int set_up(void **state)
{
    return core_wait_queues_init(&queues, CAPACITY, 1);
}

static int tear_down(void **state)
{
    core_wait_queues_fini(&queues);
    return 0;
}

static void first_to_come_is_first_in_line(void **state)
{
    const struct core_wait_queue *queue = join(4, "a");
    assert_int_equal(queue->first, 4);
    assert_ptr_equal(join(2, "a"), queue);
    assert_int_equal(queue->first, 4);
    assert_int_equal(queue->length, 2);
}

static void those_behind_follow_in_the_order_they_came(void **state)
{
    join(4, "a");
    join(2, "a");
    join(7, "a");
    assert_int_equal(core_wait_queues_leave(&queues, 4), 2);
    assert_int_equal(core_wait_queues_leave(&queues, 2), 7);
    assert_int_equal(core_wait_queues_leave(&queues, 7), FENCE_NOBODY);
}

static void lower_rank_stands_before_higher_ones(void **state)
{
    static const uint64_t ranks_of[CAPACITY] = {50, 60, 10, 55, 60, 54, 50, 70};
    static const uint32_t expected[CAPACITY] = {2, 0, 6, 5, 3, 1, 4, 7};
    const struct core_wait_queue *queue = NULL;
    for (uint32_t who = 0; who < CAPACITY; who++)
        queue = core_wait_queues_join(&queues, who, "a", ranks_of[who]);
    uint32_t who = queue->first;
    for (unsigned k = 0; k < CAPACITY; k++) {
        assert_int_equal(who, expected[k]);
        assert_int_equal(core_wait_queues_before(&queues, who),
                         k > 0 ? expected[k - 1] : FENCE_NOBODY);
        who = core_wait_queues_behind(&queues, who);
    }
    assert_int_equal(who, FENCE_NOBODY);
    assert_int_equal(queue->last, 7);
}

static void leaving_from_the_middle_or_the_end_makes_nobody_first(void **state)
{
    for (uint32_t who = 0; who < 4; who++)
        join(who, "a");
    assert_int_equal(core_wait_queues_leave(&queues, 1), FENCE_NOBODY);
    assert_int_equal(core_wait_queues_leave(&queues, 3), FENCE_NOBODY);
    join(5, "a");
    assert_int_equal(core_wait_queues_leave(&queues, 0), 2);
    assert_int_equal(core_wait_queues_leave(&queues, 2), 5);
}

static void second_may_leave_after_it_became_first(void **state)
{
    join(0, "a");
    join(1, "a");
    join(2, "a");
    assert_int_equal(core_wait_queues_leave(&queues, 0), 1);
    join(0, "a");
    assert_int_equal(core_wait_queues_leave(&queues, 1), 2);
    assert_int_equal(core_wait_queues_leave(&queues, 2), 0);
}

static void queue_exists_while_somebody_stands_in_it(void **state)
{
    assert_null(core_wait_queues_find(&queues, "a"));
    assert_null(core_wait_queues_of(&queues, 3));
    const struct core_wait_queue *queue = join(3, "a");
    assert_ptr_equal(core_wait_queues_find(&queues, "a"), queue);
    assert_ptr_equal(core_wait_queues_of(&queues, 3), queue);
    (void)core_wait_queues_leave(&queues, 3);
    assert_null(core_wait_queues_find(&queues, "a"));
    assert_null(core_wait_queues_of(&queues, 3));
}

static void new_queue_knows_nothing_of_an_earlier_holder(void **state)
{
    struct core_wait_queue *queue = join(3, "a");
    queue->seen.held_until_us = 1000;
    memcpy(queue->seen.owner, "worker", sizeof("worker"));
    (void)core_wait_queues_leave(&queues, 3);
    queue = join(3, "a");
    assert_int_equal(queue->seen.held_until_us, 0);
    assert_string_equal(queue->seen.owner, "");
}

static void resources_have_queues_of_their_own(void **state)
{
    const struct core_wait_queue *a = join(0, "a");
    const struct core_wait_queue *b = join(1, "b");
    assert_ptr_not_equal(a, b);
    assert_int_equal(core_wait_queues_leave(&queues, 0), FENCE_NOBODY);
    assert_ptr_equal(core_wait_queues_find(&queues, "b"), b);
}

/* As many queues as callers share as many buckets: some of them collide. */
static void every_caller_may_have_a_queue_of_its_own(void **state)
{
    char name[16];
    for (unsigned round = 0; round < 100; round++) {
        for (uint32_t who = 0; who < CAPACITY; who++) {
            snprintf(name, sizeof(name), "r%u-%u", round, who);
            join(who, name);
        }
        for (uint32_t at = 0; at < CAPACITY; at++) {
            uint32_t who = (at * 3 + round) % CAPACITY;
            snprintf(name, sizeof(name), "r%u-%u", round, who);
            const struct core_wait_queue *queue = core_wait_queues_find(&queues, name);
            assert_non_null(queue);
            assert_int_equal(queue->first, who);
            (void)core_wait_queues_leave(&queues, who);
            assert_null(core_wait_queues_find(&queues, name));
        }
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const struct CMUnitTest cases[] = {
    CASE(first_to_come_is_first_in_line),
    CASE(those_behind_follow_in_the_order_they_came),
    CASE(lower_rank_stands_before_higher_ones),
    CASE(leaving_from_the_middle_or_the_end_makes_nobody_first),
    CASE(second_may_leave_after_it_became_first),
    CASE(queue_exists_while_somebody_stands_in_it),
    CASE(new_queue_knows_nothing_of_an_earlier_holder),
    CASE(resources_have_queues_of_their_own),
    CASE(every_caller_may_have_a_queue_of_its_own),
};

CASE_MAIN(cases, NULL, NULL)
