/* Every script on a master checks what its data descend from, on a real Redis: after what may have
 * taken writes back, none of them acts. */
#include "storage/redis/lua/doubt.lua.h"
#include "storage/redis/lua/lineage.lua.h"
#include "storage/redis/lua/restamp.lua.h"
#include "storage/redis/lua/settle.lua.h"
#include "tests/integration/storage/redis/lua/script_fixture.h"
#include "tests/lib/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG "aaaaaaaaaaaaaaaaaaaaaa.1"
#define ID  "aaaaaaaaaaaaaaaaaaaaaa"

enum {
    OTHER = 0, /* the first member: it votes, and is read */
    REWRITE_WAIT_MS = 10000,
};

/* ---- what acts ------------------------------------------------------------------------------- */

/* Each request that there is: its letter, and what that takes. */
static const char *const requests[] = {
    "T " TAG " 7 30000 me",
    "N " TAG " 7 30000 me 6",
    "F " TAG " 7 30000 me w 0",
    "F " TAG " 7 30000 me a 0",
    "C " TAG " 7 9 a",
    "E " ID " 9 30000 1000 7",
    "J " TAG " 9 30000 1000 7 1 me",
    "R " ID,
    "U " TAG,
    "I",
    "G 1 a " TAG " 30000 me 7 0",
    "H 1 a " TAG " 7 9",
    "V 1 " TAG,
};

static redisReply *ask(const char *request)
{
    char arguments[512];
    snprintf(arguments, sizeof(arguments),
             "2 pawl:fleet pawl:lock:1 10,20,30 " SCRIPT_FLEET " 1 %s", request);
    return script_eval_requests(arguments);
}

static struct fence_rejoin_reply record(void)
{
    return script_step((struct fence_rejoin_request){.step = FENCE_REJOIN_RECORD}, OTHER);
}

static struct fence_rejoin_reply read_part(enum fence_rejoin_part part)
{
    return script_step((struct fence_rejoin_request){.step = FENCE_REJOIN_READ, .part = part},
                       OTHER);
}

static struct fence_rejoin_reply at_member(enum fence_rejoin_step step)
{
    const struct fence_rejoin_request next = {.step = step, .steps = script_progress()};
    return script_step(next, SCRIPT_ME);
}

static redisReply *settle_once(void)
{
    static const char *const scripts[] = {storage_redis_lua_lineage, storage_redis_lua_settle};
    return script_eval(scripts, 2, "1 pawl:fleet " SCRIPT_FLEET " 1");
}

/* As it is sent: twice. */
static long long settle(void)
{
    freeReplyObject(settle_once());
    redisReply *reply = settle_once();
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    long long settled = reply->integer;
    freeReplyObject(reply);
    return settled;
}

/* Those that the marker names. Valid until the next call. */
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
    static const char *const scripts[] = {storage_redis_lua_lineage, storage_redis_lua_restamp};
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

/* ---- that none of them does ------------------------------------------------------------------ */

static bool same(const redisReply *a, const redisReply *b)
{
    return a->len == b->len && memcmp(a->str, b->str, a->len) == 0;
}

static void expect_refusal(struct fence_rejoin_reply reply)
{
    assert_int_equal(reply.outcome, FENCE_REJOIN_LOST);
    if (strncmp(script_error(), "PAWLFORGOT ", 11) != 0)
        fail_msg("it is no PAWLFORGOT, but: %s", script_error());
}

