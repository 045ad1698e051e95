#include "fence/protocol/position.h"
#include "tests/lib/case.h"

#include <string.h>

enum {
    MEMBERS = 3,
};

static const struct fence_positions some = {{{10, 1}, {25, 2}, {30, FENCE_TOKEN_MAX}}};
static const char some_text[] = "10:1,25:2,30:9007199254740991";

static void fewer_writes_are_behind(void **state)
{
    assert_true(
        fence_position_is_behind((struct fence_position){5, 6}, (struct fence_position){5, 7}));
    assert_false(
        fence_position_is_behind((struct fence_position){5, 7}, (struct fence_position){5, 7}));
}

static void lower_incarnation_is_behind_whatever_was_written(void **state)
{
    assert_true(
        fence_position_is_behind((struct fence_position){4, 9}, (struct fence_position){5, 1}));
    assert_false(
        fence_position_is_behind((struct fence_position){5, 1}, (struct fence_position){4, 9}));
}

static void merge_raises_and_never_lowers(void **state)
{
    struct fence_positions known = some;
    const struct fence_positions heard = {{{10, 2}, {25, 1}, {31, 0}, {1, 1}}};
    fence_positions_merge(&known, &heard, MEMBERS);
    assert_int_equal(known.of[0].writes, 2);
    assert_int_equal(known.of[1].writes, 2);
    assert_int_equal(known.of[2].incarnation, 31);
    assert_int_equal(known.of[2].writes, 0);
    assert_int_equal(known.of[3].incarnation, 0); /* no member */
}

static void parse_reads_what_format_wrote(void **state)
{
    char text[FENCE_POSITIONS_TEXT_MAX];
    struct fence_positions read;
    fence_positions_format(&some, MEMBERS, text);
    assert_string_equal(text, some_text);
    assert_int_equal(fence_positions_parse(text, strlen(text), MEMBERS, &read), 0);
    assert_memory_equal(&read, &some, sizeof(read));
}

static void longest_positions_fit_their_text(void **state)
{
    char text[FENCE_POSITIONS_TEXT_MAX];
    struct fence_positions positions;
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        positions.of[i] = (struct fence_position){FENCE_TOKEN_MAX, FENCE_TOKEN_MAX};
    fence_positions_format(&positions, FENCE_MASTERS_MAX, text);
    assert_int_equal(strlen(text), FENCE_POSITIONS_TEXT_MAX - 1);
}

static void parse_refuses_what_format_does_not_write(void **state)
{
    static const char *const texts[] = {
        "",
        "10:1,25:2",
        "10:1,25:2,30:3,",
        "10:1,25:2,30:3,40:4",
        "10:1,25:2,30",
        "10,25,30",
        "a:1,25:2,30:3",
        "10:-1,25:2,30:3",
        "10:01,25:2,30:3",
        "10:1 ,25:2,30:3",
        "10:1,25:2,30:9007199254740992",
        "10:1:1,25:2,30:3",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct fence_positions read = some;
        assert_int_equal(fence_positions_parse(texts[i], strlen(texts[i]), MEMBERS, &read),
                         FENCE_EINVAL);
        assert_memory_equal(&read, &some, sizeof(read));
    }
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(fewer_writes_are_behind),
    cmocka_unit_test(lower_incarnation_is_behind_whatever_was_written),
    cmocka_unit_test(merge_raises_and_never_lowers),
    cmocka_unit_test(parse_reads_what_format_wrote),
    cmocka_unit_test(longest_positions_fit_their_text),
    cmocka_unit_test(parse_refuses_what_format_does_not_write),
};

CASE_MAIN(cases, NULL, NULL)
