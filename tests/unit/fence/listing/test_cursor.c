#include "fence/listing/cursor.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

static const struct fence_listing_cursor some = {
    .walked = 1 << 0 | 1 << 3,
    .walking = 1,
    .process = 0xfedcba9876543210,
    .from = UINT64_MAX,
};

static const struct fence_listing_cursor split = {
    .walking = 4,
    .process = 1,
    .from = 0,
    .to = 7,
    .after = "a.b/c:d@e~f-g_h",
};

static const char *text_of(const struct fence_listing_cursor *cursor, const char *prefix)
{
    static char text[FENCE_LISTING_CURSOR_MAX];
    fence_listing_cursor_write(cursor, prefix, text);
    return text;
}

static void assert_comes_back(const struct fence_listing_cursor *cursor, const char *prefix)
{
    struct fence_listing_cursor read;
    memset(&read, 0xff, sizeof(read));
    assert_int_equal(
        fence_listing_cursor_read(text_of(cursor, prefix), cursor->kind, prefix, 5, &read), 0);
    assert_int_equal(read.walked, cursor->walked);
    assert_int_equal(read.walking, cursor->walking);
    assert_true(read.process == cursor->process);
    assert_true(read.from == cursor->from);
    assert_true(read.to == cursor->to);
    assert_string_equal(read.after, cursor->after);
}

static void assert_refused(const char *text, unsigned n)
{
    struct fence_listing_cursor read = {.from = 42};
    if (fence_listing_cursor_read(text, FENCE_LISTING_LOCKS, "p", n, &read) != FENCE_EINVAL)
        fail_msg("taken: %s", text);
    assert_int_equal(read.from, 42); /* untouched */
}

static void what_was_written_is_read(void **state)
{
    assert_comes_back(&some, "");
    assert_comes_back(&some, "orders/");
    assert_comes_back(&split, "");
}

static void longest_cursor_fits(void **state)
{
    struct fence_listing_cursor longest = some;
    longest.process = longest.to = UINT64_MAX;
    memset(longest.after, 'x', FENCE_RESOURCE_MAX);
    assert_comes_back(&longest, "x");
}

/* Clients keep cursors while servers are updated. */
static void text_is_what_it_always_was(void **state)
{
    assert_string_equal(text_of(&some, "p"),
                        "6114f60933d25a68.9.1.fedcba9876543210.ffffffffffffffff.0.");
    assert_string_equal(text_of(&split, "p"), "a2646e11661d4a24.0.4.1.0.7.a.b/c:d@e~f-g_h");
}

static void text_may_stand_in_a_query_as_it_is(void **state)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:@";
    const char *text = text_of(&split, "");
    assert_int_equal(strspn(text, plain), strlen(text));
}

static void cursor_of_another_prefix_is_refused(void **state)
{
    assert_refused(text_of(&some, ""), 5);
    assert_refused(text_of(&some, "P"), 5);
    assert_refused(text_of(&some, "pp"), 5);
    struct fence_listing_cursor counters = some;
    counters.kind = FENCE_LISTING_COUNTERS;
    assert_refused(text_of(&counters, "p"), 5);
}

static void any_other_byte_is_refused(void **state)
{
    char text[FENCE_LISTING_CURSOR_MAX];
    (void)snprintf(text, sizeof(text), "%s", text_of(&split, "p"));
    for (size_t i = 0; text[i] != '\0'; i++) {
        const char was = text[i];
        for (const char *other = "0f.- +x"; *other != '\0'; other++) {
            text[i] = *other;
            if (*other != was)
                assert_refused(text, 5);
        }
        text[i] = was;
    }
    for (size_t len = strlen(text); len > 0; len--) {
        text[len - 1] = '\0';
        assert_refused(text, 5);
    }
}

static void longer_text_is_refused(void **state)
{
    char text[FENCE_LISTING_CURSOR_MAX + 1];
    (void)snprintf(text, sizeof(text), "%sx", text_of(&some, "p"));
    assert_refused(text, 5);
    (void)snprintf(text, sizeof(text), "0%s", text_of(&some, "p"));
    assert_refused(text, 5);
}

static void what_is_no_cursor_is_refused(void **state)
{
    static const char *const texts[] = {
        "", ".", "......", "0", "%s%n", "null", "0000000000000000.0.0.0.0.0."};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_refused(texts[i], 5);
}

/* Well summed up, but not what a listing comes to: a larger fleet's, say. */
static void cursor_that_makes_no_sense_is_refused(void **state)
{
    struct fence_listing_cursor cursor = some;
    assert_refused(text_of(&some, "p"), 3); /* master 4 of 3 was walked */
    cursor.walking = 5;
    assert_refused(text_of(&cursor, "p"), 5);
    cursor.walking = 3; /* walked already */
    assert_refused(text_of(&cursor, "p"), 5);
    cursor = some;
    cursor.walked |= 1 << 2; /* enough of them: there is no next page */
    assert_refused(text_of(&cursor, "p"), 5);
    cursor = some;
    cursor.to = 1; /* to the state of no step */
    assert_refused(text_of(&cursor, "p"), 5);
    cursor = split;
    strcpy(cursor.after, "a//b"); /* no resource */
    assert_refused(text_of(&cursor, "p"), 5);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(what_was_written_is_read),
    cmocka_unit_test(longest_cursor_fits),
    cmocka_unit_test(text_is_what_it_always_was),
    cmocka_unit_test(text_may_stand_in_a_query_as_it_is),
    cmocka_unit_test(cursor_of_another_prefix_is_refused),
    cmocka_unit_test(any_other_byte_is_refused),
    cmocka_unit_test(longer_text_is_refused),
    cmocka_unit_test(what_is_no_cursor_is_refused),
    cmocka_unit_test(cursor_that_makes_no_sense_is_refused),
};

CASE_MAIN(cases, NULL, NULL)
