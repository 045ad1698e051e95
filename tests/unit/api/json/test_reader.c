#include "api/json/reader.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

enum {
    LONG = 60000, /* bytes, nearly what a body may have */
};

/* The result of the last read(). */
static int64_t ttl_ms;
static char owner[8 + 1];
static char error[API_JSON_ERROR_MAX];

static const struct api_json_member members[] = {
    {.name = "ttl_ms", .type = API_JSON_INTEGER, .min = 100, .max = 5000, .integer = &ttl_ms},
    {.name = "owner", .type = API_JSON_STRING, .max = 8, .string = owner},
};

static int read_bytes(const char *text, size_t len)
{
    ttl_ms = 3000;
    (void)snprintf(owner, sizeof(owner), "default");
    error[0] = '\0';
    return api_json_read(text, len, members, 2, error);
}

static int read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

/* Refused, and the sentence has @word in it. */
static void assert_refused(const char *text, const char *word)
{
    assert_int_equal(read_text(text), FENCE_EINVAL);
    if (strstr(error, word) == NULL)
        fail_msg("%s: \"%s\" does not speak of \"%s\"", text, error, word);
}

static void members_reach_their_targets(void **state)
{
    assert_int_equal(read_text(" {\"owner\": \"w-7\", \"ttl_ms\": 200} "), 0);
    assert_int_equal(ttl_ms, 200);
    assert_string_equal(owner, "w-7");
}

static void empty_body_reads_as_an_empty_object(void **state)
{
    assert_int_equal(read_text(""), 0);
    assert_int_equal(read_text("{}"), 0);
}

static void absent_members_keep_their_defaults(void **state)
{
    assert_int_equal(read_text("{}"), 0);
    assert_int_equal(ttl_ms, 3000);
    assert_string_equal(owner, "default");
}

static void integers_keep_to_their_bounds(void **state)
{
    assert_int_equal(read_text("{\"ttl_ms\": 100}"), 0);
    assert_int_equal(read_text("{\"ttl_ms\": 5000}"), 0);
    assert_refused("{\"ttl_ms\": 99}", "ttl_ms is 99; it must be from 100 to 5000");
    assert_refused("{\"ttl_ms\": 5001}", "ttl_ms is 5001; it must be from 100 to 5000");
    assert_refused("{\"ttl_ms\": -9223372036854775808}", "ttl_ms");
}

static void numbers_beyond_64_bits_name_their_member(void **state)
{
    assert_refused("{\"owner\": \"a\", \"ttl_ms\": 99999999999999999999}", "ttl_ms");
}

static void numbers_beyond_a_double_name_their_member(void **state)
{
    assert_refused("{\"ttl_ms\": 1e400}", "ttl_ms is a number far out of range");
    assert_refused("{\"ttl_ms\":-1.5E+400,\"owner\":\"a\"}", "ttl_ms is a number far");
    assert_refused("{\"owner\": \"\xc3\xb6 1e400\", \"ttl_ms\": 1e309\n}",
                   "ttl_ms is a number far");
    assert_refused("{\"ttl_ms\": 99999999999999999999, \"owner\": 1e400}",
                   "ttl_ms is a number far");
}

/* The sentence says where it is. */
static void number_that_is_no_members_own_is_found_by_its_byte(void **state)
{
    assert_refused("{\"owner\": [1e400]}", "A number in the body is far out of range, at byte 16");
    assert_refused("{\"ttl_ms\": 1e400, \"owner\": 1e400}", "far out of range, at byte 16");
    assert_refused("1e400", "A number in the body is far out of range, at byte 5");
    assert_refused("{\"ttl_ms\": 1e400", "A number in the body is far out of range, at byte 16");
}

static void only_an_integer_is_an_integer(void **state)
{
    assert_refused("{\"ttl_ms\": 1000.0}", "ttl_ms must be an integer from 100 to 5000");
    assert_refused("{\"ttl_ms\": 1e3}", "ttl_ms must be an integer");
    assert_refused("{\"ttl_ms\": true}", "ttl_ms must be an integer");
    assert_refused("{\"ttl_ms\": null}", "ttl_ms must be an integer");
    assert_refused("{\"ttl_ms\": \"1000\"}", "ttl_ms must be an integer");
    assert_refused("{\"ttl_ms\": [1000]}", "ttl_ms must be an integer");
}

