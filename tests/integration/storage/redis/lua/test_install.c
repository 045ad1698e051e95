/* A master that rejoins merges what others hold, on a real Redis: what becomes of a lock and
 * of a counter. Pages are made here, as read.lua makes them. */
#include "tests/integration/storage/redis/lua/script_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define A   "aaaaaaaaaaaaaaaaaaaaaa"
#define B   "bbbbbbbbbbbbbbbbbbbbbb"
#define KEY "pawl:lock:name"

enum {
    FIRST = 0, /* masters that pages are of; the second rejoins */
    THIRD = 2,
    MINUTE_MS = 60000,
    TWO_MINUTES_MS = 120000,
};

/* A page as MessagePack: strings, and integers where one begins with '#'. */
static struct fence_page page_of(const char *const items[])
{
    static char bytes[4096];
    size_t len = 3;
    uint16_t n = 0;
    for (; items[n]; n++) {
        const char *item = items[n];
        size_t item_len = strlen(item);
        if (item[0] == '#') {
            int64_t value = strtoll(item + 1, NULL, 10);
            bytes[len++] = (char)0xd3;
            for (int shift = 56; shift >= 0; shift -= 8)
                bytes[len++] = (char)((uint64_t)value >> shift);
            continue;
        }
        bytes[len++] = (char)0xda;
        bytes[len++] = (char)(item_len >> 8);
        bytes[len++] = (char)item_len;
        for (size_t i = 0; i < item_len; i++)
            bytes[len++] = item[i];
    }
    bytes[0] = (char)0xdc;
    bytes[1] = (char)(n >> 8);
    bytes[2] = (char)n;
    return (struct fence_page){.bytes = bytes, .len = len};
}

/* As the next step. */
static enum fence_rejoin_outcome install(unsigned source, const char *const items[])
{
    const struct fence_page page = page_of(items);
    const struct fence_rejoin_request request = {
        .step = FENCE_REJOIN_INSTALL, .page = &page, .source = source, .steps = script_progress()};
    return script_step(request, SCRIPT_ME).outcome;
}

/* The lock KEY, as master @source has it: from "" where it gave the number, or of the masters of
 * that set. */
static void merge_all(unsigned source, const char *lock, const char *from, long long left_ms)
{
    char left[24];
    snprintf(left, sizeof(left), "#%lld", left_ms);
    const char *const items[] = {"locks", KEY, lock, from, left, NULL};
    assert_int_equal(install(source, items), FENCE_REJOIN_DONE);
}

static void merge_for(unsigned source, const char *lock, long long left_ms)
{
    merge_all(source, lock, "", left_ms);
}

static void merge_from(unsigned source, const char *lock, const char *from)
{
    merge_all(source, lock, from, MINUTE_MS);
}

static void merge(unsigned source, const char *lock)
{
    merge_for(source, lock, MINUTE_MS);
}

static void assert_lock(const char *expected)
{
    script_assert_imported(KEY, expected);
}

static long long remaining_ms(void)
{
    return script_imported_left_ms(KEY);
}

static int start_joining(void **state)
{
    int error = script_start(state);
    if (!error)
        script_mark_joining("no");
    return error;
}

static void free_name_gets_the_lock_with_a_bit_for_its_master(void **state)
{
    merge(THIRD, A ".7:5:2::worker: 1");
    assert_lock("004@" A ".7:5:2::worker: 1");
}

static void lease_is_what_was_read_and_a_millisecond(void **state)
{
    long long before_ms = script_now_ms();
    merge_for(THIRD, A ".7:5:2::", MINUTE_MS);
    long long after_ms = script_now_ms();
    assert_in_range(script_imported_expiry_ms(KEY), before_ms + MINUTE_MS + 1,
                    after_ms + MINUTE_MS + 1);
}

static void of_one_id_the_highest_number_counts(void **state)
{
    merge(FIRST, A ".7:5:0::me");
    merge(THIRD, A ".7:100000000000001:0::me");
    assert_lock("005@" A ".7:100000000000001:0::me");
    merge(FIRST, A ".7:6:0::me");
    assert_lock("005@" A ".7:100000000000001:0::me");
}

