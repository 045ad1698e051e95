/* The rate of a key, and its cap on locks. */
#include "api/auth/usage.h"
#include "tests/lib/case.h"

#define SECOND UINT64_C(1000000) /* in microseconds */

static struct api_usage *usage;
static uint64_t wait_us;

static int setup(void **state)
{
    wait_us = 0;
    return api_usage_new(&usage);
}

static int teardown(void **state)
{
    api_usage_unref(usage);
    return 0;
}

static unsigned taken(unsigned tries, uint32_t rate, uint32_t burst, uint64_t now_us)
{
    unsigned count = 0;
    for (unsigned i = 0; i < tries; i++)
        count += api_usage_take(usage, rate, burst, 1, now_us, &wait_us);
    return count;
}

static void bucket_begins_full(void **state)
{
    assert_int_equal(taken(100, 10, 20, 7), 20);
}

static void bucket_fills_at_its_rate_up_to_its_burst(void **state)
{
    assert_int_equal(taken(100, 10, 20, 0), 20);
    assert_int_equal(taken(100, 10, 20, SECOND / 10 - 1), 0);
    assert_int_equal(taken(100, 10, 20, SECOND / 10), 1);
    assert_int_equal(taken(100, 10, 20, SECOND + SECOND / 10), 10);
    assert_int_equal(taken(100, 10, 20, 100 * SECOND), 20);
}

static void refused_call_is_told_when_the_next_is_free(void **state)
{
    assert_int_equal(taken(1, 4, 1, 0), 1);
    assert_int_equal(taken(1, 4, 1, SECOND / 8), 0);
    assert_int_equal(wait_us, SECOND / 8);
    assert_int_equal(taken(1, 4, 1, SECOND / 8 + wait_us), 1);
}

static void call_that_counts_as_several_is_paid_for_before_the_next(void **state)
{
    assert_int_equal(taken(2, 4, 3, 0), 2);
    assert_true(api_usage_take(usage, 4, 3, 10, 0, &wait_us)); /* one is there: nine are owed */
    assert_int_equal(taken(1, 4, 3, 0), 0);
    assert_int_equal(wait_us, 10 * SECOND / 4);
    assert_int_equal(taken(1, 4, 3, 10 * SECOND / 4 - 1), 0);
    assert_int_equal(taken(3, 4, 3, 10 * SECOND / 4), 1);
    assert_int_equal(taken(9, 4, 3, 100 * SECOND), 3);
}

static void bucket_takes_any_time(void **state)
{
    assert_int_equal(taken(2, 1, 1, 5), 1);
    assert_int_equal(taken(1, 1, 1, 0), 0); /* a clock that fell adds nothing */
    assert_int_equal(taken(2000000, 1000000, 1000000, UINT64_MAX), 1000000);
}

/* Any mark; all of one list where @number is a multiple of 256. */
static struct api_usage_mark marked(uint64_t number)
{
    return (struct api_usage_mark){{number, 0}};
}

static int reserve(unsigned count, uint32_t cap, uint64_t now_us)
{
    unsigned held = 0;
    return api_usage_reserve(usage, NULL, count, cap, now_us, &held);
}

static void lock_counts_from_the_call_to_its_release(void **state)
{
    assert_int_equal(reserve(1, 1, 0), 0);
    assert_int_equal(reserve(1, 1, 0), FENCE_EBUSY);
    api_usage_grant(usage, marked(7), 0, SECOND);
    assert_int_equal(reserve(1, 1, 0), FENCE_EBUSY);
    api_usage_release(usage, marked(7), 0);
    assert_int_equal(reserve(1, 1, 0), 0);
    api_usage_cancel(usage, 1);
    assert_int_equal(api_usage_held(usage, 0), 0);
}

static void lock_counts_until_its_lease_is_over(void **state)
{
    assert_int_equal(reserve(1, 1, 0), 0);
    api_usage_grant(usage, marked(7), 0, SECOND);
    api_usage_extend(usage, marked(7), 3 * SECOND);
    assert_int_equal(reserve(1, 1, 2 * SECOND), FENCE_EBUSY);
    assert_int_equal(reserve(1, 1, 3 * SECOND), 0);
    api_usage_cancel(usage, 1);
}

