/* Every script on a master checks what its data descend from, on a real Redis: after what may have
 * taken writes back, none of them acts. */
#include "tests/integration/storage/redis/lua/acting.h"
#include "tests/integration/storage/redis/lua/script_fixture.h"
#include "tests/lib/wait.h"

#include <string.h>

enum {
    REWRITE_WAIT_MS = 10000,
};

static void all_act_where_nothing_happened(void **state)
{
    script_mark_active("1", "no");
    acting_expect_all();
}

static void nothing_acts_on_a_replica(void **state)
{
    script_mark_active("1", "no");
    script_redis("REPLICAOF 127.0.0.1 1");
    acting_expect_refusals("PAWLFORGOT It is a replica");
}

static void nothing_acts_once_it_was_a_replica_in_the_same_process(void **state)
{
    script_mark_active("1", "no");
    script_redis("REPLICAOF 127.0.0.1 1");
    script_redis("REPLICAOF NO ONE");
    acting_expect_none();
}

static void evict_something(void)
{
    script_redis("SET somebody-elses x PX 60000");
    script_redis("CONFIG SET maxmemory-policy volatile-ttl maxmemory 1");
    for (int patience = 0; patience < 100; patience++) {
        redisReply *reply = script_reply("EXISTS somebody-elses");
        bool gone = reply->integer == 0;
        freeReplyObject(reply);
        if (gone)
            break;
        wait_ms(20);
    }
    script_redis("CONFIG SET maxmemory 0 maxmemory-policy noeviction");
    assert_null(strstr(script_lineage(), ":0"));
}

static void nothing_acts_once_a_key_was_evicted(void **state)
{
    script_mark_active("1", "no");
    evict_something();
    acting_expect_none();
}

static void nothing_acts_after_a_restart(void **state)
{
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet lineage 0123456789abcdef0123456789abcdef01234567:0");
    acting_expect_none();
}

static void marker_of_an_older_pawld_names_no_lineage_and_nothing_acts(void **state)
{
    script_mark_active("1", "no");
    script_redis("HDEL pawl:fleet lineage");
    acting_expect_none();
}

static bool is_not_rewriting(void *unused)
{
    return !acting_is_rewriting(unused);
}

static void nothing_acts_while_the_file_of_a_durable_master_is_off(void **state)
{
    script_mark_active("1", "yes");
    acting_expect_all();
    script_redis("CONFIG SET appendonly no");
    acting_expect_none();
}

static void file_that_is_off_is_no_matter_where_the_marker_does_not_say_durable(void **state)
{
    script_mark_active("1", "no");
    script_redis("CONFIG SET appendonly no");
    acting_expect_all();
}

static void nothing_acts_before_a_file_that_was_switched_on_is_complete(void **state)
{
    acting_slow_down_rewrites();
    script_mark_active("1", "yes");
    script_redis("CONFIG SET appendonly no");
    script_redis("CONFIG SET appendonly yes");
    assert_true(acting_is_rewriting(NULL));
    acting_expect_none();
    assert_int_equal(acting_settle(), 0);
    assert_true(acting_is_rewriting(NULL));
    assert_true(wait_until(is_not_rewriting, NULL, REWRITE_WAIT_MS));
    acting_expect_all();
}

static void rewrite_alone_is_no_reason_to_refuse(void **state)
{
    acting_slow_down_rewrites();
    script_mark_active("1", "yes");
    script_redis("BGREWRITEAOF");
    assert_true(acting_is_rewriting(NULL));
    acting_expect_all();
    assert_true(acting_is_rewriting(NULL));
}

static void nothing_acts_where_config_was_set_during_a_rewrite(void **state)
{
    acting_slow_down_rewrites();
    script_mark_active("1", "yes");
    script_redis("BGREWRITEAOF");
    script_redis("CONFIG SET hz 11");
    acting_expect_none();
    assert_true(wait_until(is_not_rewriting, NULL, REWRITE_WAIT_MS));
    acting_expect_all();
}

static const struct CMUnitTest cases[] = {
    SCRIPT_CASE(all_act_where_nothing_happened),
    SCRIPT_CASE(nothing_acts_on_a_replica),
    SCRIPT_CASE(nothing_acts_once_it_was_a_replica_in_the_same_process),
    SCRIPT_CASE(nothing_acts_once_a_key_was_evicted),
    SCRIPT_DURABLE(nothing_acts_after_a_restart),
    SCRIPT_CASE(marker_of_an_older_pawld_names_no_lineage_and_nothing_acts),
    SCRIPT_DURABLE(nothing_acts_while_the_file_of_a_durable_master_is_off),
    SCRIPT_DURABLE(file_that_is_off_is_no_matter_where_the_marker_does_not_say_durable),
    SCRIPT_DURABLE(nothing_acts_before_a_file_that_was_switched_on_is_complete),
    SCRIPT_DURABLE(rewrite_alone_is_no_reason_to_refuse),
    SCRIPT_DURABLE(nothing_acts_where_config_was_set_during_a_rewrite),
};

CASE_MAIN(cases, NULL, NULL)