static void strings_keep_to_their_length_in_bytes(void **state)
{
    assert_int_equal(read_text("{\"owner\": \"12345678\"}"), 0);
    assert_string_equal(owner, "12345678");
    assert_refused("{\"owner\": \"123456789\"}", "owner has 9 bytes");
    assert_refused("{\"owner\": \"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\"}", "owner has 9 bytes");
    assert_refused("{\"owner\": 7}", "owner must be a string");
}

static void unknown_members_are_refused_by_name(void **state)
{
    assert_refused("{\"ttl\": 1000}", "unknown field \"ttl\"");
    assert_refused("{\"TTL_MS\": 1000}", "unknown field");
    assert_refused("{\"\": 1000}", "unknown field");
}

static void a_long_member_name_is_cut(void **state)
{
    char name[LONG + 1];
    char text[LONG + 16];
    memset(name, 'n', LONG);
    name[LONG] = '\0';
    (void)snprintf(text, sizeof(text), "{\"%s\":1}", name);
    assert_refused(text, "unknown field \"nnnn");
}

static void duplicate_members_are_refused(void **state)
{
    assert_refused("{\"ttl_ms\": 1000, \"ttl_ms\": 1000}",
                   "a duplicate field, at byte 25: duplicate");
}

static void required_members_are_missed(void **state)
{
    int64_t balance = 0;
    const struct api_json_member needed = {.name = "balance",
                                           .type = API_JSON_INTEGER,
                                           .required = true,
                                           .max = 9,
                                           .integer = &balance};
    assert_int_equal(api_json_read("{}", 2, &needed, 1, error), FENCE_EINVAL);
    assert_string_equal(error, "The body lacks the field balance.");
    assert_int_equal(api_json_read("{\"balance\":4}", 13, &needed, 1, error), 0);
    assert_int_equal(balance, 4);
}

static void the_top_level_is_an_object(void **state)
{
    assert_refused("[]", "must be a JSON object");
    assert_refused("null", "must be a JSON object");
    assert_refused("1000", "must be a JSON object");
    assert_refused("\"x\"", "must be a JSON object");
}

static void what_is_not_json_is_refused(void **state)
{
    assert_refused("{", "not valid JSON");
    assert_refused("{} {}", "not valid JSON");
    assert_refused("{'ttl_ms': 1000}", "not valid JSON");
    assert_refused("{\"ttl_ms\": 1000,}", "not valid JSON");
    assert_refused("{\"ttl_ms\": 0100}", "not valid JSON");
    assert_refused("\xef\xbb\xbf{}", "not valid JSON");
    assert_refused("   ", "not valid JSON");
}

static void strings_are_utf8_without_nul(void **state)
{
    assert_refused("{\"owner\": \"\xff\"}", "not valid JSON");
    assert_refused("{\"owner\": \"\xed\xa0\x80\"}", "not valid JSON");
    assert_refused("{\"owner\": \"\\ud800\"}", "not valid JSON");
    assert_refused("{\"owner\": \"a\\u0000b\"}", "NUL");
    assert_int_equal(read_bytes("{\"owner\": \"a\0b\"}", 16), FENCE_EINVAL);
}

static void deep_nesting_is_refused(void **state)
{
    char text[LONG + 1];
    memset(text, '[', LONG / 2);
    memset(text + LONG / 2, ']', LONG / 2);
    text[LONG] = '\0';
    assert_refused(text, "not valid JSON");
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(members_reach_their_targets),
    cmocka_unit_test(empty_body_reads_as_an_empty_object),
    cmocka_unit_test(absent_members_keep_their_defaults),
    cmocka_unit_test(integers_keep_to_their_bounds),
    cmocka_unit_test(numbers_beyond_64_bits_name_their_member),
    cmocka_unit_test(numbers_beyond_a_double_name_their_member),
    cmocka_unit_test(number_that_is_no_members_own_is_found_by_its_byte),
    cmocka_unit_test(only_an_integer_is_an_integer),
    cmocka_unit_test(strings_keep_to_their_length_in_bytes),
    cmocka_unit_test(unknown_members_are_refused_by_name),
    cmocka_unit_test(a_long_member_name_is_cut),
    cmocka_unit_test(duplicate_members_are_refused),
    cmocka_unit_test(required_members_are_missed),
    cmocka_unit_test(the_top_level_is_an_object),
    cmocka_unit_test(what_is_not_json_is_refused),
    cmocka_unit_test(strings_are_utf8_without_nul),
    cmocka_unit_test(deep_nesting_is_refused),
};

CASE_MAIN(cases, NULL, NULL)
