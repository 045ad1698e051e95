#include "server/system/log_line.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

static const struct timespec when = {.tv_sec = 1763640245, .tv_nsec = 123999999};
static char line[SERVER_LOG_JSON_MAX];

/* The line that becomes of @text, terminated. */
static const char *line_of(enum server_log_form form, enum server_log_level level, const char *text)
{
    const size_t len = server_log_line(form, level, &when, "pawld", text, line);
    assert_in_range(len, 1, SERVER_LOG_JSON_MAX - 1);
    line[len] = '\0';
    assert_ptr_equal(strchr(line, '\n'), line + len - 1); /* the only one */
    return line;
}

static void plain_line_has_time_level_and_program(void **state)
{
    assert_string_equal(line_of(SERVER_LOG_PLAIN, SERVER_LOG_INFO, "listening"),
                        "2025-11-20T12:04:05.123Z info pawld: listening\n");
    assert_string_equal(line_of(SERVER_LOG_PLAIN, SERVER_LOG_DEBUG, "a\nb"),
                        "2025-11-20T12:04:05.123Z debug pawld: a\\x0ab\n");
}

static void json_line_has_stable_members(void **state)
{
#define HEAD "{\"time\":\"2025-11-20T12:04:05.123Z\",\"level\":\"warning\",\"program\":\"pawld\","
    assert_string_equal(line_of(SERVER_LOG_JSON, SERVER_LOG_WARNING, "stopping"),
                        HEAD "\"message\":\"stopping\"}\n");
    assert_string_equal(
        line_of(SERVER_LOG_JSON, SERVER_LOG_WARNING, "worker 2: master 1 (redis://a:1) votes"),
        HEAD "\"worker\":2,\"master\":1,\"message\":\"master 1 (redis://a:1) votes\"}\n");
    assert_string_equal(line_of(SERVER_LOG_JSON, SERVER_LOG_WARNING, "worker 2 does not end"),
                        HEAD "\"message\":\"worker 2 does not end\"}\n");
    assert_string_equal(line_of(SERVER_LOG_JSON, SERVER_LOG_WARNING, "master x ("),
                        HEAD "\"message\":\"master x (\"}\n");
}

static void json_line_is_json_whatever_the_text_is(void **state)
{
    assert_string_equal(line_of(SERVER_LOG_JSON, SERVER_LOG_WARNING, "\"\\\n\x1b\xff\xc2\x9b"),
                        HEAD "\"message\":\"\\\"\\\\\\u000a\\u001b\xef\xbf\xbd\\u009b\"}\n");
}

static void longest_lines_fit(void **state)
{
    static const char *const worst[] = {"\x01", "\"", "\xff", "a", "\xe2\x80\xa8"};
    char text[2 * SERVER_LOG_LINE_MAX];
    for (size_t i = 0; i < sizeof(worst) / sizeof(worst[0]); i++) {
        size_t len = 0;
        while (len + strlen(worst[i]) < sizeof(text)) {
            memcpy(text + len, worst[i], strlen(worst[i]));
            len += strlen(worst[i]);
        }
        text[len] = '\0';
        (void)line_of(SERVER_LOG_JSON, SERVER_LOG_ERROR, text);
        (void)line_of(SERVER_LOG_PLAIN, SERVER_LOG_ERROR, text);
        assert_in_range(strlen(line), 1, SERVER_LOG_LINE_MAX);
    }
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(plain_line_has_time_level_and_program),
    cmocka_unit_test(json_line_has_stable_members),
    cmocka_unit_test(json_line_is_json_whatever_the_text_is),
    cmocka_unit_test(longest_lines_fit),
};

CASE_MAIN(cases, NULL, NULL)
