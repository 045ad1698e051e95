/* The beginning of taking a master back, on a real Redis: the mark, and the locks that go. */
#include "storage/redis/keys.h"
#include "tests/integration/storage/redis/lua/script_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum fence_rejoin_outcome mark(void)
{
    return script_step((struct fence_rejoin_request){.step = FENCE_REJOIN_MARK}, SCRIPT_ME).outcome;
}

static void mark_of_a_blank_master_says_joining_and_its_lineage(void **state)
{
    static const struct fence_view view = {{10, 20, 30}};
    const struct fence_facts blank = {.server_id = SCRIPT_RUN, .durable = true};
    struct fence_rejoin_request request = {
        .step = FENCE_REJOIN_MARK, .seen = &blank, .view = &view};
    assert_int_equal(script_step(request, SCRIPT_ME).outcome, FENCE_REJOIN_DONE);
    script_assert_field("fleet", SCRIPT_FLEET);
    script_assert_field("member", "2");
    script_assert_field("run", SCRIPT_RUN);
    script_assert_field("lineage", script_lineage());
    script_assert_field("sets", "0::0");
    script_assert_field("max_ttl_ms", "300000");
    script_assert_field("durable", "yes");
    script_assert_field("state", "joining");
    script_assert_field("next", "25");
    script_assert_field("progress", "0");
    script_assert_field("view", "10,20,30");
    script_assert_field("init", NULL);
}

static void mark_wants_the_marker_as_it_was_seen(void **state)
{
    static const char *const changes[] = {"fleet other",  "member 3",      "run another",
                                          "lineage x:0",  "state joining", "next 21",
                                          "view 10,20,31"};
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        script_redis("FLUSHALL");
        script_mark_active("2", "yes");
        script_redis("HSET pawl:fleet %s", changes[i]);
        assert_int_equal(mark(), FENCE_REJOIN_CHANGED);
        script_assert_field("progress", NULL);
    }
}

/* A move tells by it what it has closed. A server readmits members of a fleet that votes. */
static void mark_of_a_server_ends_what_a_move_noted_and_that_of_a_bootstrap_does_not(void **state)
{
    for (int by_move = 0; by_move < 2; by_move++) {
        struct fence_rejoin_request request = {
            .step = FENCE_REJOIN_MARK, .mark = by_move ? FENCE_MARK_FLOOR : FENCE_MARK_REJOIN};
        script_redis("DEL pawl:fleet");
        script_mark_active("2", "no");
        script_redis("HSET pawl:fleet closed a:1:2:b");
        request.view = &(const struct fence_view){{10, 20, 30}};
        assert_int_equal(script_step(request, SCRIPT_ME).outcome, FENCE_REJOIN_DONE);
        script_assert_field("closed", by_move ? "a:1:2:b" : NULL);
    }
}

/* A disk of before a move may return on the old masters. Only this list shows it. */
static void mark_names_the_predecessors_of_the_fleet(void **state)
{
    struct fence_predecessors named = {0};
    const struct fence_rejoin_request request = {.step = FENCE_REJOIN_MARK, .predecessors = &named};
    fence_predecessors_add(&named, "a");
    fence_predecessors_add(&named, "b");
    script_mark_active("2", "yes");
    assert_int_equal(script_step(request, SCRIPT_ME).outcome, FENCE_REJOIN_DONE);
    script_assert_field("predecessors", "a,b");
    script_redis("DEL pawl:fleet");
    script_mark_active("2", "yes");
    script_redis("HSET pawl:fleet predecessors ,");
    assert_int_equal(mark(), FENCE_REJOIN_DONE); /* it was malformed, and no master knows any */
    script_assert_field("predecessors", NULL);
}

static void mark_keeps_what_the_master_recorded_of_others(void **state)
{
    static const struct fence_view named = {{9, 99, 31}};
    struct fence_rejoin_request request = {.step = FENCE_REJOIN_MARK, .view = &named};
    script_mark_active("2", "yes");
    assert_int_equal(script_step(request, SCRIPT_ME).outcome, FENCE_REJOIN_DONE);
    script_assert_field("view", "10,20,31"); /* and its own incarnation stays what it was */
}

static void mark_says_durable_as_the_server_is_now(void **state)
{
    script_mark_active("2", "yes");
    assert_int_equal(mark(), FENCE_REJOIN_DONE); /* the facts say that it is not */
    script_assert_field("durable", "no");
}

/* The file that CONFIG SET switched on is not complete before its first rewrite ends. */
static void mark_during_a_rewrite_after_config_set_notes_no_complete_file(void **state)
{
    script_mark_active("2", "yes");
    script_add_locks(50);
    script_redis("CONFIG SET rdb-key-save-delay 100000");
    script_redis("BGREWRITEAOF");
    assert_int_equal(mark(), FENCE_REJOIN_DONE);
    script_assert_field("sets", "-::0");
}

