/* The marker of a master that has kept all it knew gets another run and lineage, on a real Redis.
 * That of a master that lost something gets a note. */
#include "storage/redis/lua/lineage_check.lua.h"
#include "storage/redis/lua/note_data_loss.lua.h"
#include "storage/redis/lua/restamp.lua.h"
#include "tests/integration/storage/redis/lua/acting.h"
#include "tests/integration/storage/redis/lua/script_fixture.h"

#include <stdio.h>

#define THEN "0123456789abcdef0123456789abcdef01234567:0"

/* The masters that the marker names. Valid until the next call. */
static const char *marked_bytes(void)
{
    static char bytes[32];
    redisReply *reply = script_reply("HGET pawl:fleet bytes");
    snprintf(bytes, sizeof(bytes), "%s", reply->str ? reply->str : "0");
    freeReplyObject(reply);
    return bytes;
}

/* From the run @run and the lineage @was and @bytes of the marker, which were looked at before, to
 * the lineage @now. */
static long long restamp_of(const char *run, const char *was, const char *now, const char *bytes)
{
    static const char *const scripts[] = {storage_redis_lua_lineage_check,
                                          storage_redis_lua_restamp};
    char arguments[512];
    snprintf(arguments, sizeof(arguments),
             "1 pawl:fleet " SCRIPT_FLEET " 1 %s %s bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb %s %s",
             run, was, now, bytes);
    redisReply *reply = script_eval(scripts, 2, arguments);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    long long restamped = reply->integer;
    freeReplyObject(reply);
    return restamped;
}

static long long restamp(const char *was, const char *now)
{
    return restamp_of(SCRIPT_RUN, was, now, marked_bytes());
}

