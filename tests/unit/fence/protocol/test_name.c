#include "fence/protocol/limits.h"
#include "fence/protocol/name.h"
#include "tests/lib/case.h"

#include <stdlib.h>
#include <string.h>

static bool resource(const char *name)
{
    return fence_resource_valid(name, strlen(name));
}

static bool lock_id(const char *id)
{
    return fence_lock_id_valid(id, strlen(id));
}

static bool owner(const char *label)
{
    return fence_label_valid(label, strlen(label));
}

static unsigned slot(const char *name)
{
    return fence_slot(name, strlen(name));
}

/* Says yes to exactly the bytes of @allowed, by asking for a text of @len bytes with each in it. */
static void assert_alphabet(const char *allowed, size_t len, bool (*valid)(const char *, size_t))
{
    char *text = malloc(len);
    assert_non_null(text);
    for (int byte = 0; byte < 256; byte++) {
        memset(text, 'a', len);
        text[len / 2] = (char)byte;
        bool want = byte != 0 && strchr(allowed, byte) != NULL;
        if (valid(text, len) != want)
            fail_msg("byte 0x%02x should be %s", (unsigned)byte, want ? "allowed" : "refused");
    }
    free(text);
}

static void resource_reads_like_a_path(void **state)
{
    assert_true(resource("a"));
    assert_true(resource("orders/42"));
    assert_true(resource("tenant:7/db@eu-1/table_~x.y"));
}

static void resource_takes_these_bytes_and_no_others(void **state)
{
    assert_alphabet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~:@/-", 3,
                    fence_resource_valid);
}

static void resource_is_1_to_255_bytes(void **state)
{
    char name[FENCE_RESOURCE_MAX + 1];
    memset(name, 'a', sizeof(name));
    assert_false(fence_resource_valid(name, 0));
    assert_true(fence_resource_valid(name, 1));
    assert_true(fence_resource_valid(name, 255));
    assert_false(fence_resource_valid(name, 256));
}

static void resource_has_no_empty_segment(void **state)
{
    assert_false(resource("/"));
    assert_false(resource("/a"));
    assert_false(resource("a/"));
    assert_false(resource("a//b"));
}

static void resource_has_no_dot_segment(void **state)
{
    assert_false(resource("."));
    assert_false(resource(".."));
    assert_false(resource("./a"));
    assert_false(resource("a/."));
    assert_false(resource("a/../b"));
    assert_false(resource("a/.."));
}

static void resource_may_have_dots_beside_other_bytes(void **state)
{
    assert_true(resource("..."));
    assert_true(resource(".a"));
    assert_true(resource("a."));
    assert_true(resource("a/..b/c"));
}

static void lock_id_takes_base64url_and_no_other_bytes(void **state)
{
    assert_alphabet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
                    FENCE_LOCK_ID_MIN, fence_lock_id_valid);
}

static void lock_id_is_22_to_64_characters(void **state)
{
    char id[65];
    memset(id, 'a', sizeof(id));
    assert_false(fence_lock_id_valid(id, 0));
    assert_false(fence_lock_id_valid(id, 21));
    assert_true(fence_lock_id_valid(id, 22));
    assert_true(fence_lock_id_valid(id, FENCE_LOCK_ID_LEN));
    assert_true(fence_lock_id_valid(id, 64));
    assert_false(fence_lock_id_valid(id, 65));
}

static void lock_id_has_no_padding(void **state)
{
    assert_false(lock_id("AAAAAAAAAAAAAAAAAAAAAA=="));
}

static void owner_may_be_empty(void **state)
{
    assert_true(owner(""));
}

static void owner_is_at_most_128_bytes(void **state)
{
    char label[129];
    memset(label, 'a', sizeof(label));
    assert_true(fence_label_valid(label, 128));
    assert_false(fence_label_valid(label, 129));
}

static void owner_takes_utf8_of_every_length(void **state)
{
    assert_true(owner("worker 7"));
    assert_true(owner("\xc2\xa0"));
    assert_true(owner("gr\xc3\xbc\xc3\x9f"));
    assert_true(owner("\xe0\xa0\x80"));
    assert_true(owner("\xe2\x82\xac"));
    assert_true(owner("\xf0\x90\x80\x80"));
    assert_true(owner("\xf4\x8f\xbf\xbf"));
}