static void mark_after_config_set_notes_how_often_it_was_called(void **state)
{
    script_redis("CONFIG SET hz 11");
    script_redis("CONFIG SET hz 11");
    script_mark_active("2", "yes");
    assert_int_equal(mark(), FENCE_REJOIN_DONE);
    script_assert_field("sets", "2::0");
}

static void mark_names_the_last_reset_of_the_statistics(void **state)
{
    script_redis("CONFIG RESETSTAT");
    script_mark_active("2", "yes");
    assert_int_equal(mark(), FENCE_REJOIN_DONE);
    redisReply *reply = script_reply("HGET pawl:fleet sets");
    assert_int_equal(strncmp(reply->str, "0:calls=1,usec=", 15), 0);
    freeReplyObject(reply);
}

static void mark_notes_how_many_bytes_were_received(void **state)
{
    script_mark_active("2", "yes");
    script_redis("HSET pawl:fleet bytes 0");
    assert_int_equal(mark(), FENCE_REJOIN_DONE);
    redisReply *reply = script_reply("HGET pawl:fleet bytes");
    assert_in_range(strtoll(reply->str, NULL, 10), 1000, 10000000);
    freeReplyObject(reply);
}

/* Marked once more in one process: a reset shows from the mark on. */
static void mark_notes_the_answers_of_settle_that_are_counted(void **state)
{
    char counted[128];
    script_mark_active("2", "yes");
    assert_int_equal(mark(), FENCE_REJOIN_DONE);
    script_assert_field("answers", "");
    freeReplyObject(
        script_eval((const char *const[]){"return redis.error_reply('PAWLSTATS x')"}, 1, "0"));
    script_mark_active("2", "yes");
    script_redis("HDEL pawl:fleet next");
    assert_int_equal(mark(), FENCE_REJOIN_DONE);
    snprintf(counted, sizeof(counted), "1@%s", script_lineage());
    script_assert_field("answers", counted);
}

static void expect_mark_to_say_intact(const struct fence_facts *seen, bool keeps,
                                      const char *expected)
{
    const struct fence_rejoin_request request = {
        .step = FENCE_REJOIN_MARK, .seen = seen, .keeps = keeps};
    assert_int_equal(script_step(request, SCRIPT_ME).outcome, FENCE_REJOIN_DONE);
    script_assert_field("intact", expected);
}

static void mark_is_intact_where_the_master_was_judged_to_have_kept_all(void **state)
{
    script_mark_active("2", "yes");
    expect_mark_to_say_intact(NULL, true, "yes");
    script_mark_active("2", "yes");
    script_redis("HDEL pawl:fleet next");
    expect_mark_to_say_intact(NULL, false, "no");
}

/* It was judged by a probe, and became a replica for a while after that. */
static void mark_is_not_intact_under_another_lineage_than_judged(void **state)
{
    script_mark_active("2", "yes");
    const struct fence_facts seen = script_facts();
    script_redis("REPLICAOF 127.0.0.1 1");
    script_redis("REPLICAOF NO ONE");
    expect_mark_to_say_intact(&seen, true, "no");
    script_assert_field("lineage", script_lineage());
}

/* The lineage that was judged has a sign of the reset behind it, which no script knows. */
static void mark_is_intact_though_statistics_were_reset_since(void **state)
{
    script_mark_active("2", "yes");
    struct fence_facts seen = script_facts();
    size_t len = strlen(seen.lineage);
    snprintf(seen.lineage + len, sizeof(seen.lineage) - len, "%s", STORAGE_LINEAGE_RESET);
    expect_mark_to_say_intact(&seen, true, "yes");
}

/* The marks of pawld init are in test_bootstrap.c. */
static void mark_of_a_server_ends_what_init_began(void **state)
{
    script_mark_active("2", "yes");
    script_redis("HSET pawl:fleet init new nonce 0123456789abcdef");
    assert_int_equal(mark(), FENCE_REJOIN_DONE);
    script_assert_field("init", NULL);
    script_assert_field("nonce", NULL); /* an older pawld wrote one */
}

static void clear_removes_all_locks_and_nothing_else(void **state)
{
    struct fence_rejoin_request clear = {.step = FENCE_REJOIN_CLEAR};
    unsigned calls = 0;
    script_mark_joining("no");
    script_add_locks(5000);
    script_redis("SET somebody-elses x");
    do {
        struct fence_rejoin_reply reply = script_step(clear, SCRIPT_ME);
        assert_int_equal(reply.outcome, FENCE_REJOIN_DONE);
        clear.cursor = reply.cursor;
        clear.steps = ++calls;
    } while (clear.cursor != 0);
    assert_true(calls >= 2); /* in bounded steps, */
    char progress[16];
    snprintf(progress, sizeof(progress), "%u", calls);
    script_assert_field("progress", progress); /* each of which others can see */
    assert_int_equal(redis_fleet_integer(script_fleet, 0, "DBSIZE"), 2);
}

