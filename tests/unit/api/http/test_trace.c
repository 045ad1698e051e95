#include "api/http/trace.h"
#include "tests/lib/case.h"

#include <string.h>

#define TRACE_ID  "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT_ID "00f067aa0ba902b7"

static void traceparent_is_that_of_the_w3c(void **state)
{
    assert_true(api_trace_valid("00-" TRACE_ID "-" PARENT_ID "-01"));
    assert_true(api_trace_valid("cc-" TRACE_ID "-" PARENT_ID "-01-what-the-future-will-be-like"));
    static const char *const wrong[] = {
        "",
        "00",
        "00-" TRACE_ID "-" PARENT_ID "-0",
        "00-" TRACE_ID "-" PARENT_ID "-01-more",
        "00-" TRACE_ID "-" PARENT_ID "-0A",
        "00-" TRACE_ID "_" PARENT_ID "-01",
        "ff-" TRACE_ID "-" PARENT_ID "-01",
        "0x-" TRACE_ID "-" PARENT_ID "-01",
        "cc-" TRACE_ID "-" PARENT_ID "-01.more",
        "00-00000000000000000000000000000000-" PARENT_ID "-01",
        "00-" TRACE_ID "-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT_ID "-01",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (api_trace_valid(wrong[i]))
            fail_msg("%s is taken", wrong[i]);
}

static void request_id_is_printable_and_bounded(void **state)
{
    char longest[API_REQUEST_ID_MAX + 2];
    memset(longest, 'x', sizeof(longest));
    longest[API_REQUEST_ID_MAX] = '\0';
    assert_true(api_request_id_valid("a"));
    assert_true(api_request_id_valid("~!\"req-1"));
    assert_true(api_request_id_valid(longest));
    longest[API_REQUEST_ID_MAX] = 'x';
    longest[API_REQUEST_ID_MAX + 1] = '\0';
    assert_false(api_request_id_valid(longest));
    assert_false(api_request_id_valid(""));
    assert_false(api_request_id_valid("a b"));
    assert_false(api_request_id_valid("a\tb"));
    assert_false(api_request_id_valid("gr\xc3\xbc"));
    assert_false(api_request_id_valid("\x7f"));
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(traceparent_is_that_of_the_w3c),
    cmocka_unit_test(request_id_is_printable_and_bounded),
};

CASE_MAIN(cases, NULL, NULL)