static void cap_is_on_all_locks_of_a_group(void **state)
{
    unsigned held = 0;
    assert_int_equal(reserve(2, 3, 0), 0);
    assert_int_equal(api_usage_reserve(usage, NULL, 2, 3, 0, &held), FENCE_EBUSY);
    assert_int_equal(held, 2);
    assert_int_equal(reserve(1, 3, 0), 0);
    api_usage_grant(usage, marked(1), 0, SECOND);
    api_usage_grant(usage, marked(2), 0, SECOND);
    api_usage_grant(usage, marked(3), 0, SECOND);
    assert_int_equal(api_usage_held(usage, 0), 3);
}

static void lock_that_is_granted_again_counts_once(void **state)
{
    assert_int_equal(reserve(1, 5, 0), 0);
    api_usage_grant(usage, marked(7), 0, SECOND);
    assert_int_equal(reserve(1, 5, 0), 0);
    api_usage_grant(usage, marked(7), 0, 2 * SECOND);
    assert_int_equal(api_usage_held(usage, SECOND), 1);
    assert_int_equal(api_usage_held(usage, 2 * SECOND), 0);
}

/* Masters never shorten one. */
static void lease_never_becomes_shorter(void **state)
{
    assert_int_equal(reserve(1, 5, 0), 0);
    api_usage_grant(usage, marked(7), 0, 3 * SECOND);
    api_usage_extend(usage, marked(7), SECOND);
    assert_int_equal(api_usage_held(usage, 2 * SECOND), 1);
    assert_int_equal(reserve(1, 5, 2 * SECOND), 0);
    api_usage_grant(usage, marked(7), 0, 2 * SECOND); /* found by a retry */
    assert_int_equal(api_usage_held(usage, 2 * SECOND), 1);
    assert_int_equal(api_usage_held(usage, 3 * SECOND), 0);
}

static void retry_for_what_is_held_fits_in_the_cap(void **state)
{
    const struct api_usage_mark retried[] = {marked(7), marked(8)}, another[] = {marked(9)};
    assert_int_equal(reserve(2, 2, 0), 0);
    api_usage_grant(usage, marked(7), 0, SECOND);
    api_usage_grant(usage, marked(8), 0, SECOND);
    assert_int_equal(api_usage_reserve(usage, another, 1, 2, 0, NULL), FENCE_EBUSY);
    assert_int_equal(api_usage_reserve(usage, retried, 2, 2, 0, NULL), 0);
    api_usage_grant(usage, marked(7), 0, SECOND);
    api_usage_cancel(usage, 1);
    assert_int_equal(api_usage_held(usage, 0), 2);
}

static void retry_for_one_of_several_fits_where_one_of_them_is_held(void **state)
{
    const struct api_usage_mark seats[] = {marked(1), marked(2), marked(3)};
    assert_int_equal(api_usage_reserve_one_of(usage, seats, 3, 1, 0, NULL), 0);
    api_usage_grant(usage, marked(3), 0, SECOND);
    assert_int_equal(api_usage_reserve_one_of(usage, seats, 2, 1, 0, NULL), FENCE_EBUSY);
    assert_int_equal(api_usage_reserve_one_of(usage, seats, 3, 1, 0, NULL), 0);
    api_usage_grant(usage, marked(3), 0, SECOND);
    assert_int_equal(api_usage_held(usage, 0), 1);
}

/* One call is for one lock, however many of the marks are held. */
static void one_of_several_counts_as_one_lock(void **state)
{
    const struct api_usage_mark seats[] = {marked(1), marked(2)};
    assert_int_equal(reserve(3, 3, 0), 0);
    for (uint64_t i = 1; i <= 3; i++)
        api_usage_grant(usage, marked(i), 0, SECOND);
    assert_int_equal(api_usage_reserve_one_of(usage, seats, 2, 3, 0, NULL), 0);
    assert_int_equal(reserve(1, 3, 0), FENCE_EBUSY);
    api_usage_cancel(usage, 1);
    assert_int_equal(api_usage_held(usage, 0), 3);
}

static void lock_that_is_not_known_changes_nothing(void **state)
{
    api_usage_extend(usage, marked(9), SECOND);
    api_usage_release(usage, marked(9), 0);
    assert_int_equal(api_usage_held(usage, 0), 0);
}

