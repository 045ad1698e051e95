/* The questions to the others when a master rejoins, on a real Redis: to record its new
 * incarnation, and then to answer their counters and locks. The server is the first of three. */
#include "tests/integration/storage/redis/lua/script_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID "aaaaaaaaaaaaaaaaaaaaaa"

enum {
    OTHER = 0, /* the server */
};

static struct fence_rejoin_reply record(void)
{
    static const struct fence_view view = {{10, 25, 30}};
    const struct fence_rejoin_request request = {.step = FENCE_REJOIN_RECORD, .view = &view};
    return script_step(request, OTHER);
}

/* Otherwise no master could rejoin beside it. */
static void record_is_kept_where_memory_is_used_up(void **state)
{
    script_mark_active("1", "no");
    script_redis("CONFIG SET maxmemory 1");
    assert_int_equal(record().outcome, FENCE_REJOIN_DONE);
    script_assert_field("view", "10,25,30");
    script_redis("CONFIG SET maxmemory 0");
}

static void master_that_is_not_active_does_not_record(void **state)
{
    assert_int_equal(record().outcome, FENCE_REJOIN_LOST);
    script_mark_active("1", "no");
    script_redis("HSET pawl:fleet state joining");
    assert_int_equal(record().outcome, FENCE_REJOIN_LOST);
    script_mark_active("3", "no");
    assert_int_equal(record().outcome, FENCE_REJOIN_LOST);
    script_assert_field("view", "10,20,30");
}

static struct fence_rejoin_reply read_part(enum fence_rejoin_part part, uint64_t cursor)
{
    const struct fence_rejoin_request request = {
        .step = FENCE_REJOIN_READ, .part = part, .cursor = cursor};
    return script_step(request, OTHER);
}

/* It rejoined itself since it recorded: what it recorded went with what it was. */
static void read_is_refused_where_its_own_incarnation_is_another(void **state)
{
    script_mark_active("1", "no");
    script_redis("HSET pawl:fleet view 11,25,30");
    assert_int_equal(read_part(FENCE_REJOIN_COUNTERS, 0).outcome, FENCE_REJOIN_CHANGED);
    script_redis("HSET pawl:fleet view 9,25,30");
    assert_int_equal(read_part(FENCE_REJOIN_COUNTERS, 0).outcome, FENCE_REJOIN_CHANGED);
}

static void master_that_is_not_active_is_not_read(void **state)
{
    static const char *const changes[] = {"state joining", "member 3",
                                          "fleet 0000000000000000000000000000000000000000"};
    assert_int_equal(read_part(FENCE_REJOIN_LOCKS, 0).outcome, FENCE_REJOIN_LOST);
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        script_mark_active("1", "no");
        script_redis("HSET pawl:fleet view 10,25,30 %s", changes[i]);
        assert_int_equal(read_part(FENCE_REJOIN_COUNTERS, 0).outcome, FENCE_REJOIN_LOST);
        assert_int_equal(strncmp(script_error(), "PAWLGONE ", 9), 0);
    }
}

/* All pages of @part go, through install.lua, into the hash and the locks of a server that stands
 * by: here it is the same one, once it has been wiped. Returns how many pages there were. */
struct pages {
    char *bytes[256];
    size_t len[256];
    unsigned count;
    unsigned calls;
};

static void read_all(enum fence_rejoin_part part, struct pages *pages)
{
    uint64_t cursor = 0;
    do {
        struct fence_rejoin_reply reply = read_part(part, cursor);
        assert_int_equal(reply.outcome, FENCE_REJOIN_DONE);
        cursor = reply.cursor;
        pages->calls++;
        if (reply.page.len == 0)
            continue;
        assert_true(pages->count < 256);
        char *copy = malloc(reply.page.len);
        assert_non_null(copy);
        memcpy(copy, reply.page.bytes, reply.page.len);
        pages->bytes[pages->count] = copy;
        pages->len[pages->count++] = reply.page.len;
    } while (cursor != 0);
}

static void install_all(struct pages *pages)
{
    for (unsigned i = 0; i < pages->count; i++) {
        const struct fence_page page = {.bytes = pages->bytes[i], .len = pages->len[i]};
        const struct fence_rejoin_request install = {
            .step = FENCE_REJOIN_INSTALL, .page = &page, .steps = script_progress()};
        assert_int_equal(script_step(install, SCRIPT_ME).outcome, FENCE_REJOIN_DONE);
        free(pages->bytes[i]);
    }
}

static void pages_bring_every_counter_and_the_floor(void **state)
{
    struct pages pages = {.count = 0};
    script_mark_active("1", "no");
    script_redis("HSET pawl:fleet view 10,25,30 0 7 16383 9007199254740991 42 100000000000000 "
                 "floor 4294967296");
    read_all(FENCE_REJOIN_COUNTERS, &pages);
    assert_in_range(pages.calls, FENCE_SLOTS / STORAGE_COUNTERS_AT_A_TIME + 1,
                    FENCE_SLOTS / STORAGE_COUNTERS_AT_A_TIME + 2); /* names come last */
    script_redis("FLUSHALL");
    script_mark_joining("no");
    install_all(&pages);
    script_assert_field("0", "7");
    script_assert_field("1", NULL);
    script_assert_field("42", "100000000000000");
    script_assert_field("16383", "9007199254740991");
    script_assert_field("floor", "4294967296");
}

