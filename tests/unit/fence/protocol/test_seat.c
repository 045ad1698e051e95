#include "fence/protocol/limits.h"
#include "fence/protocol/name.h"
#include "fence/protocol/seat.h"
#include "tests/lib/case.h"

#include <string.h>

static bool is_seat(const char *lock, unsigned *ret_seat)
{
    return fence_seat_read(lock, strlen(lock), ret_seat);
}

static void seat_is_a_name_and_an_index_below_64(void **state)
{
    unsigned seat = 0;
    assert_true(is_seat("orders/42#0", &seat));
    assert_int_equal(seat, 0);
    assert_true(is_seat("a#63", &seat));
    assert_int_equal(seat, 63);
    static const char *const others[] = {"a",     "a#",   "#1",   "a#64",   "a#01",  "a#-1",
                                         "a#1#1", "a#1 ", "a/#1", "a//b#1", "a#100", "..#1"};
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(is_seat(others[i], NULL));
}

static void seat_is_no_name_that_a_user_may_give(void **state)
{
    assert_false(fence_resource_valid("a#1", 3));
    assert_true(fence_lock_name_valid("a#1", 3));
    assert_true(fence_lock_name_valid("a", 1));
    assert_false(fence_lock_name_valid("a#b", 3));
}

static void name_of_seats_is_at_most_251_bytes(void **state)
{
    char name[FENCE_RESOURCE_MAX + 1];
    memset(name, 'a', sizeof(name));
    assert_true(fence_seats_name_valid(name, 251));
    assert_false(fence_seats_name_valid(name, 252));
    name[251] = '\0';
    fence_seat_write(name, 63);
    assert_true(is_seat(name, NULL));
}

static void seats_of_a_name_have_its_counter(void **state)
{
    unsigned slot = fence_slot("orders/42", 9);
    assert_int_equal(fence_slot("orders/42#0", 11), slot);
    assert_int_equal(fence_slot("orders/42#63", 12), slot);
}

static void lock_becomes_another_seat_of_its_name(void **state)
{
    char lock[FENCE_RESOURCE_MAX + 1] = "a/b";
    fence_seat_write(lock, 10);
    assert_string_equal(lock, "a/b#10");
    fence_seat_write(lock, 2);
    assert_string_equal(lock, "a/b#2");
    assert_int_equal(fence_seat_name_len(lock, strlen(lock)), 3);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(seat_is_a_name_and_an_index_below_64),
    cmocka_unit_test(seat_is_no_name_that_a_user_may_give),
    cmocka_unit_test(name_of_seats_is_at_most_251_bytes),
    cmocka_unit_test(seats_of_a_name_have_its_counter),
    cmocka_unit_test(lock_becomes_another_seat_of_its_name),
};

CASE_MAIN(cases, NULL, NULL)
