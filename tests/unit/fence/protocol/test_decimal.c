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
    (void)state;
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
    (void)state;
    char text[FENCE_DECIMAL_MAX];
    assert_int_equal(fence_decimal(UINT64_MAX, text), FENCE_DECIMAL_MAX);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(every_length_is_written_and_nothing_beyond),
    cmocka_unit_test(greatest_fits_its_bound),
};

CASE_MAIN(cases, NULL, NULL)
