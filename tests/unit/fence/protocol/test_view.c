#include "fence/protocol/view.h"
#include "tests/lib/case.h"

#include <string.h>

static const struct fence_view three = {{7, 0, FENCE_INCARNATION_MAX}};

static void assert_refused(const char *text, unsigned n)
{
    struct fence_view view = three;
    assert_int_equal(fence_view_parse(text, strlen(text), n, &view), FENCE_EINVAL);
    assert_memory_equal(&view, &three, sizeof(view));
}

static void format_writes_members_in_order(void **state)
{
    (void)state;
    char text[FENCE_VIEW_TEXT_MAX];
    fence_view_format(&three, 3, text);
    assert_string_equal(text, "7,0,9007190664806399");
    fence_view_format(&three, 1, text);
    assert_string_equal(text, "7");
}

static void longest_view_fits_its_text(void **state)
{
    (void)state;
    struct fence_view view;
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        view.incarnation[i] = FENCE_INCARNATION_MAX;
    char text[FENCE_VIEW_TEXT_MAX];
    fence_view_format(&view, FENCE_MASTERS_MAX, text);
    assert_int_equal(strlen(text) + 1, FENCE_VIEW_TEXT_MAX);
}

static void parse_reads_what_format_wrote(void **state)
{
    (void)state;
    char text[FENCE_VIEW_TEXT_MAX];
    fence_view_format(&three, 3, text);
    struct fence_view view;
    memset(&view, 0xff, sizeof(view));
    assert_int_equal(fence_view_parse(text, strlen(text), 3, &view), 0);
    assert_memory_equal(&view, &three, sizeof(view));
}

static void parse_reads_no_further_than_len(void **state)
{
    (void)state;
    struct fence_view view;
    assert_int_equal(fence_view_parse("12,345", 4, 2, &view), 0);
    assert_int_equal(view.incarnation[1], 3);
}

static void parse_refuses_another_number_of_members(void **state)
{
    (void)state;
    assert_refused("", 1);
    assert_refused("1,2", 3);
    assert_refused("1,2,", 3);
    assert_refused("1,2,3,", 3);
    assert_refused("1,2,3,4", 3);
}

static void parse_refuses_what_is_not_a_number(void **state)
{
    (void)state;
    assert_refused(",2,3", 3);
    assert_refused("1,,3", 3);
    assert_refused("1,-2,3", 3);
    assert_refused("1, 2,3", 3);
    assert_refused("1,2,3 ", 3);
    assert_refused("1;2;3", 3);
    assert_refused("0x1", 1);
}

static void parse_refuses_more_than_a_double_holds(void **state)
{
    (void)state;
    assert_refused("9007199252643840", 1);
    assert_refused("00000000000000001", 1);
    assert_refused("99999999999999999999999999", 1);
}

static void merge_raises_and_never_lowers(void **state)
{
    (void)state;
    struct fence_view view = {{5, 5, 5}};
    struct fence_view other = {{4, 6, 5}};
    assert_true(fence_view_merge(&view, &other, 3));
    assert_int_equal(view.incarnation[0], 5);
    assert_int_equal(view.incarnation[1], 6);
    assert_int_equal(view.incarnation[2], 5);
}

static void merge_of_nothing_newer_says_so(void **state)
{
    (void)state;
    struct fence_view view = {{5, 5, 5}};
    struct fence_view other = {{5, 4, 0}};
    assert_false(fence_view_merge(&view, &other, 3));
    assert_false(fence_view_merge(&view, &view, 3));
}

static void merge_looks_at_members_of_the_fleet_only(void **state)
{
    (void)state;
    struct fence_view view = {{5, 5, 5, 0}};
    struct fence_view other = {{5, 5, 5, 9}};
    assert_false(fence_view_merge(&view, &other, 3));
    assert_int_equal(view.incarnation[3], 0);
}

static void next_incarnation_is_higher_whatever_the_random_bits(void **state)
{
    (void)state;
    int64_t low = fence_incarnation_next(0, 0);
    int64_t high = fence_incarnation_next(0, UINT64_MAX);
    assert_true(low > 0);
    assert_true(high > low);
    assert_true(fence_incarnation_next(high, 0) > high);
    assert_true(fence_incarnation_next(low, 0) > high);
}

static void admissions_that_know_nothing_of_one_another_differ(void **state)
{
    (void)state;
    assert_int_not_equal(fence_incarnation_next(0, 0x1234), fence_incarnation_next(0, 0x5678));
}

static void last_incarnation_can_still_be_followed(void **state)
{
    (void)state;
    int64_t next = fence_incarnation_next(FENCE_INCARNATION_MAX, UINT64_MAX);
    assert_true(next > FENCE_INCARNATION_MAX);
    assert_true(next <= FENCE_TOKEN_MAX);
}

/* ---- tries of a memory that was kept --------------------------------------------------------- */

static void next_try_is_higher_and_below_any_new_memory(void **state)
{
    (void)state;
    const int64_t own = fence_incarnation_next(0, 0x1234);
    const int64_t first = fence_incarnation_next_try(own, own, 0);
    const int64_t second = fence_incarnation_next_try(own, first, UINT64_MAX);
    assert_true(first > own);
    assert_true(second > first);
    assert_true(second < fence_incarnation_next(own, 0));
    assert_true(fence_incarnation_same_memory(own, second));
}

static void no_try_follows_an_incarnation_of_another_memory(void **state)
{
    (void)state;
    const int64_t own = fence_incarnation_next(0, 0);
    assert_int_equal(fence_incarnation_next_try(own, fence_incarnation_next(own, 0), 0), 0);
    assert_int_equal(fence_incarnation_next_try(own, fence_incarnation_next(0, 2), 0), 0);
    assert_false(fence_incarnation_same_memory(own, fence_incarnation_next(0, 2)));
}

static void tries_of_a_memory_come_to_an_end(void **state)
{
    (void)state;
    const int64_t own = fence_incarnation_next(0, UINT64_MAX);
    int64_t last = own;
    unsigned tries = 0;
    for (int64_t next = own; next != 0; next = fence_incarnation_next_try(own, last, UINT64_MAX)) {
        last = next;
        tries++;
    }
    assert_in_range(tries, 1 << (FENCE_INCARNATION_TRY_BITS - FENCE_INCARNATION_TRY_LEAP_BITS),
                    1 << FENCE_INCARNATION_TRY_BITS);
    assert_true(fence_incarnation_next(last, 0) > last);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(format_writes_members_in_order),
    cmocka_unit_test(longest_view_fits_its_text),
    cmocka_unit_test(parse_reads_what_format_wrote),
    cmocka_unit_test(parse_reads_no_further_than_len),
    cmocka_unit_test(parse_refuses_another_number_of_members),
    cmocka_unit_test(parse_refuses_what_is_not_a_number),
    cmocka_unit_test(parse_refuses_more_than_a_double_holds),
    cmocka_unit_test(merge_raises_and_never_lowers),
    cmocka_unit_test(merge_of_nothing_newer_says_so),
    cmocka_unit_test(merge_looks_at_members_of_the_fleet_only),
    cmocka_unit_test(next_incarnation_is_higher_whatever_the_random_bits),
    cmocka_unit_test(admissions_that_know_nothing_of_one_another_differ),
    cmocka_unit_test(last_incarnation_can_still_be_followed),
    cmocka_unit_test(next_try_is_higher_and_below_any_new_memory),
    cmocka_unit_test(no_try_follows_an_incarnation_of_another_memory),
    cmocka_unit_test(tries_of_a_memory_come_to_an_end),
};

CASE_MAIN(cases, NULL, NULL)
