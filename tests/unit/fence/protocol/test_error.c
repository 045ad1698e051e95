#include "fence/protocol/error.h"
#include "tests/lib/case.h"

#include <string.h>

static void every_error_is_negative_and_distinct(void **state)
{
    static const int codes[] = {
#define CODE(name, code, text) name,
        FENCE_ERRORS(CODE)
#undef CODE
    };
    size_t count = sizeof(codes) / sizeof(codes[0]);
    for (size_t i = 0; i < count; i++) {
        assert_true(codes[i] < 0);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(codes[i], codes[j]);
    }
}

static void every_error_has_the_text_of_the_list(void **state)
{
#define TEXT(name, code, text) assert_string_equal(fence_strerror(name), text);
    FENCE_ERRORS(TEXT)
#undef TEXT
    assert_string_equal(fence_strerror(FENCE_OK), "success");
}

static void unknown_code_has_a_text_too(void **state)
{
    assert_string_equal(fence_strerror(1), "unknown error");
    assert_string_equal(fence_strerror(-1000), "unknown error");
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(every_error_is_negative_and_distinct),
    cmocka_unit_test(every_error_has_the_text_of_the_list),
    cmocka_unit_test(unknown_code_has_a_text_too),
};

CASE_MAIN(cases, NULL, NULL)