/* The marker is that of the first member, active, and was written before something happened. */
static void expect_that_nothing_acts(void)
{
    redisReply *before = script_reply("DUMP pawl:fleet");
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
        script_assert_error(ask(requests[i]), "PAWLFORGOT ");
    expect_refusal(record());
    expect_refusal(read_part(FENCE_REJOIN_COUNTERS));
    expect_refusal(read_part(FENCE_REJOIN_LOCKS));
    redisReply *after = script_reply("DUMP pawl:fleet");
    assert_true(same(before, after));
    freeReplyObject(before);
    freeReplyObject(after);

    script_redis("HSET pawl:fleet member 2 state joining next %d", SCRIPT_NEXT);
    before = script_reply("DUMP pawl:fleet");
    assert_int_equal(at_member(FENCE_REJOIN_INSTALL).outcome, FENCE_REJOIN_CHANGED);
    assert_int_equal(at_member(FENCE_REJOIN_ADMIT).outcome, FENCE_REJOIN_CHANGED);
    after = script_reply("DUMP pawl:fleet");
    assert_true(same(before, after));
    freeReplyObject(before);
    freeReplyObject(after);
    script_redis("HSET pawl:fleet member 1 state active");
    script_redis("HDEL pawl:fleet next");
}

static void expect_that_all_act(void)
{
    redisReply *reply = ask(requests[0]);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    freeReplyObject(reply);
    assert_int_equal(record().outcome, FENCE_REJOIN_DONE);
    assert_int_equal(read_part(FENCE_REJOIN_COUNTERS).outcome, FENCE_REJOIN_DONE);
    assert_int_equal(read_part(FENCE_REJOIN_LOCKS).outcome, FENCE_REJOIN_DONE);
    script_redis("HSET pawl:fleet member 2 state joining next %d", SCRIPT_NEXT);
    assert_int_equal(at_member(FENCE_REJOIN_INSTALL).outcome, FENCE_REJOIN_DONE);
    assert_int_equal(at_member(FENCE_REJOIN_ADMIT).outcome, FENCE_REJOIN_DONE);
    script_redis("HSET pawl:fleet member 1 view 10,20,30");
}

static void all_act_where_nothing_happened(void **state)
{
    (void)state;
    script_mark_active("1", "no");
    expect_that_all_act();
}

static void nothing_acts_on_a_replica(void **state)
{
    (void)state;
    script_mark_active("1", "no");
    script_redis("REPLICAOF 127.0.0.1 1");
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
        script_assert_error(ask(requests[i]), "PAWLFORGOT It is a replica");
    expect_refusal(record());
    expect_refusal(read_part(FENCE_REJOIN_LOCKS));
}

static void nothing_acts_once_it_was_a_replica_in_the_same_process(void **state)
{
    (void)state;
    script_mark_active("1", "no");
    script_redis("REPLICAOF 127.0.0.1 1");
    script_redis("REPLICAOF NO ONE");
    expect_that_nothing_acts();
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
    (void)state;
    script_mark_active("1", "no");
    evict_something();
    expect_that_nothing_acts();
}

/* More bytes than all that comes after it in a case. */
static void receive_much(void)
{
    enum {
        MUCH = 8 * 1024 * 1024,
    };
    char *much = calloc(1, MUCH);
    assert_non_null(much);
    freeReplyObject(script_reply("SET padding %b", much, (size_t)MUCH));
    free(much);
    script_redis("DEL padding");
}

static void nothing_acts_once_the_statistics_were_reset(void **state)
{
    (void)state;
    receive_much();
    script_mark_active("1", "no");
    script_redis("CONFIG RESETSTAT");
    script_assert_error(ask("I"), "PAWLFORGOT Its statistics were reset");
    expect_that_nothing_acts();
    assert_int_equal(settle(), 0);
}

/* ---- answers that are counted ---------------------------------------------------------------- */

/* Valid until the next call. */
static const char *answers_of(unsigned count)
{
    static char answers[128];
    snprintf(answers, sizeof(answers), "%u@%s", count, script_lineage());
    return answers;
}

/* Redis counts an error once its answer was given. */
static void first_answer_of_settle_is_counted_and_the_second_notes_it(void **state)
{
    (void)state;
    script_mark_active("1", "no");
    script_assert_error(settle_once(), "PAWLSTATS ");
    script_assert_field("answers", "");
    for (int again = 0; again < 2; again++) {
        assert_int_equal(settle(), 1);
        script_assert_field("answers", answers_of(1));
    }
    expect_that_all_act();
}

