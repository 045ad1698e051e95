#include "api/json/writer.h"
#include "tests/lib/case.h"

#include <string.h>

static char buffer[512];
static struct api_writer writer;

static void begin(void)
{
    api_writer_init(&writer, buffer, sizeof(buffer));
}

static void assert_wrote(const char *want)
{
    assert_int_equal(writer.len, strlen(want));
    assert_memory_equal(buffer, want, writer.len);
}

static void members_are_separated_by_commas(void **state)
{
    begin();
    api_write_object(&writer, NULL);
    api_write_string(&writer, "resource", "orders/42");
    api_write_integer(&writer, "token", 34);
    api_write_bool(&writer, "held", true);
    api_write_bool(&writer, "released", false);
    api_write_null(&writer, "owner");
    api_write_end(&writer);
    assert_wrote("{\"resource\":\"orders/42\",\"token\":34,\"held\":true,\"released\":false,"
                 "\"owner\":null}");
}

static void objects_and_arrays_nest(void **state)
{
    begin();
    api_write_object(&writer, NULL);
    api_write_array(&writer, "masters");
    api_write_object(&writer, NULL);
    api_write_end(&writer);
    api_write_string(&writer, NULL, "down");
    api_write_end(&writer);
    api_write_integer(&writer, "n", 5);
    api_write_end(&writer);
    assert_wrote("{\"masters\":[{},\"down\"],\"n\":5}");
}

static void integers_of_every_size_are_written(void **state)
{
    begin();
    api_write_array(&writer, NULL);
    api_write_integer(&writer, NULL, INT64_MAX);
    api_write_integer(&writer, NULL, INT64_MIN);
    api_write_end(&writer);
    assert_wrote("[9223372036854775807,-9223372036854775808]");
}

static void quotes_and_control_characters_are_escaped(void **state)
{
    begin();
    api_write_string(&writer, NULL, "a\"b\\c\nd\x01\x7f/");
    assert_wrote("\"a\\\"b\\\\c\\u000ad\\u0001\\u007f/\"");
}

static void utf8_is_written_as_it_is(void **state)
{
    begin();
    api_write_string(&writer, NULL, "\xe2\x82\xac");
    assert_wrote("\"\xe2\x82\xac\"");
}

static void what_is_not_utf8_becomes_a_replacement_character(void **state)
{
    begin();
    api_write_string(&writer, NULL, "a\xff\xe2\x82");
    assert_wrote("\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void absent_text_is_null(void **state)
{
    begin();
    api_write_string(&writer, NULL, NULL);
    assert_wrote("null");
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(members_are_separated_by_commas),
    cmocka_unit_test(objects_and_arrays_nest),
    cmocka_unit_test(integers_of_every_size_are_written),
    cmocka_unit_test(quotes_and_control_characters_are_escaped),
    cmocka_unit_test(utf8_is_written_as_it_is),
    cmocka_unit_test(what_is_not_utf8_becomes_a_replacement_character),
    cmocka_unit_test(absent_text_is_null),
};

CASE_MAIN(cases, NULL, NULL)
