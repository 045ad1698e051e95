#include "fence/listing/names.h"
#include "tests/lib/case.h"

#include <string.h>

enum {
    ROOM = 64,
};

static struct fence_lock_name name[ROOM];
static struct fence_listing_holders holder[ROOM];
static struct fence_listing_names names;

/* As from a scan that found these. */
static void take(const char *const found[], size_t count)
{
    const struct fence_found scanned = {.part = FENCE_PART_GRANTED, .count = count, .names = found};
    assert_true(count <= ROOM);
    memset(holder, 0xff, sizeof(holder));
    names = (struct fence_listing_names){.name = name, .holder = holder};
    assert_int_equal(fence_listing_names_take(&names, &scanned), 0);
}

/* The names that are there, "" behind the last. */
static void assert_names(const char *const want[])
{
    size_t i = 0;
    for (; want[i][0] != '\0'; i++) {
        assert_true(i < names.count);
        assert_string_equal(names.name[i].text, want[i]);
    }
    assert_int_equal(names.count, i);
}

static void names_come_in_their_order_each_once(void **state)
{
    static const char *const found[] = {"c", "a", "c", "b/1", "a"};
    take(found, 5);
    assert_names((const char *const[]){"a", "b/1", "c", ""});
}

static void keys_that_are_no_locks_are_passed_over(void **state)
{
    static const char *const found[] = {NULL, NULL, "x", NULL};
    take(found, 4);
    assert_names((const char *const[]){"x", ""});
}

/* In each of many orders. */
static void any_order_becomes_the_same(void **state)
{
    static const char *const sorted[] = {"a", "aa", "b", "b/1", "c", "d", "e", ""};
    enum {
        COUNT = 7,
    };
    for (unsigned step = 1; step < COUNT; step++) {
        const char *found[COUNT];
        for (unsigned k = 0; k < COUNT; k++)
            found[k] = sorted[(k * step + step) % COUNT];
        take(found, COUNT);
        assert_names(sorted);
    }
}

static void names_are_nobodys_at_first(void **state)
{
    static const char *const found[] = {"a", NULL, "b"};
    take(found, 3);
    assert_true(names.holder[0].on[0] == 0 && names.holder[1].on[FENCE_MASTERS_MAX - 1] == 0);
}

static void more_than_a_step_can_find_is_refused(void **state)
{
    const struct fence_found scanned = {.count = FENCE_LISTING_NAMES_MAX + 1};
    names = (struct fence_listing_names){.name = name, .holder = holder};
    assert_int_equal(fence_listing_names_take(&names, &scanned), FENCE_EIO);
}

static const char *const letters[] = {"a", "b", "c", "d"};

static void drop_through_drops_up_to_the_name_and_it(void **state)
{
    take(letters, 4);
    fence_listing_names_drop_through(&names, "bb");
    assert_names((const char *const[]){"c", "d", ""});
    fence_listing_names_drop_through(&names, "c");
    assert_names((const char *const[]){"d", ""});
    fence_listing_names_drop_through(&names, "x");
    assert_int_equal(names.count, 0);
}

static void name_is_known_where_a_master_walked_before_names_the_same_holder(void **state)
{
    enum {
        WALKING = 2
    };
    take(letters, 4);
    names.holder[0].on[WALKING] = 7; /* a: the same */
    names.holder[0].on[0] = 7;
    names.holder[1].on[WALKING] = 7; /* b: somebody else's remains */
    names.holder[1].on[0] = 8;
    names.holder[2].on[WALKING] = 7; /* c: the same, but that one was not walked */
    names.holder[2].on[1] = 7;
    fence_listing_names_drop_known(&names, 1 << 0, WALKING); /* d: no holder any more */
    assert_names((const char *const[]){"b", "c", "d", ""});
    assert_int_equal(names.holder[0].on[0], 8); /* they move with their names */
    assert_int_equal(names.holder[1].on[1], 7);
    fence_listing_names_drop_known(&names, 1 << 0 | 1 << 1, WALKING);
    assert_names((const char *const[]){"b", "d", ""});
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(names_come_in_their_order_each_once),
    cmocka_unit_test(keys_that_are_no_locks_are_passed_over),
    cmocka_unit_test(any_order_becomes_the_same),
    cmocka_unit_test(names_are_nobodys_at_first),
    cmocka_unit_test(more_than_a_step_can_find_is_refused),
    cmocka_unit_test(drop_through_drops_up_to_the_name_and_it),
    cmocka_unit_test(name_is_known_where_a_master_walked_before_names_the_same_holder),
};

CASE_MAIN(cases, NULL, NULL)
