#include "api/http/path.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

static void assert_decodes(const char *target, const char *want)
{
    char path[256];
    const char *reason = NULL;
    (void)snprintf(path, sizeof(path), "%s", target);
    assert_int_equal(api_path_decode(path, &reason), 0);
    assert_string_equal(path, want);
}

static void assert_refused(const char *target, const char *why)
{
    char path[256];
    const char *reason = NULL;
    (void)snprintf(path, sizeof(path), "%s", target);
    assert_int_equal(api_path_decode(path, &reason), FENCE_EINVAL);
    assert_non_null(reason);
    if (strstr(reason, why) == NULL)
        fail_msg("\"%s\" does not speak of \"%s\"", reason, why);
}

static void plain_path_stays_as_it_is(void **state)
{
    assert_decodes("/", "/");
    assert_decodes("/v1/locks/a.b_c~d:e@f-g", "/v1/locks/a.b_c~d:e@f-g");
}

static void encoded_slash_equals_a_slash(void **state)
{
    assert_decodes("/v1/locks/a%2Fb%2fc", "/v1/locks/a/b/c");
}

static void path_is_decoded_once(void **state)
{
    assert_decodes("/a%252Fb", "/a%2Fb");
}

static void hex_digits_of_either_case_are_taken(void **state)
{
    assert_decodes("/%6a%6A%7E", "/jj~");
    assert_decodes("/%c3%BC", "/\xc3\xbc");
}

static void plus_is_a_plus(void **state)
{
    assert_decodes("/a+b", "/a+b");
}

static void percent_without_two_hex_digits_is_refused(void **state)
{
    assert_refused("/a%", "hex");
    assert_refused("/a%4", "hex");
    assert_refused("/a%zz", "hex");
    assert_refused("/a%4g", "hex");
    assert_refused("/a%%41", "hex");
}

static void encoded_nul_is_refused(void **state)
{
    assert_refused("/a%00b", "NUL");
    assert_refused("/%00", "NUL");
}

static void bare_space_and_control_characters_are_refused(void **state)
{
    assert_refused("/a b", "space");
    assert_refused("/a\tb", "control");
    assert_refused("/a\x7f", "control");
}

static void what_is_not_utf8_is_refused(void **state)
{
    assert_refused("/%ff", "UTF-8");
    assert_refused("/\xff", "UTF-8");
    assert_refused("/%c0%af", "UTF-8");
    assert_refused("/%ed%a0%80", "UTF-8");
}

static void path_starts_with_a_slash(void **state)
{
    assert_refused("", "absolute");
    assert_refused("*", "absolute");
    assert_refused("v1/locks", "absolute");
    assert_refused("%2Fv1", "absolute");
}

static void absolute_form_loses_its_authority(void **state)
{
    assert_decodes("http://example.org:7380/v1/locks/x", "/v1/locks/x");
    assert_decodes("HTTP://h/%41", "/A");
    assert_refused("http://example.org", "absolute");
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(plain_path_stays_as_it_is),
    cmocka_unit_test(encoded_slash_equals_a_slash),
    cmocka_unit_test(path_is_decoded_once),
    cmocka_unit_test(hex_digits_of_either_case_are_taken),
    cmocka_unit_test(plus_is_a_plus),
    cmocka_unit_test(percent_without_two_hex_digits_is_refused),
    cmocka_unit_test(encoded_nul_is_refused),
    cmocka_unit_test(bare_space_and_control_characters_are_refused),
    cmocka_unit_test(what_is_not_utf8_is_refused),
    cmocka_unit_test(path_starts_with_a_slash),
    cmocka_unit_test(absolute_form_loses_its_authority),
};

CASE_MAIN(cases, NULL, NULL)
