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
    char text[FENCE_VIEW_TEXT_MAX];
    fence_view_format(&three, 3, text);
    assert_string_equal(text, "7,0,9007190664806399");
    fence_view_format(&three, 1, text);
    assert_string_equal(text, "7");
}

static void longest_view_fits_its_text(void **state)
{
    struct fence_view view;
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        view.incarnation[i] = FENCE_INCARNATION_MAX;
    char text[FENCE_VIEW_TEXT_MAX];
    fence_view_format(&view, FENCE_MASTERS_MAX, text);
    assert_int_equal(strlen(text) + 1, FENCE_VIEW_TEXT_MAX);
}

static void parse_reads_what_format_wrote(void **state)
{
    char text[FENCE_VIEW_TEXT_MAX];
    fence_view_format(&three, 3, text);
    struct fence_view view;
    memset(&view, 0xff, sizeof(view));
    assert_int_equal(fence_view_parse(text, strlen(text), 3, &view), 0);
    assert_memory_equal(&view, &three, sizeof(view));
}

static void parse_reads_no_further_than_len(void **state)
{
    struct fence_view view;
    assert_int_equal(fence_view_parse("12,345", 4, 2, &view), 0);
    assert_int_equal(view.incarnation[1], 3);
}

static void parse_refuses_another_number_of_members(void **state)
{
    assert_refused("", 1);
    assert_refused("1,2", 3);
    assert_refused("1,2,", 3);
    assert_refused("1,2,3,", 3);
    assert_refused("1,2,3,4", 3);
}

static void parse_refuses_what_is_not_a_number(void **state)
{
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
    assert_refused("9007199252643840", 1);
    assert_refused("00000000000000001", 1);
    assert_refused("99999999999999999999999999", 1);
}

static void merge_raises_and_never_lowers(void **state)
{
    struct fence_view view = {{5, 5, 5}};
    struct fence_view other = {{4, 6, 5}};
    assert_true(fence_view_merge(&view, &other, 3));
    assert_int_equal(view.incarnation[0], 5);
    assert_int_equal(view.incarnation[1], 6);
    assert_int_equal(view.incarnation[2], 5);
}

static void merge_of_nothing_newer_says_so(void **state)
{
    struct fence_view view = {{5, 5, 5}};
    struct fence_view other = {{5, 4, 0}};
    assert_false(fence_view_merge(&view, &other, 3));
    assert_false(fence_view_merge(&view, &view, 3));
}

static void merge_looks_at_members_of_the_fleet_only(void **state)
{
    struct fence_view view = {{5, 5, 5, 0}};
    struct fence_view other = {{5, 5, 5, 9}};
    assert_false(fence_view_merge(&view, &other, 3));
    assert_int_equal(view.incarnation[3], 0);
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
};

CASE_MAIN(cases, NULL, NULL)
