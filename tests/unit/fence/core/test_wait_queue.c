#include "fence/core/wait_queue.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

enum {
    CAPACITY = 8,
};

static struct fence_wait_queues lines;

static int set_up(void **state)
{
    (void)state;
    return fence_wait_queues_init(&lines, CAPACITY, 1);
}

static int tear_down(void **state)
{
    (void)state;
    fence_wait_queues_fini(&lines);
    return 0;
}

static void first_to_come_is_first_in_line(void **state)
{
    (void)state;
    const struct fence_wait_queue *line = fence_wait_queues_join(&lines, 4, "a");
    assert_int_equal(line->first, 4);
    assert_ptr_equal(fence_wait_queues_join(&lines, 2, "a"), line);
    assert_int_equal(line->first, 4);
    assert_int_equal(line->length, 2);
}

static void those_behind_follow_in_the_order_they_came(void **state)
{
    (void)state;
    fence_wait_queues_join(&lines, 4, "a");
    fence_wait_queues_join(&lines, 2, "a");
    fence_wait_queues_join(&lines, 7, "a");
    assert_int_equal(fence_wait_queues_leave(&lines, 4), 2);
    assert_int_equal(fence_wait_queues_leave(&lines, 2), 7);
    assert_int_equal(fence_wait_queues_leave(&lines, 7), FENCE_NOBODY);
}

static void leaving_from_the_middle_or_the_end_makes_nobody_first(void **state)
{
    (void)state;
    for (uint32_t who = 0; who < 4; who++)
        fence_wait_queues_join(&lines, who, "a");
    assert_int_equal(fence_wait_queues_leave(&lines, 1), FENCE_NOBODY);
    assert_int_equal(fence_wait_queues_leave(&lines, 3), FENCE_NOBODY);
    fence_wait_queues_join(&lines, 5, "a");
    assert_int_equal(fence_wait_queues_leave(&lines, 0), 2);
    assert_int_equal(fence_wait_queues_leave(&lines, 2), 5);
}

static void second_may_leave_after_it_became_first(void **state)
{
    (void)state;
    fence_wait_queues_join(&lines, 0, "a");
    fence_wait_queues_join(&lines, 1, "a");
    fence_wait_queues_join(&lines, 2, "a");
    assert_int_equal(fence_wait_queues_leave(&lines, 0), 1);
    fence_wait_queues_join(&lines, 0, "a");
    assert_int_equal(fence_wait_queues_leave(&lines, 1), 2);
    assert_int_equal(fence_wait_queues_leave(&lines, 2), 0);
}

static void line_exists_while_somebody_stands_in_it(void **state)
{
    (void)state;
    assert_null(fence_wait_queues_find(&lines, "a"));
    assert_null(fence_wait_queues_of(&lines, 3));
    const struct fence_wait_queue *line = fence_wait_queues_join(&lines, 3, "a");
    assert_ptr_equal(fence_wait_queues_find(&lines, "a"), line);
    assert_ptr_equal(fence_wait_queues_of(&lines, 3), line);
    (void)fence_wait_queues_leave(&lines, 3);
    assert_null(fence_wait_queues_find(&lines, "a"));
    assert_null(fence_wait_queues_of(&lines, 3));
}

static void new_line_knows_nothing_of_an_earlier_holder(void **state)
{
    (void)state;
    struct fence_wait_queue *line = fence_wait_queues_join(&lines, 3, "a");
    line->seen.held_until_us = 1000;
    memcpy(line->seen.owner, "worker", sizeof("worker"));
    (void)fence_wait_queues_leave(&lines, 3);
    line = fence_wait_queues_join(&lines, 3, "a");
    assert_int_equal(line->seen.held_until_us, 0);
    assert_string_equal(line->seen.owner, "");
}

static void resources_have_lines_of_their_own(void **state)
{
    (void)state;
    const struct fence_wait_queue *a = fence_wait_queues_join(&lines, 0, "a");
    const struct fence_wait_queue *b = fence_wait_queues_join(&lines, 1, "b");
    assert_ptr_not_equal(a, b);
    assert_int_equal(fence_wait_queues_leave(&lines, 0), FENCE_NOBODY);
    assert_ptr_equal(fence_wait_queues_find(&lines, "b"), b);
}

/* As many lines as callers share as many buckets: some of them collide. */
static void every_caller_may_have_a_line_of_its_own(void **state)
{
    (void)state;
    char name[16];
    for (unsigned round = 0; round < 100; round++) {
        for (uint32_t who = 0; who < CAPACITY; who++) {
            snprintf(name, sizeof(name), "r%u-%u", round, who);
            fence_wait_queues_join(&lines, who, name);
        }
        for (uint32_t at = 0; at < CAPACITY; at++) {
            uint32_t who = (at * 3 + round) % CAPACITY;
            snprintf(name, sizeof(name), "r%u-%u", round, who);
            const struct fence_wait_queue *line = fence_wait_queues_find(&lines, name);
            assert_non_null(line);
            assert_int_equal(line->first, who);
            (void)fence_wait_queues_leave(&lines, who);
            assert_null(fence_wait_queues_find(&lines, name));
        }
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const struct CMUnitTest cases[] = {
    CASE(first_to_come_is_first_in_line),
    CASE(those_behind_follow_in_the_order_they_came),
    CASE(leaving_from_the_middle_or_the_end_makes_nobody_first),
    CASE(second_may_leave_after_it_became_first),
    CASE(line_exists_while_somebody_stands_in_it),
    CASE(new_line_knows_nothing_of_an_earlier_holder),
    CASE(resources_have_lines_of_their_own),
    CASE(every_caller_may_have_a_line_of_its_own),
};

CASE_MAIN(cases, NULL, NULL)
