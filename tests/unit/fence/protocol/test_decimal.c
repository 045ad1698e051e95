#include "fence/protocol/decimal.h"
#include "tests/lib/case.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Writes @number into a buffer full of another character: no more than its digits may change. */
static void assert_decimal(uint64_t number)
{
    char expected[FENCE_DECIMAL_MAX + 2];
    int len = snprintf(expected, sizeof(expected), "%" PRIu64 "#", number) - 1;
    char text[sizeof(expected)];
    memset(text, '#', sizeof(text));
    assert_int_equal(fence_decimal(number, text), len);
    assert_memory_equal(text, expected, (size_t)len + 1);
}

static void every_length_is_written_and_nothing_beyond(void **state)
{
    assert_decimal(0);
    assert_decimal(UINT64_MAX);
    for (uint64_t power = 10; power < UINT64_MAX / 10; power *= 10) {
        assert_decimal(power - 1);
        assert_decimal(power);
        assert_decimal(power + 7);
    }
}

static void greatest_fits_its_bound(void **state)
{
    char text[FENCE_DECIMAL_MAX];
    assert_int_equal(fence_decimal(UINT64_MAX, text), FENCE_DECIMAL_MAX);
}

static void assert_read(const char *text, uint64_t number)
{
    uint64_t read = number + 1;
    assert_true(fence_decimal_read(text, strlen(text), UINT64_MAX, &read));
    assert_true(read == number);
}

static void assert_not_read(const char *text, uint64_t max)
{
    uint64_t untouched = 77;
    assert_false(fence_decimal_read(text, strlen(text), max, &untouched));
    assert_int_equal(untouched, 77);
}

static void plain_numbers_are_read(void **state)
{
    assert_read("0", 0);
    assert_read("7", 7);
    assert_read("1234567890", 1234567890);
    assert_read("18446744073709551615", UINT64_MAX);
}

static void whatever_strtoull_takes_beside_digits_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "-1",
        "+1",
        " 1",
        "1 ",
        "01",
        "00",
        "0x1",
        "1e3",
        "1.",
        "\n1",
        "1\n",
        "a",
        "18446744073709551616",
        "99999999999999999999",
        "100000000000000000000",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_not_read(wrong[i], UINT64_MAX);
}

static void number_above_its_bound_is_refused(void **state)
{
    uint64_t read = 0;
    assert_true(fence_decimal_read("65535", 5, 65535, &read));
    assert_not_read("65536", 65535);
    assert_not_read("1", 0);
}

static void only_the_bytes_named_are_read(void **state)
{
    uint64_t read = 0;
    assert_true(fence_decimal_read("123:4", 3, UINT64_MAX, &read));
    assert_int_equal(read, 123);
    assert_false(fence_decimal_read("12\0", 3, UINT64_MAX, &read));
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(every_length_is_written_and_nothing_beyond),
    cmocka_unit_test(greatest_fits_its_bound),
    cmocka_unit_test(plain_numbers_are_read),
    cmocka_unit_test(whatever_strtoull_takes_beside_digits_is_refused),
    cmocka_unit_test(number_above_its_bound_is_refused),
    cmocka_unit_test(only_the_bytes_named_are_read),
};

CASE_MAIN(cases, NULL, NULL)
