#include "api/json/utf8.h"
#include "tests/lib/case.h"

#include <string.h>

static bool valid(const char *text)
{
    return api_utf8_valid(text, strlen(text));
}

static void every_length_of_sequence_is_taken(void **state)
{
    assert_int_equal(api_utf8_sequence("a", 1), 1);
    assert_int_equal(api_utf8_sequence("\xc2\x80", 2), 2);
    assert_int_equal(api_utf8_sequence("\xe0\xa0\x80", 3), 3);
    assert_int_equal(api_utf8_sequence("\xf0\x90\x80\x80", 4), 4);
    assert_true(valid("gr\xc3\xbc\xc3\x9f, \xe2\x82\xac, \xf4\x8f\xbf\xbf"));
    assert_true(valid(""));
}

static void overlong_forms_are_refused(void **state)
{
    assert_false(valid("\xc0\xaf"));
    assert_false(valid("\xc1\xbf"));
    assert_false(valid("\xe0\x9f\xbf"));
    assert_false(valid("\xf0\x8f\xbf\xbf"));
}

static void surrogates_are_refused(void **state)
{
    assert_true(valid("\xed\x9f\xbf"));
    assert_false(valid("\xed\xa0\x80"));
    assert_false(valid("\xed\xbf\xbf"));
    assert_true(valid("\xee\x80\x80"));
}

static void nothing_stands_beyond_the_last_code_point(void **state)
{
    assert_false(valid("\xf4\x90\x80\x80"));
    assert_false(valid("\xf5\x80\x80\x80"));
    assert_false(valid("\xff"));
}

static void broken_sequences_are_refused(void **state)
{
    assert_false(valid("\x80"));
    assert_false(valid("\xc3("));
    assert_false(valid("\xe2\x82("));
    assert_false(valid("\xf0\x90\x80("));
}

static void a_sequence_cut_off_by_the_length_is_refused(void **state)
{
    assert_int_equal(api_utf8_sequence("\xe2\x82\xac", 2), 0);
    assert_int_equal(api_utf8_sequence("a", 0), 0);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(every_length_of_sequence_is_taken),
    cmocka_unit_test(overlong_forms_are_refused),
    cmocka_unit_test(surrogates_are_refused),
    cmocka_unit_test(nothing_stands_beyond_the_last_code_point),
    cmocka_unit_test(broken_sequences_are_refused),
    cmocka_unit_test(a_sequence_cut_off_by_the_length_is_refused),
};

CASE_MAIN(cases, NULL, NULL)
