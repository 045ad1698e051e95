/* The fate of imported locks without a request, on a real Redis. */
#include "storage/redis/lua/lineage_check.lua.h"
#include "storage/redis/lua/sweep.lua.h"
#include "tests/integration/storage/redis/lua/script_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define A "aaaaaaaaaaaaaaaaaaaaaa"

enum {
    LOCKS = 1000,
    AT_A_TIME = 100,
    MINUTE_MS = 60000,
};

static long long sweep(void)
{
    static const char *const scripts[] = {storage_redis_lua_lineage_check, storage_redis_lua_sweep};
    char arguments[32];
    snprintf(arguments, sizeof(arguments), "1 pawl:fleet %d", AT_A_TIME);
    redisReply *reply = script_eval(scripts, 2, arguments);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    long long more = reply->integer;
    freeReplyObject(reply);
    return more;
}

/* As install.lua leaves it: @lock is "<from, 3 digits>@<lock>". */
static void import(const char *key, long long expiry_ms, const char *lock)
{
    script_redis("SET %s @%013lld@%s", key, expiry_ms, lock);
}

static void import_many(unsigned n, long long expiry_ms)
{
    script_redis("EVAL for\ti=1,tonumber(ARGV[1])\tdo\tredis.call('SET','pawl:lock:'..i,"
                 "'@'..ARGV[2]..'@005@" A ".1:'..i..':0::')\tend 0 %u %013lld",
                 n, expiry_ms);
}

static long long count_imported(void)
{
    return redis_fleet_integer(
        script_fleet, 0, "EVAL %s 0",
        "local\tn=0\tfor\t_,k\tin\tipairs(redis.call('KEYS','pawl:lock:*'))"
        "\tdo\tif\tredis.call('TTL',k)==-1\tthen\tn=n+1\tend\tend\treturn\tn");
}

static void assert_value(const char *key, const char *expected)
{
    redisReply *reply = script_reply("GET %s", key);
    assert_string_equal(reply->type == REDIS_REPLY_STRING ? reply->str : "", expected);
    freeReplyObject(reply);
}

static int start_admitted(void **state)
{
    int error = script_start(state);
    if (error)
        return error;
    script_mark_active("2", "no");
    script_redis("HSET pawl:fleet unswept 0");
    return 0;
}

static void sweep_makes_an_ordinary_lock_of_an_imported_one(void **state)
{
    long long expiry_ms = script_now_ms() + MINUTE_MS;
    import("pawl:lock:a", expiry_ms, "005@" A ".1:7:2::worker:1");
    import("pawl:lock:b", expiry_ms + 1, "000@~:0:0::");
    assert_int_equal(sweep(), 0);
    assert_value("pawl:lock:a", A ".1:7:2:5:worker:1");
    assert_value("pawl:lock:b", "~:0:0:0:");
    assert_int_equal(redis_fleet_integer(script_fleet, 0, "PEXPIRETIME pawl:lock:a"), expiry_ms);
    assert_int_equal(redis_fleet_integer(script_fleet, 0, "PEXPIRETIME pawl:lock:b"),
                     expiry_ms + 1);
}

static void sweep_removes_an_imported_lock_whose_time_is_over(void **state)
{
    import("pawl:lock:a", script_now_ms() - 1, "005@" A ".1:7:2::");
    assert_int_equal(sweep(), 0);
    assert_int_equal(redis_fleet_integer(script_fleet, 0, "EXISTS pawl:lock:a"), 0);
}

static void sweep_leaves_everything_else_as_it_is(void **state)
{
    script_redis("SET pawl:lock:own " A ".1:7:2::@1@2@ PX 60000");
    script_redis("MSET pawl:lock:text @x other @0000000000001@005@" A ".1:7:2::");
    assert_int_equal(sweep(), 0);
    assert_value("pawl:lock:own", A ".1:7:2::@1@2@");
    assert_in_range(redis_fleet_integer(script_fleet, 0, "PTTL pawl:lock:own"), 1, MINUTE_MS);
    assert_value("pawl:lock:text", "@x");
    assert_value("other", "@0000000000001@005@" A ".1:7:2::");
}

static void sweep_goes_on_from_the_cursor_in_the_marker_in_bounded_steps(void **state)
{
    unsigned calls = 0;
    long long left = LOCKS;
    import_many(LOCKS, script_now_ms() + MINUTE_MS);
    for (bool more = true; more; calls++) {
        more = sweep() == 1;
        long long now = count_imported();
        assert_in_range(left - now, 0, 2 * AT_A_TIME);
        left = now;
        redisReply *reply = script_reply("HGET pawl:fleet unswept");
        assert_int_equal(reply->type, more ? REDIS_REPLY_STRING : REDIS_REPLY_NIL);
        assert_true(!more || strcmp(reply->str, "0") != 0);
        freeReplyObject(reply);
    }
    assert_int_equal(left, 0);
    assert_in_range(calls, LOCKS / AT_A_TIME / 2, 2 * LOCKS / AT_A_TIME);
    assert_int_equal(sweep(), 0); /* all is done */
}

static void sweep_removes_all_that_is_over(void **state)
{
    import_many(LOCKS, script_now_ms() - 1);
    while (sweep() == 1)
        continue;
    assert_int_equal(redis_fleet_integer(script_fleet, 0, "DBSIZE"), 1);
}

/* install.lua is not done with them: it would take an ordinary lock for an imported one. */
static void sweep_of_a_master_that_is_not_admitted_does_nothing(void **state)
{
    import_many(2, script_now_ms() + MINUTE_MS);
    script_redis("HSET pawl:fleet state joining");
    assert_int_equal(sweep(), 0);
    assert_int_equal(count_imported(), 2);
    script_redis("HSET pawl:fleet state active");
    script_redis("HSET pawl:fleet lineage of-another-process");
    assert_int_equal(sweep(), 0);
    script_assert_field("unswept", "0");
    script_mark_active("2", "no");
    script_redis("HDEL pawl:fleet unswept");
    assert_int_equal(sweep(), 0);
    assert_int_equal(count_imported(), 2);
    script_redis("DEL pawl:fleet");
    assert_int_equal(sweep(), 0);
    assert_int_equal(count_imported(), 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start_admitted, script_stop)

static const struct CMUnitTest cases[] = {
    CASE(sweep_makes_an_ordinary_lock_of_an_imported_one),
    CASE(sweep_removes_an_imported_lock_whose_time_is_over),
    CASE(sweep_leaves_everything_else_as_it_is),
    CASE(sweep_goes_on_from_the_cursor_in_the_marker_in_bounded_steps),
    CASE(sweep_removes_all_that_is_over),
    CASE(sweep_of_a_master_that_is_not_admitted_does_nothing),
};

CASE_MAIN(cases, NULL, NULL)
