/* A master keeps the last position that a server told it of each member, on a real Redis. */
#include "storage/redis/lua/share_positions.lua.h"
#include "tests/integration/storage/redis/lua/script_fixture.h"

#include <stdio.h>

static long long tell(const char *fleet, const char *positions)
{
    static const char *const scripts[] = {storage_redis_lua_share_positions};
    char arguments[256];
    snprintf(arguments, sizeof(arguments), "1 pawl:fleet %s 2 %s", fleet, positions);
    redisReply *reply = script_eval(scripts, 1, arguments);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    const long long told = reply->integer;
    freeReplyObject(reply);
    return told;
}

static void each_position_rises_and_never_falls(void **state)
{
    script_mark_active("2", "no");
    assert_int_equal(tell(SCRIPT_FLEET, "10:5,20:9,30:0"), 1);
    script_assert_field("positions", "10:5,20:9,30:0");
    assert_int_equal(tell(SCRIPT_FLEET, "10:6,20:8,9:99"), 1);
    script_assert_field("positions", "10:6,20:9,30:0");
    assert_int_equal(tell(SCRIPT_FLEET, "11:0,20:9007199254740991,30:1"), 1);
    script_assert_field("positions", "11:0,20:9007199254740991,30:1");
}

/* An earlier answer stays true, whatever became of it. */
static void master_that_may_not_vote_is_told_too(void **state)
{
    script_mark_joining("no");
    assert_int_equal(tell(SCRIPT_FLEET, "10:5,20:9,30:0"), 1);
    script_assert_field("positions", "10:5,20:9,30:0");
    script_redis("HSET pawl:fleet lineage other");
    assert_int_equal(tell(SCRIPT_FLEET, "10:5,20:10,30:0"), 1);
    script_assert_field("positions", "10:5,20:10,30:0");
}

static void another_master_is_told_nothing(void **state)
{
    assert_int_equal(tell(SCRIPT_FLEET, "10:5,20:9,30:0"), 0);
    script_assert_field("positions", NULL);
    script_mark_active("3", "no");
    assert_int_equal(tell(SCRIPT_FLEET, "10:5,20:9,30:0"), 0);
    script_mark_active("2", "no");
    assert_int_equal(tell(SCRIPT_RUN, "10:5,20:9,30:0"), 0);
    script_assert_field("positions", NULL);
}

static void rubbish_in_the_field_is_replaced(void **state)
{
    script_mark_active("2", "no");
    script_redis("HSET pawl:fleet positions rubbish");
    assert_int_equal(tell(SCRIPT_FLEET, "10:5,20:9,30:0"), 1);
    script_assert_field("positions", "10:5,20:9,30:0");
}

static void master_without_memory_is_told_too(void **state)
{
    script_mark_active("2", "no");
    script_redis("CONFIG SET maxmemory 1");
    assert_int_equal(tell(SCRIPT_FLEET, "10:5,20:9,30:0"), 1);
    script_assert_field("positions", "10:5,20:9,30:0");
}

static const struct CMUnitTest cases[] = {
    SCRIPT_CASE(each_position_rises_and_never_falls),
    SCRIPT_CASE(master_that_may_not_vote_is_told_too),
    SCRIPT_CASE(another_master_is_told_nothing),
    SCRIPT_CASE(rubbish_in_the_field_is_replaced),
    SCRIPT_CASE(master_without_memory_is_told_too),
};

CASE_MAIN(cases, NULL, NULL)