static void nothing_acts_after_a_reset_though_much_was_received_since(void **state)
{
    (void)state;
    script_mark_active("1", "no");
    assert_int_equal(settle(), 1);
    script_redis("CONFIG RESETSTAT");
    receive_much();
    script_assert_error(ask("I"), "PAWLFORGOT Its statistics were reset");
    expect_that_nothing_acts();
    assert_int_equal(settle(), 0);
}

/* Another fleet's server, or a person, got that answer anew. */
static void nothing_acts_where_fewer_answers_were_counted_than_noted(void **state)
{
    (void)state;
    script_mark_active("1", "no");
    assert_int_equal(settle(), 1);
    script_redis("HSET pawl:fleet answers 2@%s", script_lineage());
    script_assert_error(ask("I"), "PAWLFORGOT Its statistics were reset");
    expect_that_nothing_acts();
}

/* An older pawld marked it after a restart, and left them. */
static void answers_of_another_lineage_say_nothing(void **state)
{
    (void)state;
    script_mark_active("1", "no");
    script_redis("HSET pawl:fleet answers 7@0123456789abcdef0123456789abcdef01234567:0");
    expect_that_all_act();
}

/* Some servers forget all counts then, and some count no new kind. */
static void provoke_many_kinds_of_errors(void)
{
    enum {
        KINDS = 200,
    };
    for (int i = 0; i < KINDS; i++) {
        char script[64];
        snprintf(script, sizeof(script), "return redis.error_reply('KIND%d x')", i);
        freeReplyObject(script_eval((const char *const[]){script}, 1, "0"));
    }
}

static void expect_reset_to_be_noticed(void)
{
    expect_that_all_act();
    script_redis("CONFIG RESETSTAT");
    receive_much();
    script_assert_error(ask("I"), "PAWLFORGOT Its statistics were reset");
    expect_that_nothing_acts();
}

static void many_kinds_of_errors_hide_no_reset(void **state)
{
    (void)state;
    script_mark_active("1", "no");
    assert_int_equal(settle(), 1);
    provoke_many_kinds_of_errors();
    expect_that_all_act();
    assert_int_equal(settle(), 1);
    script_assert_field("answers", answers_of(1));
    expect_reset_to_be_noticed();
}

static void many_kinds_of_errors_before_the_mark_hide_no_reset(void **state)
{
    (void)state;
    provoke_many_kinds_of_errors();
    script_mark_active("1", "no");
    assert_int_equal(settle(), 1);
    script_assert_field("answers", answers_of(1));
    expect_reset_to_be_noticed();
}

static void use_up_memory(void)
{
    script_redis("CONFIG SET maxmemory 1 maxmemory-policy noeviction");
    script_assert_error(script_reply("SET other x"), "OOM");
}

static void answers_are_noted_though_memory_is_out(void **state)
{
    (void)state;
    script_mark_active("1", "no");
    use_up_memory();
    assert_int_equal(settle(), 1);
    script_assert_field("answers", answers_of(1));
}

/* The mark notes how many bytes were received since the reset. */
static void all_act_where_the_statistics_were_reset_before_the_mark(void **state)
{
    (void)state;
    receive_much();
    script_redis("CONFIG RESETSTAT");
    script_mark_active("1", "no");
    expect_that_all_act();
}

static void nothing_acts_after_a_restart(void **state)
{
    (void)state;
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet lineage 0123456789abcdef0123456789abcdef01234567:0");
    expect_that_nothing_acts();
}

static void marker_of_an_older_pawld_names_no_lineage_and_nothing_acts(void **state)
{
    (void)state;
    script_mark_active("1", "no");
    script_redis("HDEL pawl:fleet lineage");
    expect_that_nothing_acts();
}