static void many_locks_are_told_apart(void **state)
{
    assert_int_equal(reserve(1000, 1000, 0), 0);
    for (uint64_t i = 0; i < 1000; i++)
        api_usage_grant(usage, marked(i * 256), 0, SECOND); /* all in one list */
    assert_int_equal(reserve(1, 1000, 0), FENCE_EBUSY);
    for (uint64_t i = 0; i < 1000; i += 2)
        api_usage_release(usage, marked(i * 256), 0);
    assert_int_equal(api_usage_held(usage, 0), 500);
    assert_int_equal(api_usage_held(usage, SECOND), 0);
}

#define USAGE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* The second word of a mark counts as much as the first. */
static void locks_of_other_marks_are_other_locks(void **state)
{
    assert_int_equal(reserve(2, 2, 0), 0);
    api_usage_grant(usage, (struct api_usage_mark){{7, 1}}, 0, SECOND);
    api_usage_grant(usage, (struct api_usage_mark){{7, 2}}, 0, SECOND);
    assert_int_equal(api_usage_held(usage, 0), 2);
}

/* FNV-1a, which stood for a lock before, had one hash for these two. Somebody who chooses lock ids
 * and names found them in a minute and a half, on one core. */
static void mark_of_a_lock_cannot_be_foreseen(void **state)
{
    const struct api_usage_mark one = api_usage_mark("xxxxxxxxxxxxr2pG8XUjDa", "a1");
    const struct api_usage_mark two = api_usage_mark("xxxxxxxxxxxx1T9E9GIDia", "B1");
    const struct api_usage_mark again = api_usage_mark("xxxxxxxxxxxxr2pG8XUjDa", "a1");
    assert_memory_not_equal(&one, &two, sizeof(one));
    assert_memory_equal(&one, &again, sizeof(one));
}

static void writer_counts_until_each_of_its_seats_is_released(void **state)
{
    assert_int_equal(reserve(1, 1, 0), 0);
    api_usage_grant(usage, marked(7), 7, SECOND);
    api_usage_release(usage, marked(7), 1);
    api_usage_release(usage, marked(7), 1);
    api_usage_release(usage, marked(7), 4);
    assert_int_equal(api_usage_held(usage, 0), 1);
    api_usage_release(usage, marked(7), 2);
    assert_int_equal(api_usage_held(usage, 0), 0);
}

static void name_that_is_kept_closed_counts_for_so_long_and_no_longer_than_its_lease(void **state)
{
    assert_int_equal(reserve(1, 1, 0), 0);
    api_usage_grant(usage, marked(7), 0, 3 * SECOND);
    api_usage_keep(usage, marked(7), 4 * SECOND);
    assert_int_equal(api_usage_held(usage, 2 * SECOND), 1);
    api_usage_keep(usage, marked(7), SECOND);
    assert_int_equal(api_usage_held(usage, SECOND - 1), 1);
    assert_int_equal(api_usage_held(usage, SECOND), 0);
}

static const struct CMUnitTest cases[] = {
    USAGE_TEST(bucket_begins_full),
    USAGE_TEST(bucket_fills_at_its_rate_up_to_its_burst),
    USAGE_TEST(refused_call_is_told_when_the_next_is_free),
    USAGE_TEST(call_that_counts_as_several_is_paid_for_before_the_next),
    USAGE_TEST(bucket_takes_any_time),
    USAGE_TEST(lock_counts_from_the_call_to_its_release),
    USAGE_TEST(locks_of_other_marks_are_other_locks),
    USAGE_TEST(mark_of_a_lock_cannot_be_foreseen),
    USAGE_TEST(lock_counts_until_its_lease_is_over),
    USAGE_TEST(cap_is_on_all_locks_of_a_group),
    USAGE_TEST(lock_that_is_granted_again_counts_once),
    USAGE_TEST(lease_never_becomes_shorter),
    USAGE_TEST(retry_for_what_is_held_fits_in_the_cap),
    USAGE_TEST(retry_for_one_of_several_fits_where_one_of_them_is_held),
    USAGE_TEST(one_of_several_counts_as_one_lock),
    USAGE_TEST(lock_that_is_not_known_changes_nothing),
    USAGE_TEST(many_locks_are_told_apart),
    USAGE_TEST(writer_counts_until_each_of_its_seats_is_released),
    USAGE_TEST(name_that_is_kept_closed_counts_for_so_long_and_no_longer_than_its_lease),
};

CASE_MAIN(cases, NULL, NULL)
