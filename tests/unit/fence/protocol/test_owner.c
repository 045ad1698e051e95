#include "fence/protocol/owner.h"
#include "tests/lib/case.h"

#include <string.h>

static bool key_id(const char *id)
{
    return fence_key_id_valid(id, strlen(id));
}

static bool owner(const char *text)
{
    return fence_owner_valid(text, strlen(text));
}

static void key_id_is_4_to_16_characters(void **state)
{
    assert_false(key_id(""));
    assert_false(key_id("abc"));
    assert_true(key_id("abcd"));
    assert_true(key_id("0123456789abcdef"));
    assert_false(key_id("0123456789abcdefg"));
}

static void key_id_is_of_small_letters_digits_and_hyphens(void **state)
{
    assert_true(key_id("ci-deploy-2"));
    assert_false(key_id("-deploy"));
    assert_false(key_id("Deploy"));
    assert_false(key_id("dep_loy"));
    assert_false(key_id("dep loy"));
    assert_false(key_id("dep\x1floy"));
    assert_false(fence_key_id_valid("dep\0oy", 6));
}

static void owner_without_a_key_is_a_label(void **state)
{
    assert_true(owner(""));
    assert_true(owner("worker 7"));
    assert_false(owner("a\nb"));
}

static void owner_may_end_with_the_id_of_a_key(void **state)
{
    assert_true(owner("worker 7\x1f"
                      "deploy"));
    assert_true(owner("\x1f"
                      "deploy"));
}

static void owner_has_at_most_one_key(void **state)
{
    assert_false(owner("w\x1f"));
    assert_false(owner("w\x1f"
                       "dep"));
    assert_false(owner("w\x1f"
                       "deploy\x1f"));
    assert_false(owner("w\x1f"
                       "deploy\x1f"
                       "deploy"));
    assert_false(owner("w\x1f"
                       "Deploy"));
    assert_false(owner("w\n\x1f"
                       "deploy"));
}

static void owner_may_have_a_delay(void **state)
{
    assert_true(owner("w\x1e"
                      "5000"));
    assert_true(owner("\x1e"
                      "86400000\x1f"
                      "deploy"));
    assert_false(owner("w\x1e"));
    assert_false(owner("w\x1e"
                       "0"));
    assert_false(owner("w\x1e"
                       "05"));
    assert_false(owner("w\x1e"
                       "-5"));
    assert_false(owner("w\x1e"
                       "86400001"));
    assert_false(owner("w\x1e"
                       "5\x1e"
                       "5"));
    assert_false(owner("w\x1f"
                       "deploy\x1e"
                       "5"));
}

static void delay_of_an_owner_is_read(void **state)
{
    assert_int_equal(fence_owner_delay_ms(""), 0);
    assert_int_equal(fence_owner_delay_ms("w"), 0);
    assert_int_equal(fence_owner_delay_ms("w\x1f"
                                          "deploy"),
                     0);
    assert_int_equal(fence_owner_delay_ms("w\x1e"
                                          "5000\x1f"
                                          "deploy"),
                     5000);
    assert_int_equal(fence_owner_delay_ms("\x1e"
                                          "7"),
                     7);
    assert_int_equal(fence_owner_delay_ms("w\x1e"
                                          "5000\x1f"
                                          "Deploy"),
                     0);
}

static void owner_is_bounded_by_its_parts(void **state)
{
    char text[FENCE_OWNER_MAX + 2];
    memset(text, 'a', sizeof(text));
    text[0] = FENCE_WRITER_MARK;
    memcpy(text + 1 + FENCE_LABEL_MAX,
           "\x1e"
           "86400000\x1f",
           FENCE_DELAY_DIGITS + 2);
    assert_true(fence_owner_valid(text, FENCE_OWNER_MAX));
    assert_false(fence_owner_valid(text, FENCE_OWNER_MAX + 1));
    memset(text, 'a', sizeof(text));
    assert_true(fence_owner_valid(text, FENCE_LABEL_MAX));
    assert_false(fence_owner_valid(text, FENCE_LABEL_MAX + 1));
}

/* Joins the parts, and takes them apart again. */
static void expect_all_back(const char *label, uint32_t delay_ms, const char *id)
{
    char joined[FENCE_OWNER_MAX + 1], found[FENCE_OWNER_MAX + 1];
    fence_owner_join(label, delay_ms, id, joined);
    assert_true(owner(joined));
    assert_string_equal(fence_owner_split(joined, found), id);
    assert_string_equal(found, label);
    assert_int_equal(fence_owner_delay_ms(joined), delay_ms);
}

static void expect_both_back(const char *label, const char *id)
{
    expect_all_back(label, 0, id);
    expect_all_back(label, 1, id);
    expect_all_back(label, FENCE_TTL_CEILING_MS, id);
}

static void what_is_joined_is_split_again(void **state)
{
    char longest[FENCE_LABEL_MAX + 1];
    memset(longest, 'x', FENCE_LABEL_MAX);
    longest[FENCE_LABEL_MAX] = '\0';
    expect_both_back("", "");
    expect_both_back("worker 7", "");
    expect_both_back("", "deploy");
    expect_both_back("gr\xc3\xbc\xc3\x9f", "ci-deploy");
    expect_both_back(longest, "0123456789abcdef");
}

static void label_never_names_a_key(void **state)
{
    char joined[FENCE_OWNER_MAX + 1];
    fence_owner_join("worker\\x1fdeploy", 0, "", joined);
    char label[FENCE_OWNER_MAX + 1];
    assert_string_equal(fence_owner_split(joined, label), "");
}

static void mark_of_a_writer_is_no_part_of_the_label(void **state)
{
    char longest[FENCE_LABEL_MAX + 1], joined[FENCE_OWNER_MAX + 1], found[FENCE_OWNER_MAX + 1];
    memset(longest, 'x', FENCE_LABEL_MAX);
    longest[FENCE_LABEL_MAX] = '\0';
    fence_owner_join(longest, FENCE_TTL_CEILING_MS, "0123456789abcdef", joined);
    assert_false(fence_owner_writes(joined));
    fence_owner_mark_writer(joined);
    assert_true(fence_owner_writes(joined));
    assert_true(owner(joined));
    assert_string_equal(fence_owner_split(joined, found), "0123456789abcdef");
    assert_string_equal(found, longest);
    assert_int_equal(fence_owner_delay_ms(joined), FENCE_TTL_CEILING_MS);
    assert_false(owner("w\x1d"));
}

static void what_another_program_wrote_is_a_label(void **state)
{
    char label[FENCE_OWNER_MAX + 1];
    assert_string_equal(fence_owner_split("a\x1f"
                                          "b\x1f"
                                          "c",
                                          label),
                        "");
    assert_string_equal(label, "a\x1f"
                               "b\x1f"
                               "c");
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(key_id_is_4_to_16_characters),
    cmocka_unit_test(key_id_is_of_small_letters_digits_and_hyphens),
    cmocka_unit_test(owner_without_a_key_is_a_label),
    cmocka_unit_test(owner_may_end_with_the_id_of_a_key),
    cmocka_unit_test(owner_has_at_most_one_key),
    cmocka_unit_test(owner_may_have_a_delay),
    cmocka_unit_test(delay_of_an_owner_is_read),
    cmocka_unit_test(owner_is_bounded_by_its_parts),
    cmocka_unit_test(what_is_joined_is_split_again),
    cmocka_unit_test(label_never_names_a_key),
    cmocka_unit_test(mark_of_a_writer_is_no_part_of_the_label),
    cmocka_unit_test(what_another_program_wrote_is_a_label),
};

CASE_MAIN(cases, NULL, NULL)