/* ---- durable --------------------------------------------------------------------------------- */

static void nothing_acts_while_the_file_of_a_durable_master_is_off(void **state)
{
    (void)state;
    script_mark_active("1", "yes");
    expect_that_all_act();
    script_redis("CONFIG SET appendonly no");
    expect_that_nothing_acts();
}

static void file_that_is_off_is_no_matter_where_the_marker_does_not_say_durable(void **state)
{
    (void)state;
    script_mark_active("1", "no");
    script_redis("CONFIG SET appendonly no");
    expect_that_all_act();
}

/* Redis writes each key of it so slowly that it takes a while. */
static void slow_down_rewrites(void)
{
    script_add_locks(40);
    script_redis("CONFIG SET rdb-key-save-delay 50000");
}

static bool is_rewriting(void *unused)
{
    (void)unused;
    redisReply *reply = script_reply("INFO persistence");
    bool rewriting = strstr(reply->str, "aof_rewrite_in_progress:1") ||
                     strstr(reply->str, "aof_rewrite_scheduled:1");
    freeReplyObject(reply);
    return rewriting;
}

static bool is_not_rewriting(void *unused)
{
    return !is_rewriting(unused);
}

static void nothing_acts_before_a_file_that_was_switched_on_is_complete(void **state)
{
    (void)state;
    slow_down_rewrites();
    script_mark_active("1", "yes");
    script_redis("CONFIG SET appendonly no");
    script_redis("CONFIG SET appendonly yes");
    assert_true(is_rewriting(NULL));
    expect_that_nothing_acts();
    assert_int_equal(settle(), 0);
    assert_true(is_rewriting(NULL));
    assert_true(wait_until(is_not_rewriting, NULL, REWRITE_WAIT_MS));
    expect_that_all_act();
}

static void rewrite_alone_is_no_reason_to_refuse(void **state)
{
    (void)state;
    slow_down_rewrites();
    script_mark_active("1", "yes");
    script_redis("BGREWRITEAOF");
    assert_true(is_rewriting(NULL));
    expect_that_all_act();
    assert_true(is_rewriting(NULL));
}

static void nothing_acts_where_config_was_set_during_a_rewrite(void **state)
{
    (void)state;
    slow_down_rewrites();
    script_mark_active("1", "yes");
    script_redis("BGREWRITEAOF");
    script_redis("CONFIG SET hz 11");
    expect_that_nothing_acts();
    assert_true(wait_until(is_not_rewriting, NULL, REWRITE_WAIT_MS));
    expect_that_all_act();
}

/* ---- settle ---------------------------------------------------------------------------------- */

static void settled_master_is_not_refused_in_its_next_rewrite(void **state)
{
    (void)state;
    script_mark_active("1", "yes");
    slow_down_rewrites();
    script_assert_field("sets", "0::0");
    assert_int_equal(settle(), 1);
    script_assert_field("sets", "1::0");
    script_redis("BGREWRITEAOF");
    assert_true(is_rewriting(NULL));
    expect_that_all_act();
}

static void nothing_is_settled_during_a_rewrite(void **state)
{
    (void)state;
    slow_down_rewrites();
    script_mark_active("1", "yes");
    script_redis("BGREWRITEAOF");
    script_redis("CONFIG SET hz 11");
    assert_int_equal(settle(), 0);
    script_assert_field("sets", "1::0");
}

static void only_a_master_of_its_fleet_and_lineage_is_settled(void **state)
{
    (void)state;
    static const char *const changes[] = {
        "fleet 0000000000000000000000000000000000000000",
        "member 2",
        "lineage 0123456789abcdef0123456789abcdef01234567:0",
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        script_mark_active("1", "yes");
        script_redis("HSET pawl:fleet sets 99 %s", changes[i]);
        assert_int_equal(settle(), 0);
        script_assert_field("sets", "99");
    }
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet sets 99");
    script_redis("CONFIG SET appendonly no");
    assert_int_equal(settle(), 0);
    script_assert_field("sets", "99");
}

