#include "api/http/query.h"
#include "tests/lib/case.h"

#include <stdbool.h>
#include <string.h>

enum {
    WORD_MAX = 8,
};

static int64_t number;
static char word[WORD_MAX + 1];
static const struct api_query_param params[] = {
    {"number", API_QUERY_INTEGER, 0, 1000, &number, NULL},
    {"word", API_QUERY_TEXT, 1, WORD_MAX, NULL, word},
};
static struct api_query query;
static char reason[API_QUERY_ERROR_MAX];

static int setup(void **state)
{
    query = (struct api_query){.params = params, .count = 2};
    number = -7;
    strcpy(word, "unset");
    return 0;
}

static void assert_taken(const char *name, const char *value)
{
    reason[0] = '\0';
    if (api_query_take(&query, name, value, reason) != 0)
        fail_msg("%s=%s was refused: %s", name, value, reason);
}

static void assert_refused(const char *name, const char *value, const char *why)
{
    query.seen = 0;
    assert_int_equal(api_query_take(&query, name, value, reason), FENCE_EINVAL);
    if (strstr(reason, why) == NULL)
        fail_msg("\"%s\" does not speak of \"%s\"", reason, why);
}

static void parameters_reach_their_targets_in_any_order(void **state)
{
    assert_taken("word", "abc");
    assert_taken("number", "12");
    assert_string_equal(word, "abc");
    assert_int_equal(number, 12);
}

static void absent_parameter_leaves_its_target(void **state)
{
    assert_taken("word", "abc");
    assert_int_equal(number, -7);
}

static void value_is_decoded_once(void **state)
{
    assert_taken("word", "%61%2fb%252F");
    assert_string_equal(word, "a/b%2F");
    assert_taken("number", "%31%32");
    assert_int_equal(number, 12);
}

static void length_is_that_of_the_decoded_text(void **state)
{
    assert_taken("word", "%41%41%41%41%41%41%41%41");
    assert_refused("word", "123456789", "has 9 bytes. It must have from 1 to 8");
    assert_refused("word", "", "has 0 bytes");
}

static void number_is_plain_digits_within_its_bounds(void **state)
{
    static const char *const bad[] = {"",    "-1",  "+1",  "01",   "00",
                                      "1.0", "1e2", "0x1", "1001", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_refused("number", bad[i],
                       "number must be a whole number from 0 to 1000, in plain decimal digits.");
    query.seen = 0;
    assert_taken("number", "0");
    query.seen = 0;
    assert_taken("number", "1000");
}

static void unknown_parameter_is_refused_by_name(void **state)
{
    assert_refused("limit", "1", "takes no query parameter \"limit\"");
    assert_refused("Number", "1", "\"Number\"");
    assert_refused("wor%64", "1", "\"wor%64\"");
    assert_refused("", "1", "\"\"");
}

static void parameter_that_comes_twice_is_refused(void **state)
{
    assert_taken("number", "1");
    assert_int_equal(api_query_take(&query, "number", "1", reason), FENCE_EINVAL);
    assert_non_null(strstr(reason, "number only once"));
}

static void parameter_without_a_value_is_refused(void **state)
{
    assert_refused("word", NULL, "word has no value");
}

static void bad_encoding_is_refused(void **state)
{
    assert_refused("word", "%", "word has a percent sign");
    assert_refused("word", "%g1", "percent sign");
    assert_refused("word", "a%00", "%00");
    assert_refused("word", "a b", "'+'");
    assert_refused("word", "%ff", "UTF-8");
}

static void value_of_any_length_is_refused_with_its_name(void **state)
{
    char huge[8192];
    memset(huge, 'x', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    assert_refused("word", huge, "word is too long");
    assert_refused(huge, "x", "no query parameter");
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static const struct CMUnitTest cases[] = {
    CASE(parameters_reach_their_targets_in_any_order),
    CASE(absent_parameter_leaves_its_target),
    CASE(value_is_decoded_once),
    CASE(length_is_that_of_the_decoded_text),
    CASE(number_is_plain_digits_within_its_bounds),
    CASE(unknown_parameter_is_refused_by_name),
    CASE(parameter_that_comes_twice_is_refused),
    CASE(parameter_without_a_value_is_refused),
    CASE(bad_encoding_is_refused),
    CASE(value_of_any_length_is_refused_with_its_name),
};

CASE_MAIN(cases, NULL, NULL)