static void restamp_names_the_run_and_the_lineage_of_now(void **state)
{
    script_mark_active("1", "yes");
    script_redis("CONFIG SET hz 11");
    script_redis("HSET pawl:fleet lineage " THEN " next 25 progress 3");
    assert_int_equal(restamp(THEN, script_lineage()), 1);
    script_assert_field("run", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
    script_assert_field("lineage", script_lineage());
    script_assert_field("sets", "1::0");
    script_assert_field("next", NULL);
    script_assert_field("progress", NULL);
    script_assert_field("view", "10,20,30");
    acting_expect_all();
}

/* A later copy of the disk of before, which is put back afterwards, is behind it. */
static void restamp_leaves_every_copy_of_the_disk_behind(void **state)
{
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet writes 7");
    assert_int_equal(restamp(script_lineage(), script_lineage()), 1);
    script_assert_field("writes", "1048583");
}

/* A server told it of writes that its disk lost. */
static void master_that_was_told_a_later_position_of_its_own_is_not_restamped(void **state)
{
    script_mark_active("2", "yes");
    script_redis("HSET pawl:fleet member 1 writes 7 positions 10:7,20:99,30:99");
    assert_int_equal(restamp(script_lineage(), script_lineage()), 1);
    script_redis("HSET pawl:fleet run " SCRIPT_RUN " positions 10:1048584,20:0,30:0");
    assert_int_equal(restamp(script_lineage(), script_lineage()), 0);
    script_redis("HSET pawl:fleet positions 11:0,20:0,30:0");
    assert_int_equal(restamp(script_lineage(), script_lineage()), 0);
    script_redis("HSET pawl:fleet positions rubbish");
    assert_int_equal(restamp(script_lineage(), script_lineage()), 1);
}

/* Those of the process before are counted no more. */
static void restamp_notes_the_answers_of_now(void **state)
{
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet answers 3@%s", script_lineage());
    assert_int_equal(restamp(script_lineage(), script_lineage()), 1);
    script_assert_field("answers", "");
    acting_expect_all();
}

/* It was full before it restarted. */
static void restamp_is_written_though_memory_is_out(void **state)
{
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet lineage " THEN);
    acting_use_up_memory();
    assert_int_equal(restamp(THEN, script_lineage()), 1);
    script_assert_field("lineage", script_lineage());
}

/* After a reset of the statistics run and lineage are what they were. Another server restamped it
 * since, and it may have evicted something after that. */
static void late_restamp_after_a_reset_changes_nothing(void **state)
{
    script_mark_active("1", "yes");
    script_redis("CONFIG RESETSTAT");
    script_redis("HSET pawl:fleet run bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
    char late[32];
    snprintf(late, sizeof(late), "%s", marked_bytes());
    assert_int_equal(restamp_of("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", script_lineage(),
                                script_lineage(), late),
                     1);
    redisReply *before = script_reply("DUMP pawl:fleet");
    assert_int_equal(restamp_of("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", script_lineage(),
                                script_lineage(), late),
                     0);
    redisReply *after = script_reply("DUMP pawl:fleet");
    assert_true(acting_same(before, after));
    freeReplyObject(before);
    freeReplyObject(after);
}

/* Its peers may have recorded the incarnation that it was to get. */
static void restamp_of_an_intact_joining_master_admits_it_as_what_it_was_to_be(void **state)
{
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet lineage " THEN " state joining next 25 progress 3 intact yes");
    assert_int_equal(restamp(THEN, script_lineage()), 1);
    script_assert_field("state", "active");
    script_assert_field("view", "25,20,30");
    script_assert_field("lineage", script_lineage());
    script_assert_field("next", NULL);
    script_assert_field("progress", NULL);
    script_assert_field("intact", NULL);
    script_assert_field("unswept", "0"); /* its locks are imported ones */
}

/* A cursor means something to the process that gave it. */
static void restamp_begins_a_sweep_anew_and_begins_none(void **state)
{
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet lineage " THEN);
    assert_int_equal(restamp(THEN, script_lineage()), 1);
    script_assert_field("unswept", NULL);
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet lineage " THEN " unswept 55");
    assert_int_equal(restamp(THEN, script_lineage()), 1);
    script_assert_field("unswept", "0");
}

static void restamp_wants_the_marker_as_it_was_seen(void **state)
{
    static const char *const changes[] = {
        "fleet 0000000000000000000000000000000000000000",
        "member 2",
        "run cccccccccccccccccccccccccccccccccccccccc",
        "lineage 0123456789abcdef0123456789abcdef01234567:1",
        "state joining",
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        script_mark_active("1", "yes");
        script_redis("HSET pawl:fleet sets 99 lineage " THEN);
        script_redis("HSET pawl:fleet %s", changes[i]);
        assert_int_equal(restamp(THEN, script_lineage()), 0);
        script_assert_field("sets", "99");
    }
}

/* It was judged by a probe, and became a replica for a while after that. */
static void restamp_wants_the_lineage_that_was_judged(void **state)
{
    char judged[FENCE_LINEAGE_MAX + 1];
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet lineage " THEN);
    snprintf(judged, sizeof(judged), "%s", script_lineage());
    script_redis("REPLICAOF 127.0.0.1 1");
    script_redis("REPLICAOF NO ONE");
    assert_int_equal(restamp(THEN, judged), 0);
    script_assert_field("lineage", THEN);
}

static long long doubt(const char *run, const char *lineage)
{
    static const char *const scripts[] = {storage_redis_lua_note_data_loss};
    char arguments[512];
    snprintf(arguments, sizeof(arguments), "1 pawl:fleet " SCRIPT_FLEET " 1 %s %s", run, lineage);
    redisReply *reply = script_eval(scripts, 1, arguments);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    long long noted = reply->integer;
    freeReplyObject(reply);
    return noted;
}

static void loss_is_noted_in_the_marker_that_was_judged_though_memory_is_out(void **state)
{
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet lineage " THEN);
    assert_int_equal(doubt(SCRIPT_RUN, "another:0"), 0);
    assert_int_equal(doubt("another", THEN), 0);
    script_assert_field("doubt", NULL);
    script_redis("CONFIG SET maxmemory 1mb");
    assert_int_equal(doubt(SCRIPT_RUN, THEN), 1);
    script_redis("CONFIG SET maxmemory 0");
    script_assert_field("doubt", "yes");
    assert_int_equal(restamp(THEN, script_lineage()), 0);
    script_redis("HDEL pawl:fleet doubt");
    assert_int_equal(restamp(THEN, script_lineage()), 1);
}

static const struct CMUnitTest cases[] = {
    SCRIPT_DURABLE(restamp_names_the_run_and_the_lineage_of_now),
    SCRIPT_DURABLE(restamp_leaves_every_copy_of_the_disk_behind),
    SCRIPT_DURABLE(master_that_was_told_a_later_position_of_its_own_is_not_restamped),
    SCRIPT_DURABLE(restamp_notes_the_answers_of_now),
    SCRIPT_DURABLE(restamp_is_written_though_memory_is_out),
    SCRIPT_DURABLE(late_restamp_after_a_reset_changes_nothing),
    SCRIPT_DURABLE(restamp_of_an_intact_joining_master_admits_it_as_what_it_was_to_be),
    SCRIPT_DURABLE(restamp_begins_a_sweep_anew_and_begins_none),
    SCRIPT_DURABLE(restamp_wants_the_marker_as_it_was_seen),
    SCRIPT_DURABLE(restamp_wants_the_lineage_that_was_judged),
    SCRIPT_DURABLE(loss_is_noted_in_the_marker_that_was_judged_though_memory_is_out),
};

CASE_MAIN(cases, NULL, NULL)
