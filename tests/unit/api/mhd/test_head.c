#include "api/mhd/head.h"
#include "tests/lib/case.h"

#include <string.h>

/* A head as libmicrohttpd leaves it: its texts, in the order in which they are shown, are at the
 * offsets that @texts name: the method, the target's, the version, then names and values in turn.
 */
struct reading {
    const char *bytes;
    size_t size;
    const char *words[4];
    const char *fields[4];
};

#define READ(text) .bytes = (text), .size = sizeof(text) - 1

static bool hides(const struct reading *reading)
{
    char bytes[256];
    assert_true(reading->size <= sizeof(bytes));
    memcpy(bytes, reading->bytes, reading->size);
    struct api_head head;
    const char *at = bytes;
    api_head_begin(&head, bytes, reading->size);
    for (int i = 0; i < 4 && reading->words[i] != NULL; i++) {
        at = memmem(at, (size_t)(bytes + reading->size - at), reading->words[i],
                    strlen(reading->words[i]) + 1);
        assert_non_null(at);
        api_head_word(&head, at);
    }
    for (int i = 0; i < 4 && reading->fields[i] != NULL; i += 2) {
        const char *name = memmem(at, (size_t)(bytes + reading->size - at), reading->fields[i],
                                  strlen(reading->fields[i]) + 1);
        assert_non_null(name);
        const char *value = name + strlen(name) + 1;
        value += strspn(value, " \t");
        assert_string_equal(value, reading->fields[i + 1]);
        api_head_field(&head, name, value);
        at = value;
    }
    return api_head_end(&head);
}

static void head_that_is_shown_whole_hides_nothing(void **state)
{
    assert_false(hides(&(struct reading){
        READ("GET\0/livez\0HTTP/1.1\0\0Host\0 h\0\0X\0\0\0\0\0"),
        .words = {"/livez", "HTTP/1.1"},
        .fields = {"Host", "h", "X", ""},
    }));
    assert_false(hides(&(struct reading){
        READ("GET\0 /a\0k\0v\0HTTP/1.1\0Host\0\th\0\0"), /* lines that LF alone ends */
        .words = {"/a", "k", "v", "HTTP/1.1"},
        .fields = {"Host", "h"},
    }));
}

static void value_of_a_parameter_may_be_missing(void **state)
{
    static const char bytes[] = "GET\0/a\0k\0HTTP/1.1\0\0\0";
    struct api_head head;
    api_head_begin(&head, bytes, sizeof(bytes));
    api_head_word(&head, bytes + 4);
    api_head_word(&head, bytes + 7);
    api_head_word(&head, NULL);
    api_head_word(&head, bytes + 9);
    assert_false(api_head_end(&head));
}

static void text_behind_a_nul_is_noticed(void **state)
{
    static const struct reading readings[] = {
        {READ("GET\0x\0/a\0HTTP/1.1\0\0Host\0 h\0\0\0\0"), .words = {"/a", "HTTP/1.1"},
         .fields = {"Host", "h"}},
        {READ("GET\0/a\0b\0HTTP/1.1\0\0Host\0 h\0\0\0\0"), .words = {"/a", "HTTP/1.1"},
         .fields = {"Host", "h"}},
        {READ("GET\0/a\0HTTP/1.1\0\0Host\0 h\0x\0\0Y\0 1\0\0\0\0"), .words = {"/a", "HTTP/1.1"},
         .fields = {"Host", "h", "Y", "1"}},
        {READ("GET\0/a\0HTTP/1.1\0\0Host\0 h\0\0\0Y\0 1\0\0\0\0"), /* and nothing but it */
         .words = {"/a", "HTTP/1.1"}, .fields = {"Host", "h", "Y", "1"}},
        {READ("GET\0/a\0HTTP/1.1\0\0Host\0 h\0x\0\0\0\0"), .words = {"/a", "HTTP/1.1"},
         .fields = {"Host", "h"}},
    };
    for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++)
        assert_true(hides(&readings[i]));
}

static void nuls_behind_the_last_value_are_noticed(void **state)
{
    assert_true(hides(&(struct reading){
        READ("GET\0/a\0HTTP/1.1\0\0Host\0 h\0\0\0\0\0"), /* one, and two line ends */
        .words = {"/a", "HTTP/1.1"},
        .fields = {"Host", "h"},
    }));
}

static void line_without_a_name_is_noticed(void **state)
{
    assert_true(hides(&(struct reading){
        READ("GET\0/a\0HTTP/1.1\0\0Host\0 h\0\0\0 x\0\0"),
        .words = {"/a", "HTTP/1.1"},
        .fields = {"Host", "h"},
    }));
}

static void name_that_stands_elsewhere_is_noticed(void **state)
{
    static const char bytes[] = "GET\0/a\0HTTP/1.1\0\0If-Match\0\0\0 \"99\"\0\0\0";
    static const char folded[] = "If-Match\"99\"";
    struct api_head head;
    api_head_begin(&head, bytes, sizeof(bytes));
    api_head_word(&head, bytes + 4);
    api_head_word(&head, bytes + 7);
    api_head_field(&head, folded, bytes + 26);
    assert_true(api_head_end(&head));
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(head_that_is_shown_whole_hides_nothing),
    cmocka_unit_test(value_of_a_parameter_may_be_missing),
    cmocka_unit_test(text_behind_a_nul_is_noticed),
    cmocka_unit_test(nuls_behind_the_last_value_are_noticed),
    cmocka_unit_test(line_without_a_name_is_noticed),
    cmocka_unit_test(name_that_stands_elsewhere_is_noticed),
};

CASE_MAIN(cases, NULL, NULL)
