#include "server/system/printable.h"
#include "tests/lib/case.h"

#include <string.h>

static void expect(const char *text, const char *expected)
{
    char printable[128];
    assert_int_equal(server_printable(text, printable, sizeof(printable)), strlen(expected));
    assert_string_equal(printable, expected);
}

static void text_of_any_language_stays(void **state)
{
    expect("", "");
    expect("Gr\xc3\xbc\xc3\x9f \xe2\x80\x94 \xf0\x9f\x94\x92",
           "Gr\xc3\xbc\xc3\x9f \xe2\x80\x94 \xf0\x9f\x94\x92");
}

static void control_characters_are_escaped(void **state)
{
    expect("a\nb\x1b[2J\x7f", "a\\x0ab\\x1b[2J\\x7f");
    expect("\xc2\x80 \xc2\x9b \xc2\xa0", "\\xc2\\x80 \\xc2\\x9b \xc2\xa0");
    expect("\xe2\x80\xa8", "\\xe2\\x80\\xa8");
    const char override[] = {(char)0xe2, (char)0x80, (char)0xae, '\0'}; /* U+202E */
    const char isolate[] = {(char)0xe2, (char)0x81, (char)0xa6, '\0'};  /* U+2066 */
    expect(override, "\\xe2\\x80\\xae");
    expect(isolate, "\\xe2\\x81\\xa6");
}

static void bytes_that_are_no_text_are_escaped(void **state)
{
    expect("\x80\x9b\xff \xc3", "\\x80\\x9b\\xff \\xc3");
    expect("\xed\xa0\x80", "\\xed\\xa0\\x80");
}

static void what_does_not_fit_is_cut_between_characters(void **state)
{
    char small[6];
    assert_int_equal(server_printable("ab\xc3\xbc\xc3\xbc", small, sizeof(small)), 4);
    assert_string_equal(small, "ab\xc3\xbc");
    assert_int_equal(server_printable("ab\x9b", small, sizeof(small)), 2);
    assert_string_equal(small, "ab");
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(text_of_any_language_stays),
    cmocka_unit_test(control_characters_are_escaped),
    cmocka_unit_test(bytes_that_are_no_text_are_escaped),
    cmocka_unit_test(what_does_not_fit_is_cut_between_characters),
};

CASE_MAIN(cases, NULL, NULL)