static void clear_keeps_the_locks_of_an_intact_master_as_ones_that_count_for_nobody(void **state)
{
    const struct fence_rejoin_request clear = {.step = FENCE_REJOIN_CLEAR};
    script_mark_joining("no");
    script_redis("HSET pawl:fleet intact yes");
    script_redis("SET pawl:lock:own aaaaaaaaaaaaaaaaaaaaaa.1:7:2::me:@1 PX 60000");
    script_redis("SET pawl:lock:had aaaaaaaaaaaaaaaaaaaaaa.*:7:2:6: PX 60000");
    script_redis("SET pawl:lock:new @9000000000000@006@aaaaaaaaaaaaaaaaaaaaaa.1:7:2::");
    script_redis("SET pawl:lock:endless aaaaaaaaaaaaaaaaaaaaaa.1:7:2::");
    assert_int_equal(script_step(clear, SCRIPT_ME).outcome, FENCE_REJOIN_DONE);
    script_assert_imported("pawl:lock:own", "000@aaaaaaaaaaaaaaaaaaaaaa.1:7:2::me:@1");
    script_assert_imported("pawl:lock:had", "000@aaaaaaaaaaaaaaaaaaaaaa.*:7:2::");
    script_assert_imported("pawl:lock:new", "000@aaaaaaaaaaaaaaaaaaaaaa.1:7:2::");
    script_assert_imported("pawl:lock:endless", "000@aaaaaaaaaaaaaaaaaaaaaa.1:7:2::");
    assert_in_range(script_imported_left_ms("pawl:lock:own"), 30000, 60000);
    assert_int_equal(script_imported_expiry_ms("pawl:lock:new"), 9000000000000);
    assert_in_range(script_imported_left_ms("pawl:lock:endless"), SCRIPT_TTL_MAX_MS - 30000,
                    SCRIPT_TTL_MAX_MS);
}

/* It has no place in what install.lua merges. */
static void clear_removes_what_pawl_did_not_write_of_an_intact_master_too(void **state)
{
    const struct fence_rejoin_request clear = {.step = FENCE_REJOIN_CLEAR};
    script_mark_joining("no");
    script_redis("HSET pawl:fleet intact yes");
    script_redis("MSET pawl:lock:a x pawl:lock:b @1@2@ somebody-elses x");
    script_redis("RPUSH pawl:lock:list x");
    assert_int_equal(script_step(clear, SCRIPT_ME).outcome, FENCE_REJOIN_DONE);
    assert_int_equal(redis_fleet_integer(script_fleet, 0, "DBSIZE"), 2);
}

static const struct CMUnitTest cases[] = {
    SCRIPT_CASE(mark_of_a_blank_master_says_joining_and_its_lineage),
    SCRIPT_CASE(mark_wants_the_marker_as_it_was_seen),
    SCRIPT_CASE(mark_of_a_server_ends_what_a_move_noted_and_that_of_a_bootstrap_does_not),
    SCRIPT_CASE(mark_names_the_predecessors_of_the_fleet),
    SCRIPT_CASE(mark_keeps_what_the_master_recorded_of_others),
    SCRIPT_CASE(mark_says_durable_as_the_server_is_now),
    SCRIPT_DURABLE(mark_during_a_rewrite_after_config_set_notes_no_complete_file),
    SCRIPT_CASE(mark_after_config_set_notes_how_often_it_was_called),
    SCRIPT_CASE(mark_names_the_last_reset_of_the_statistics),
    SCRIPT_CASE(mark_notes_how_many_bytes_were_received),
    SCRIPT_CASE(mark_notes_the_answers_of_settle_that_are_counted),
    SCRIPT_CASE(mark_is_intact_where_the_master_was_judged_to_have_kept_all),
    SCRIPT_CASE(mark_is_not_intact_under_another_lineage_than_judged),
    SCRIPT_CASE(mark_is_intact_though_statistics_were_reset_since),
    SCRIPT_CASE(mark_of_a_server_ends_what_init_began),
    SCRIPT_CASE(clear_removes_all_locks_and_nothing_else),
    SCRIPT_CASE(clear_keeps_the_locks_of_an_intact_master_as_ones_that_count_for_nobody),
    SCRIPT_CASE(clear_removes_what_pawl_did_not_write_of_an_intact_master_too),
};

CASE_MAIN(cases, NULL, NULL)
