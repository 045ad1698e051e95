#include "fence/protocol/predecessors.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

#define ID "0123456789abcdef0123456789abcdef0123456"

static struct fence_predecessors list_of(unsigned n)
{
    struct fence_predecessors list = {0};
    for (unsigned i = 0; i < n; i++) {
        char id[FENCE_ID_HEX_LEN + 1];
        snprintf(id, sizeof(id), ID "%u", i);
        fence_predecessors_add(&list, id);
    }
    return list;
}

static void fleet_is_listed_once(void **state)
{
    struct fence_predecessors list = list_of(2);
    const struct fence_predecessors more = list_of(3);
    fence_predecessors_merge(&list, &more);
    assert_int_equal(list.n, 3);
    assert_true(fence_predecessors_have(&list, ID "2"));
    assert_false(fence_predecessors_have(&list, ID "3"));
    assert_false(fence_predecessors_have(&list, ""));
}

static void latest_fleet_replaces_the_oldest(void **state)
{
    const struct fence_predecessors list = list_of(FENCE_PREDECESSORS_MAX + 1);
    assert_int_equal(list.n, FENCE_PREDECESSORS_MAX);
    assert_false(fence_predecessors_have(&list, ID "0"));
    assert_true(fence_predecessors_have(&list, ID "1"));
    assert_true(fence_predecessors_have(&list, ID "8"));
}

static void older_list_replaces_no_later_fleet(void **state)
{
    const struct fence_predecessors older = list_of(FENCE_PREDECESSORS_MAX);
    struct fence_predecessors list = list_of(FENCE_PREDECESSORS_MAX + 1);
    fence_predecessors_merge(&list, &older);
    assert_true(fence_predecessors_have(&list, ID "1"));
    assert_string_equal(list.id[FENCE_PREDECESSORS_MAX - 1], ID "8");
}

static void parse_reads_what_format_wrote(void **state)
{
    for (unsigned n = 1; n <= FENCE_PREDECESSORS_MAX; n++) {
        const struct fence_predecessors list = list_of(n);
        struct fence_predecessors read;
        char text[FENCE_PREDECESSORS_TEXT_MAX];
        fence_predecessors_format(&list, text);
        assert_int_equal(strlen(text), n * (FENCE_ID_HEX_LEN + 1) - 1);
        assert_int_equal(fence_predecessors_parse(text, strlen(text), &read), 0);
        assert_memory_equal(&read, &list, sizeof(read));
    }
}

static void parse_refuses_anything_else(void **state)
{
    static const char *const texts[] = {"",     ",",     "a,",         ",a",
                                        "a,,b", ID "00", "a," ID "00", "1,2,3,4,5,6,7,8,9"};
    struct fence_predecessors read = {0};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(fence_predecessors_parse(texts[i], strlen(texts[i]), &read), FENCE_EINVAL);
    assert_int_equal(fence_predecessors_parse("a\0b", 3, &read), FENCE_EINVAL);
    assert_int_equal(read.n, 0);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(fleet_is_listed_once),
    cmocka_unit_test(latest_fleet_replaces_the_oldest),
    cmocka_unit_test(older_list_replaces_no_later_fleet),
    cmocka_unit_test(parse_reads_what_format_wrote),
    cmocka_unit_test(parse_refuses_anything_else),
};

CASE_MAIN(cases, NULL, NULL)