static void file_of_a_master_that_is_taken_back_is_not_settled(void **state)
{
    (void)state;
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet state joining sets 99");
    assert_int_equal(settle(), 1);
    script_assert_field("sets", "99");
    script_assert_field("answers", answers_of(1));
}

static void settle_notes_how_many_bytes_were_received(void **state)
{
    (void)state;
    script_mark_active("1", "no");
    script_redis("HSET pawl:fleet bytes 5");
    assert_int_equal(settle(), 1);
    redisReply *reply = script_reply("HGET pawl:fleet bytes");
    assert_in_range(strtoll(reply->str, NULL, 10), 1000, 10000000);
    freeReplyObject(reply);
}

/* Its file is no matter then, and what is known of it stays as it was. */
static void settle_notes_bytes_during_a_rewrite_and_no_complete_file(void **state)
{
    (void)state;
    slow_down_rewrites();
    script_mark_active("1", "no");
    script_redis("HSET pawl:fleet bytes 5 sets 99:");
    script_redis("BGREWRITEAOF");
    assert_int_equal(settle(), 1);
    assert_true(is_rewriting(NULL));
    script_assert_field("sets", "99:");
    redisReply *reply = script_reply("HGET pawl:fleet bytes");
    assert_true(strtoll(reply->str, NULL, 10) > 5);
    freeReplyObject(reply);
}

/* ---- restamp --------------------------------------------------------------------------------- */

#define THEN "0123456789abcdef0123456789abcdef01234567:0"

static void restamp_names_the_run_and_the_lineage_of_now(void **state)
{
    (void)state;
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
    expect_that_all_act();
}