static void of_one_id_the_most_extensions_count(void **state)
{
    merge(FIRST, A ".*:5:9::");
    merge(THIRD, A ".*:5:10::");
    merge(FIRST, A ".*:5:2::");
    assert_lock("005@" A ".*:5:10::");
}

/* It counted nowhere but where it came from: one step more does not make it count. */
static void imported_lock_of_less_than_a_majority_brings_no_bit(void **state)
{
    merge_from(FIRST, A ".7:5:0::", "2");
    assert_lock("000@" A ".7:5:0::");
    merge(THIRD, A ".7:5:0::");
    assert_lock("004@" A ".7:5:0::");
    merge_from(FIRST, A ".7:5:0::", "0");
    assert_lock("004@" A ".7:5:0::");
}

static void imported_lock_of_a_majority_brings_a_bit(void **state)
{
    merge_from(FIRST, A ".7:5:0::", "6");
    assert_lock("001@" A ".7:5:0::");
    merge_from(THIRD, A ".7:5:0::", "3");
    assert_lock("005@" A ".7:5:0::");
}

static void id_that_begins_like_another_is_another(void **state)
{
    merge(FIRST, A ".7:5:0::");
    merge(THIRD, A "a.7:5:0::");
    assert_lock("005@~:0:0::");
}

static void lock_beside_a_tombstone_is_one(void **state)
{
    merge_from(FIRST, "~:0:0::", "0");
    merge(THIRD, A ".7:5:0::");
    assert_lock("004@~:0:0::");
    script_redis("DEL " KEY);
    merge(THIRD, A ".7:5:0::");
    merge_all(FIRST, "~:0:0::", "0", TWO_MINUTES_MS);
    assert_lock("004@~:0:0::");
    assert_in_range(remaining_ms(), MINUTE_MS + 2, TWO_MINUTES_MS + 1);
    merge(THIRD, A ".7:5:0::");
    merge_from(FIRST, "~:0:0::", "0");
    assert_lock("004@~:0:0::");
}

static const char one_attempt[] = A ".7:5:0::me";
static const char other_attempt[] = A ".8:6:3::me";
static const char second_key[] = KEY "2";
static const char second_lock[] = A ".1:3:0::";
static const char *const page_one[] = {"locks",    KEY,         one_attempt, "",       "#60000",
                                       second_key, second_lock, "",          "#30000", NULL};
static const char *const page_two[] = {"locks", KEY, other_attempt, "6", "#90000", NULL};
static const char *const page_three[] = {"locks", KEY "2",      B ".1:3:0::", "",       "#80000",
                                         KEY "3", B ".1:3:0::", "",           "#80000", NULL};
static const char *const page_four[] = {"counters", "70", "1", "5", "2", "4503599627370497", NULL};
static const char *const page_five[] = {"counters", "60", "1", "6", "3", "1", NULL};

/* Pages may come in any order, and twice. */
static void any_order_of_pages_and_any_copies_give_the_same(void **state)
{
    static const char *const *const pages[] = {page_one, page_two, page_three, page_four,
                                               page_five};
    static const unsigned source[] = {FIRST, THIRD, THIRD, FIRST, THIRD};
    static const unsigned orders[][10] = {
        {0, 1, 2, 3, 4, 4, 3, 2, 1, 0},
        {4, 3, 2, 1, 0, 0, 0, 0, 0, 0},
        {2, 0, 4, 1, 3, 0, 2, 1, 4, 3},
        {1, 1, 0, 0, 4, 4, 2, 2, 3, 3},
    };
    for (size_t k = 0; k < sizeof(orders) / sizeof(orders[0]); k++) {
        script_redis("FLUSHALL");
        script_mark_joining("no");
        for (size_t i = 0; i < 10; i++)
            assert_int_equal(install(source[orders[k][i]], pages[orders[k][i]]), FENCE_REJOIN_DONE);
        assert_lock("005@" A ".*:6:3::me");
        assert_in_range(remaining_ms(), MINUTE_MS + 2, 90001);
        script_assert_imported(KEY "2", "005@~:0:0::");
        script_assert_imported(KEY "3", "004@" B ".1:3:0::");
        script_assert_field("1", "6");
        script_assert_field("2", "4503599627370497");
        script_assert_field("3", "1");
        script_assert_field("floor", "70");
    }
}

