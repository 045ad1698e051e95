/* The acts of an operator on a real master while it runs. */
#include "tests/chaos/master_settings.h"
#include "tests/chaos/redis_call.h"
#include "tests/chaos/test_masters.h"
#include "tests/lib/case.h"

static void flushed_it_knows_nothing(void **state)
{
    masters_set(&master, "k", "v");
    assert_true(chaos_master_flush(&master));
    masters_expect(&master, "k", NULL);
}

static void without_append_only_file_a_restart_brings_the_old_data(void **state)
{
    masters_set(&master, "k", "old");
    chaos_master_append_off(&master);
    masters_set(&master, "k", "new");
    chaos_master_kill(&master);
    masters_start();
    masters_expect(&master, "k", "old");
    assert_true(redis_info_is(master.port, "persistence", "aof_enabled", "1"));
}

static void killed_before_the_rewrite_ended_it_brings_the_old_data(void **state)
{
    masters_set(&master, "k", "old");
    chaos_master_append_off(&master);
    masters_set(&master, "k", "new");
    chaos_master_slow_rewrites(&master, 60 * 1000000);
    chaos_master_append_on(&master);
    assert_true(chaos_master_rewrites(&master));
    chaos_master_kill(&master);
    masters_start();
    masters_expect(&master, "k", "old");
}

static void killed_after_the_rewrite_it_keeps_all(void **state)
{
    chaos_master_append_off(&master);
    masters_set(&master, "k", "new");
    chaos_master_slow_rewrites(&master, 200000);
    chaos_master_append_on(&master);
    chaos_master_wait_rewritten(&master);
    assert_false(chaos_master_rewrites(&master));
    chaos_master_kill(&master);
    masters_start();
    masters_expect(&master, "k", "new");
}

static void crowded_it_evicts_only_what_has_a_ttl(void **state)
{
    masters_set(&master, "k", "v");
    redis_must(master.port, "SET lock v EX 1000");
    chaos_master_crowd(&master, "volatile-ttl");
    masters_expect(&master, "k", "v");
    masters_expect(&master, "lock", NULL);
    assert_int_equal(redis_info_number(master.port, "stats", "evicted_keys"), 1);
}

static void crowded_with_nothing_to_evict_it_refuses_writes_until_uncrowded(void **state)
{
    static const char large[32 * 1024];
    masters_set(&master, "k", "v");
    chaos_master_crowd(&master, "volatile-lru");
    assert_false(redis_does(master.port, "SET k2 %b", large, sizeof(large)));
    chaos_master_uncrowd(&master);
    masters_set(&master, "k2", "v");
    assert_true(redis_info_is(master.port, "keyspace", "db0", "keys=2,expires=0,avg_ttl=0"));
    assert_true(redis_info_is(master.port, "memory", "maxmemory", "0"));
    assert_true(redis_info_is(master.port, "memory", "maxmemory_policy", "noeviction"));
}

static void after_a_reset_of_statistics_no_eviction_and_no_lack_of_bytes_shows(void **state)
{
    redis_must(master.port, "SET lock v EX 1000");
    chaos_master_crowd(&master, "volatile-ttl");
    chaos_master_uncrowd(&master);
    const long long bytes = redis_info_number(master.port, "stats", "total_net_input_bytes");
    chaos_master_reset_statistics(&master);
    assert_int_equal(redis_info_number(master.port, "stats", "evicted_keys"), 0);
    assert_true(redis_info_number(master.port, "stats", "total_net_input_bytes") > bytes);
    masters_expect(&master, "lock", NULL);
    masters_expect(&master, "chaos:much", NULL);
}

static void its_marker_names_its_incarnation(void **state)
{
    assert_int_equal(chaos_master_incarnation(&master, 0, false), 0);
    redis_must(master.port, "HSET pawl:fleet state joining view %s", "17,4,9007199254740991");
    assert_int_equal(chaos_master_incarnation(&master, 0, false), 17);
    assert_int_equal(chaos_master_incarnation(&master, 2, false), 9007199254740991);
    assert_int_equal(chaos_master_incarnation(&master, 2, true), 0);
    redis_must(master.port, "HSET pawl:fleet state active");
    assert_int_equal(chaos_master_incarnation(&master, 1, true), 4);
    assert_int_equal(chaos_master_incarnation(&master, 3, true), 0);
}

static void its_marker_says_whether_it_is_durable(void **state)
{
    assert_false(chaos_master_is_marked_durable(&master));
    redis_must(master.port, "HSET pawl:fleet durable no");
    assert_false(chaos_master_is_marked_durable(&master));
    redis_must(master.port, "HSET pawl:fleet durable yes");
    assert_true(chaos_master_is_marked_durable(&master));
}

static const struct CMUnitTest cases[] = {
    MASTERS_CASE(flushed_it_knows_nothing),
    MASTERS_CASE(without_append_only_file_a_restart_brings_the_old_data),
    MASTERS_CASE(killed_before_the_rewrite_ended_it_brings_the_old_data),
    MASTERS_CASE(killed_after_the_rewrite_it_keeps_all),
    MASTERS_CASE(crowded_it_evicts_only_what_has_a_ttl),
    MASTERS_CASE(crowded_with_nothing_to_evict_it_refuses_writes_until_uncrowded),
    MASTERS_CASE(after_a_reset_of_statistics_no_eviction_and_no_lack_of_bytes_shows),
    MASTERS_CASE(its_marker_names_its_incarnation),
    MASTERS_CASE(its_marker_says_whether_it_is_durable),
};

CASE_MAIN(cases, NULL, NULL)