static void pages_bring_every_counter_where_all_are_in_use(void **state)
{
    struct pages pages = {.count = 0};
    script_mark_active("1", "no");
    script_redis("HSET pawl:fleet view 10,25,30");
    script_redis("EVAL for\ti=0,16383\tdo\tredis.call('HSET','pawl:fleet',i,"
                 "string.format('%%%%.0f',4503599627370496+i))\tend 0");
    read_all(FENCE_REJOIN_COUNTERS, &pages);
    script_redis("FLUSHALL");
    script_mark_joining("no");
    install_all(&pages);
    for (int slot = 0; slot < FENCE_SLOTS; slot += 117) {
        char field[8];
        char value[24];
        snprintf(field, sizeof(field), "%d", slot);
        snprintf(value, sizeof(value), "%lld", 4503599627370496LL + slot);
        script_assert_field(field, value);
    }
}

/* The longest names that there may be, under the highest numbers. */
static void pages_bring_every_named_counter_of_ten_thousand(void **state)
{
    enum {
        NAMES = 10000,
        PAGE_MAX = 1024 * 1024,
    };
    struct pages pages = {.count = 0};
    char field[300];
    script_mark_active("1", "no");
    script_redis("HSET pawl:fleet view 10,25,30 names %d", NAMES);
    script_redis("EVAL for\ti=1,%d\tdo\tredis.call('HSET','pawl:fleet','n:'..string.rep('0',250).."
                 "string.format('%%%%05d',i),string.format('%%%%.0f',4503599627370496+i))\tend 0",
                 NAMES);
    read_all(FENCE_REJOIN_COUNTERS, &pages);
    assert_true(pages.calls >
                (FENCE_SLOTS + NAMES) / STORAGE_COUNTERS_AT_A_TIME / 2); /* table grows by twos */
    for (unsigned i = 0; i < pages.count; i++)
        assert_in_range(pages.len[i], 1, PAGE_MAX);
    script_redis("FLUSHALL");
    script_mark_joining("no");
    install_all(&pages);
    script_assert_field("names", "10000");
    for (int i = 1; i <= NAMES; i += 117) {
        char value[24];
        snprintf(field, sizeof(field), "n:%0255d", i);
        snprintf(value, sizeof(value), "%lld", 4503599627370496LL + i);
        script_assert_field(field, value);
    }
}

static void pages_bring_every_lock_of_ten_thousand(void **state)
{
    enum {
        LOCKS = 10000,
    };
    struct pages pages = {.count = 0};
    script_mark_active("1", "no");
    script_redis("HSET pawl:fleet view 10,25,30");
    script_redis("SET somebody-elses x");
    script_add_locks(LOCKS);
    read_all(FENCE_REJOIN_LOCKS, &pages);
    assert_true(pages.calls >= LOCKS / STORAGE_LOCKS_AT_A_TIME);
    script_redis("FLUSHALL");
    script_mark_joining("no");
    install_all(&pages);
    assert_int_equal(redis_fleet_integer(script_fleet, 0, "DBSIZE"), LOCKS + 1);
    script_assert_imported("pawl:lock:10000", "001@aaaaaaaaaaaaaaaaaaaaaa.1:10000:0::");
    assert_in_range(script_imported_left_ms("pawl:lock:10000"), 30000, 60001);
}

static void keys_that_pawl_did_not_write_are_passed_over(void **state)
{
    struct pages pages = {.count = 0};
    script_mark_active("1", "no");
    script_redis("HSET pawl:fleet view 10,25,30");
    script_redis("RPUSH pawl:lock:list x");
    script_redis(
        "MSET pawl:lock:a x pawl:lock:b : pawl:lock:c a.b:c:d:e pawl:lock:d @1@2@ pawl:lock:h @x");
    script_redis("MSET pawl:lock:e " ID ".1:x:0:: pawl:lock:f " ID ".1:1 pawl:lock:g " ID
                 ".1:1:0:x:");
    script_redis("EVAL redis.call('SET','pawl:lock:long',ARGV[1]..string.rep('x',600)) 0 " ID
                 ".1:1:0::");
    script_add_locks(1);
    read_all(FENCE_REJOIN_LOCKS, &pages);
    script_redis("FLUSHALL");
    script_mark_joining("no");
    install_all(&pages);
    assert_int_equal(redis_fleet_integer(script_fleet, 0, "DBSIZE"), 2);
}

static void page_of_no_locks_is_empty(void **state)
{
    script_mark_active("1", "no");
    script_redis("HSET pawl:fleet view 10,25,30");
    struct fence_rejoin_reply reply = read_part(FENCE_REJOIN_LOCKS, 0);
    assert_int_equal(reply.outcome, FENCE_REJOIN_DONE);
    assert_int_equal(reply.page.len, 0);
    assert_int_equal(reply.cursor, 0);
}

static const struct CMUnitTest cases[] = {
    SCRIPT_CASE(record_is_kept_where_memory_is_used_up),
    SCRIPT_CASE(master_that_is_not_active_does_not_record),
    SCRIPT_CASE(read_is_refused_where_its_own_incarnation_is_another),
    SCRIPT_CASE(master_that_is_not_active_is_not_read),
    SCRIPT_CASE(pages_bring_every_counter_and_the_floor),
    SCRIPT_CASE(pages_bring_every_counter_where_all_are_in_use),
    SCRIPT_CASE(pages_bring_every_named_counter_of_ten_thousand),
    SCRIPT_CASE(pages_bring_every_lock_of_ten_thousand),
    SCRIPT_CASE(keys_that_pawl_did_not_write_are_passed_over),
    SCRIPT_CASE(page_of_no_locks_is_empty),
};

CASE_MAIN(cases, NULL, NULL)