/* SCAN may name a key twice. It was read in one step, so it is the same lock. */
static void key_that_is_twice_in_a_page_is_one_lock(void **state)
{
    static const char lock[] = A ".7:5:0::";
    static const char *const twice[] = {"locks", KEY,  lock, "",       "#60000",
                                        KEY,     lock, "",   "#60000", NULL};
    assert_int_equal(install(FIRST, twice), FENCE_REJOIN_DONE);
    assert_lock("001@" A ".7:5:0::");
    assert_in_range(remaining_ms(), MINUTE_MS / 2, MINUTE_MS + 1);
}

static void lock_without_an_end_gets_the_longest_lease(void **state)
{
    merge_for(FIRST, A ".7:5:0::", -1);
    assert_in_range(remaining_ms(), SCRIPT_TTL_MAX_MS - MINUTE_MS, SCRIPT_TTL_MAX_MS + 1);
}

/* A clock jumped where it was read. */
static void lease_above_the_longest_is_cut(void **state)
{
    merge_for(FIRST, A ".7:5:0::", SCRIPT_TTL_MAX_MS + MINUTE_MS);
    assert_in_range(remaining_ms(), SCRIPT_TTL_MAX_MS - MINUTE_MS, SCRIPT_TTL_MAX_MS + 1);
}

static void counters_rise_and_never_fall(void **state)
{
    static const char *const items[] = {
        "counters", "4294967296", "0", "7", "5", "9007199254740991", "9", "100000000000001", NULL};
    script_redis("HSET pawl:fleet 0 8 5 6 9 100000000000000 7 3 floor 5");
    assert_int_equal(install(FIRST, items), FENCE_REJOIN_DONE);
    script_assert_field("0", "8");
    script_assert_field("5", "9007199254740991");
    script_assert_field("9", "100000000000001");
    script_assert_field("7", "3");
    script_assert_field("floor", "4294967296");
    static const char *const lower[] = {"counters", "6", "0", "1", NULL};
    assert_int_equal(install(FIRST, lower), FENCE_REJOIN_DONE);
    script_assert_field("0", "8");
    script_assert_field("floor", "4294967296");
}

static void named_counters_are_merged_and_each_new_one_is_one_more(void **state)
{
    static const char *const items[] = {"counters",         "0",   "n:a", "7", "n:b",
                                        "9007199254740991", "n:c", "3",   NULL};
    script_redis("HSET pawl:fleet n:a 8 n:x 2 names 2");
    assert_int_equal(install(FIRST, items), FENCE_REJOIN_DONE);
    script_assert_field("n:a", "8");
    script_assert_field("n:b", "9007199254740991");
    script_assert_field("n:c", "3");
    script_assert_field("names", "4");
    assert_int_equal(install(THIRD, items), FENCE_REJOIN_DONE);
    script_assert_field("names", "4");
}

static void counters_of_slots_are_no_names(void **state)
{
    static const char *const items[] = {"counters", "0", "0", "7", NULL};
    assert_int_equal(install(FIRST, items), FENCE_REJOIN_DONE);
    script_assert_field("names", NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start_joining, script_stop)

static const struct CMUnitTest cases[] = {
    CASE(free_name_gets_the_lock_with_a_bit_for_its_master),
    CASE(lease_is_what_was_read_and_a_millisecond),
    CASE(of_one_id_the_highest_number_counts),
    CASE(of_one_id_the_most_extensions_count),
    CASE(imported_lock_of_less_than_a_majority_brings_no_bit),
    CASE(imported_lock_of_a_majority_brings_a_bit),
    CASE(id_that_begins_like_another_is_another),
    CASE(lock_beside_a_tombstone_is_one),
    CASE(any_order_of_pages_and_any_copies_give_the_same),
    CASE(key_that_is_twice_in_a_page_is_one_lock),
    CASE(lock_without_an_end_gets_the_longest_lease),
    CASE(lease_above_the_longest_is_cut),
    CASE(counters_rise_and_never_fall),
    CASE(named_counters_are_merged_and_each_new_one_is_one_more),
    CASE(counters_of_slots_are_no_names),
};

CASE_MAIN(cases, NULL, NULL)