static void owner_has_no_control_characters(void **state)
{
    assert_false(fence_label_valid("a\0b", 3));
    assert_false(owner("a\nb"));
    assert_false(owner("\x1f"));
    assert_false(owner("\x7f"));
    assert_false(owner("\xc2\x80"));
    assert_false(owner("\xc2\x9f"));
}

static void owner_has_no_overlong_forms(void **state)
{
    assert_false(owner("\xc0\xaf"));
    assert_false(owner("\xc1\xbf"));
    assert_false(owner("\xe0\x9f\xbf"));
    assert_false(owner("\xf0\x8f\xbf\xbf"));
}

static void owner_has_no_surrogates(void **state)
{
    assert_true(owner("\xed\x9f\xbf"));
    assert_false(owner("\xed\xa0\x80"));
    assert_false(owner("\xed\xbf\xbf"));
    assert_true(owner("\xee\x80\x80"));
}

static void owner_ends_where_unicode_ends(void **state)
{
    assert_false(owner("\xf4\x90\x80\x80"));
    assert_false(owner("\xf5\x80\x80\x80"));
    assert_false(owner("\xff"));
}

static void owner_has_no_broken_sequence(void **state)
{
    assert_false(owner("\x80"));
    assert_false(owner("\xc3"));
    assert_false(owner("\xc3("));
    assert_false(owner("\xe2\x82("));
    /* Cut off by the length, whatever stands behind it. */
    assert_false(fence_label_valid("\xe2\x82\xac", 2));
}

static void slot_is_crc16_xmodem_of_the_name(void **state)
{
    /* The check value of CRC-16/XMODEM. It is below 16384, so the modulus leaves it. */
    assert_int_equal(slot("123456789"), 0x31c3);
    assert_int_equal(slot(""), 0);
}

static void slot_is_the_one_that_redis_cluster_names(void **state)
{
    /* As answered by CLUSTER KEYSLOT of a Redis 7.0. */
    assert_int_equal(slot("foo"), 12182);
    assert_int_equal(slot("orders/42"), 1029);
    assert_int_equal(slot("accounts/1"), 9362);
    assert_int_equal(slot("a:b@c~d.e_f-g/h"), 3819);
}

static void slot_is_below_16384(void **state)
{
    for (int byte = 0; byte < 256; byte++) {
        char name[] = {(char)byte, 'x', (char)~byte};
        assert_true(fence_slot(name, sizeof(name)) < FENCE_SLOTS);
    }
}

static void hash_depends_on_bytes_length_and_seed(void **state)
{
    unsigned long hash = fence_hash("orders/42", 9, 1);
    assert_true(hash == fence_hash("orders/42", 9, 1));
    assert_true(hash != fence_hash("orders/43", 9, 1));
    assert_true(hash != fence_hash("orders/42", 8, 1));
    assert_true(hash != fence_hash("orders/42", 9, 2));
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(resource_reads_like_a_path),
    cmocka_unit_test(resource_takes_these_bytes_and_no_others),
    cmocka_unit_test(resource_is_1_to_255_bytes),
    cmocka_unit_test(resource_has_no_empty_segment),
    cmocka_unit_test(resource_has_no_dot_segment),
    cmocka_unit_test(resource_may_have_dots_beside_other_bytes),
    cmocka_unit_test(lock_id_takes_base64url_and_no_other_bytes),
    cmocka_unit_test(lock_id_is_22_to_64_characters),
    cmocka_unit_test(lock_id_has_no_padding),
    cmocka_unit_test(owner_may_be_empty),
    cmocka_unit_test(owner_is_at_most_128_bytes),
    cmocka_unit_test(owner_takes_utf8_of_every_length),
    cmocka_unit_test(owner_has_no_control_characters),
    cmocka_unit_test(owner_has_no_overlong_forms),
    cmocka_unit_test(owner_has_no_surrogates),
    cmocka_unit_test(owner_ends_where_unicode_ends),
    cmocka_unit_test(owner_has_no_broken_sequence),
    cmocka_unit_test(slot_is_crc16_xmodem_of_the_name),
    cmocka_unit_test(slot_is_the_one_that_redis_cluster_names),
    cmocka_unit_test(slot_is_below_16384),
    cmocka_unit_test(hash_depends_on_bytes_length_and_seed),
};

CASE_MAIN(cases, NULL, NULL)
