#include "fence/protocol/lock_id.h"
#include "storage/redis/scan.h"
#include "tests/lib/case.h"

#include <string.h>

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaa"

static redisReply string(const char *text)
{
    return (redisReply){
        .type = REDIS_REPLY_STRING, .str = (char *)(uintptr_t)text, .len = strlen(text)};
}

static void name_is_what_follows_the_prefix_of_locks(void **state)
{
    const redisReply key = string("pawl:lock:b/1");
    assert_string_equal(storage_scan_name(&key), "b/1");
}

static void keys_that_are_no_locks_have_no_name(void **state)
{
    static const char *const keys[] = {
        "pawl:lock:", "pawl:lock:a b", "pawl:lock:a//b", "pawl:wait:a", "a", ""};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const redisReply key = string(keys[i]);
        assert_null(storage_scan_name(&key));
    }
    const redisReply number = {.type = REDIS_REPLY_INTEGER, .integer = 1};
    assert_null(storage_scan_name(&number));
}

static void holder_is_known_by_the_lock_id(void **state)
{
    static const char *const values[] = {
        ID_A ".0000000000000001:1:0:x",
        ID_A ".*:7:3:x",
        "@1795333883000@001@" ID_A ".0000000000000001:1:0:x",
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        const redisReply value = string(values[i]);
        assert_true(storage_scan_holder(&value) == fence_lock_id_hash(ID_A));
    }
}

static void nothing_and_strange_values_are_nobodys(void **state)
{
    const redisReply none = {.type = REDIS_REPLY_NIL};
    const redisReply empty = string("");
    const redisReply no_id = string(":1:0:x");
    assert_true(storage_scan_holder(&none) == 0);
    assert_true(storage_scan_holder(&empty) == 0);
    assert_true(storage_scan_holder(&no_id) == 0);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(name_is_what_follows_the_prefix_of_locks),
    cmocka_unit_test(keys_that_are_no_locks_have_no_name),
    cmocka_unit_test(holder_is_known_by_the_lock_id),
    cmocka_unit_test(nothing_and_strange_values_are_nobodys),
};

CASE_MAIN(cases, NULL, NULL)
