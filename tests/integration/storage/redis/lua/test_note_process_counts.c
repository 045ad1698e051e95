/* The marker's notes about its process are brought up to date, on a real Redis. */
#include "tests/integration/storage/redis/lua/acting.h"
#include "tests/integration/storage/redis/lua/script_fixture.h"

#include <stdlib.h>

static void settled_master_is_not_refused_in_its_next_rewrite(void **state)
{
    script_mark_active("1", "yes");
    acting_slow_down_rewrites();
    script_assert_field("sets", "0::0");
    assert_int_equal(acting_settle(), 1);
    script_assert_field("sets", "1::0");
    script_redis("BGREWRITEAOF");
    assert_true(acting_is_rewriting(NULL));
    acting_expect_all();
}

static void nothing_is_settled_during_a_rewrite(void **state)
{
    acting_slow_down_rewrites();
    script_mark_active("1", "yes");
    script_redis("BGREWRITEAOF");
    script_redis("CONFIG SET hz 11");
    assert_int_equal(acting_settle(), 0);
    script_assert_field("sets", "1::0");
}

static void only_a_master_of_its_fleet_and_lineage_is_settled(void **state)
{
    static const char *const changes[] = {
        "fleet 0000000000000000000000000000000000000000",
        "member 2",
        "lineage 0123456789abcdef0123456789abcdef01234567:0",
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        script_mark_active("1", "yes");
        script_redis("HSET pawl:fleet sets 99 %s", changes[i]);
        assert_int_equal(acting_settle(), 0);
        script_assert_field("sets", "99");
    }
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet sets 99");
    script_redis("CONFIG SET appendonly no");
    assert_int_equal(acting_settle(), 0);
    script_assert_field("sets", "99");
}

static void file_of_a_master_that_is_taken_back_is_not_settled(void **state)
{
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet state joining sets 99");
    assert_int_equal(acting_settle(), 1);
    script_assert_field("sets", "99");
    script_assert_field("answers", acting_answers(1));
}

static void settle_notes_how_many_bytes_were_received(void **state)
{
    script_mark_active("1", "no");
    script_redis("HSET pawl:fleet bytes 5");
    assert_int_equal(acting_settle(), 1);
    redisReply *reply = script_reply("HGET pawl:fleet bytes");
    assert_in_range(strtoll(reply->str, NULL, 10), 1000, 10000000);
    freeReplyObject(reply);
}

/* Its file is no matter then, and what is known of it stays as it was. */
static void settle_notes_bytes_during_a_rewrite_and_no_complete_file(void **state)
{
    acting_slow_down_rewrites();
    script_mark_active("1", "no");
    script_redis("HSET pawl:fleet bytes 5 sets 99:");
    script_redis("BGREWRITEAOF");
    assert_int_equal(acting_settle(), 1);
    assert_true(acting_is_rewriting(NULL));
    script_assert_field("sets", "99:");
    redisReply *reply = script_reply("HGET pawl:fleet bytes");
    assert_true(strtoll(reply->str, NULL, 10) > 5);
    freeReplyObject(reply);
}

static const struct CMUnitTest cases[] = {
    SCRIPT_DURABLE(settled_master_is_not_refused_in_its_next_rewrite),
    SCRIPT_DURABLE(nothing_is_settled_during_a_rewrite),
    SCRIPT_DURABLE(only_a_master_of_its_fleet_and_lineage_is_settled),
    SCRIPT_DURABLE(file_of_a_master_that_is_taken_back_is_not_settled),
    SCRIPT_CASE(settle_notes_how_many_bytes_were_received),
    SCRIPT_DURABLE(settle_notes_bytes_during_a_rewrite_and_no_complete_file),
};

CASE_MAIN(cases, NULL, NULL)