static long long doubt(const char *run, const char *lineage)
{
    static const char *const scripts[] = {storage_redis_lua_doubt};
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
    (void)state;
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

/* Those of the process before are counted no more. */
static void restamp_notes_the_answers_of_now(void **state)
{
    (void)state;
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet answers 3@%s", script_lineage());
    assert_int_equal(restamp(script_lineage(), script_lineage()), 1);
    script_assert_field("answers", "");
    expect_that_all_act();
}

/* It was full before it restarted. */
static void restamp_is_written_though_memory_is_out(void **state)
{
    (void)state;
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet lineage " THEN);
    use_up_memory();
    assert_int_equal(restamp(THEN, script_lineage()), 1);
    script_assert_field("lineage", script_lineage());
}

/* After a reset of the statistics run and lineage are what they were. Another server restamped it
 * since, and it may have evicted something after that. */
static void late_restamp_after_a_reset_changes_nothing(void **state)
{
    (void)state;
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
    assert_true(same(before, after));
    freeReplyObject(before);
    freeReplyObject(after);
}

/* Its peers may have recorded the incarnation that it was to get. */
static void restamp_of_an_intact_joining_master_admits_it_as_what_it_was_to_be(void **state)
{
    (void)state;
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

static void restamp_refuses_a_joining_master_that_is_not_intact(void **state)
{
    (void)state;
    static const char *const intact[] = {"intact no", "x x"};
    for (size_t i = 0; i < 2; i++) {
        script_redis("DEL pawl:fleet");
        script_mark_active("1", "yes");
        script_redis("HSET pawl:fleet lineage " THEN " state joining next 25 %s", intact[i]);
        assert_int_equal(restamp(THEN, script_lineage()), 0);
        script_assert_field("state", "joining");
        script_assert_field("view", "10,20,30");
        script_assert_field("lineage", THEN);
        script_assert_field("next", "25");
    }
}

/* A cursor means something to the process that gave it. */
static void restamp_begins_a_sweep_anew_and_begins_none(void **state)
{
    (void)state;
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
    (void)state;
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
    (void)state;
    char judged[FENCE_LINEAGE_MAX + 1];
    script_mark_active("1", "yes");
    script_redis("HSET pawl:fleet lineage " THEN);
    snprintf(judged, sizeof(judged), "%s", script_lineage());
    script_redis("REPLICAOF 127.0.0.1 1");
    script_redis("REPLICAOF NO ONE");
    assert_int_equal(restamp(THEN, judged), 0);
    script_assert_field("lineage", THEN);
}

static const struct CMUnitTest cases[] = {
    SCRIPT_CASE(all_act_where_nothing_happened),
    SCRIPT_CASE(nothing_acts_on_a_replica),
    SCRIPT_CASE(nothing_acts_once_it_was_a_replica_in_the_same_process),
    SCRIPT_CASE(nothing_acts_once_a_key_was_evicted),
    SCRIPT_CASE(nothing_acts_once_the_statistics_were_reset),
    SCRIPT_CASE(all_act_where_the_statistics_were_reset_before_the_mark),
    SCRIPT_CASE(first_answer_of_settle_is_counted_and_the_second_notes_it),
    SCRIPT_CASE(nothing_acts_after_a_reset_though_much_was_received_since),
    SCRIPT_CASE(nothing_acts_where_fewer_answers_were_counted_than_noted),
    SCRIPT_CASE(answers_of_another_lineage_say_nothing),
    SCRIPT_CASE(many_kinds_of_errors_hide_no_reset),
    SCRIPT_CASE(many_kinds_of_errors_before_the_mark_hide_no_reset),
    SCRIPT_CASE(answers_are_noted_though_memory_is_out),
    SCRIPT_DURABLE(nothing_acts_after_a_restart),
    SCRIPT_CASE(marker_of_an_older_pawld_names_no_lineage_and_nothing_acts),
    SCRIPT_DURABLE(nothing_acts_while_the_file_of_a_durable_master_is_off),
    SCRIPT_DURABLE(file_that_is_off_is_no_matter_where_the_marker_does_not_say_durable),
    SCRIPT_DURABLE(nothing_acts_before_a_file_that_was_switched_on_is_complete),
    SCRIPT_DURABLE(rewrite_alone_is_no_reason_to_refuse),
    SCRIPT_DURABLE(nothing_acts_where_config_was_set_during_a_rewrite),
    SCRIPT_DURABLE(settled_master_is_not_refused_in_its_next_rewrite),
    SCRIPT_DURABLE(nothing_is_settled_during_a_rewrite),
    SCRIPT_DURABLE(only_a_master_of_its_fleet_and_lineage_is_settled),
    SCRIPT_DURABLE(file_of_a_master_that_is_taken_back_is_not_settled),
    SCRIPT_CASE(settle_notes_how_many_bytes_were_received),
    SCRIPT_DURABLE(settle_notes_bytes_during_a_rewrite_and_no_complete_file),
    SCRIPT_DURABLE(restamp_names_the_run_and_the_lineage_of_now),
    SCRIPT_DURABLE(loss_is_noted_in_the_marker_that_was_judged_though_memory_is_out),
    SCRIPT_DURABLE(restamp_notes_the_answers_of_now),
    SCRIPT_DURABLE(restamp_is_written_though_memory_is_out),
    SCRIPT_DURABLE(late_restamp_after_a_reset_changes_nothing),
    SCRIPT_DURABLE(restamp_of_an_intact_joining_master_admits_it_as_what_it_was_to_be),
    SCRIPT_DURABLE(restamp_refuses_a_joining_master_that_is_not_intact),
    SCRIPT_DURABLE(restamp_begins_a_sweep_anew_and_begins_none),
    SCRIPT_DURABLE(restamp_wants_the_marker_as_it_was_seen),
    SCRIPT_DURABLE(restamp_wants_the_lineage_that_was_judged),
};

CASE_MAIN(cases, NULL, NULL)
