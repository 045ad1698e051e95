/* The module keeps its verdict on what its data descend from, and an event ends it: what happened
 * to the server is noticed by the next call. Each event is sent in one write with the calls around
 * it, so that no time ends the verdict. */
#include "storage/redis/module/lineage_cache.h"
#include "tests/integration/storage/redis/module/scene.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <stdlib.h>
#include <string.h>

enum {
    CALLS = 200,
    ATTACH_MS = 10000,      /* for a replica to attach */
    ROOM = 2 * 1024 * 1024, /* bytes that a server may use still, less than a large string has */
};

static const char inspect[] = "$1\r\nI\r\n";

static void append_call(struct scene *scene)
{
    assert_int_equal(
        redisAppendCommand(scene->redis, SCENE_CALL, inspect, sizeof(inspect) - 1, SCENE_KEY),
        REDIS_OK);
}

static redisReply *next_reply(struct scene *scene)
{
    redisReply *reply = NULL;
    assert_int_equal(redisGetReply(scene->redis, (void **)&reply), REDIS_OK);
    return reply;
}

static void expect_acts(redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY)
        fail_msg("a call was answered: %s", reply->str);
    freeReplyObject(reply);
}

static void expect_refuses(redisReply *reply, const char *sign)
{
    if (reply->type != REDIS_REPLY_ERROR || strncmp(reply->str, sign, strlen(sign)) != 0)
        fail_msg("a call was not refused with %s, but answered: %s", sign,
                 reply->str ? reply->str : "an array");
    freeReplyObject(reply);
}

/* A call, these commands, and a call, in one write. Returns the reply to the last. */
static redisReply *call_around(struct scene *scene, const char *const commands[])
{
    size_t count = 0;
    append_call(scene);
    for (; commands[count]; count++)
        assert_int_equal(redisAppendCommand(scene->redis, commands[count]), REDIS_OK);
    append_call(scene);
    expect_acts(next_reply(scene));
    for (size_t i = 0; i < count; i++) {
        redisReply *reply = next_reply(scene);
        if (reply->type == REDIS_REPLY_ERROR)
            fail_msg("%s: %s", commands[i], reply->str);
        freeReplyObject(reply);
    }
    return next_reply(scene);
}

#define CALL_AROUND(scene, ...) call_around(scene, (const char *const[]){__VA_ARGS__, NULL})

static void command(struct scene *scene, const char *text)
{
    redisReply *reply = redisCommand(scene->redis, text);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", text, reply->str);
    freeReplyObject(reply);
}

/* 0 where the field is not there. */
static unsigned long number_in(struct scene *scene, const char *section, const char *field)
{
    redisReply *info = redisCommand(scene->redis, "INFO %s", section);
    const char *found = strstr(info->str, field);
    const unsigned long number = found ? strtoul(found + strlen(field), NULL, 10) : 0;
    freeReplyObject(info);
    return number;
}

/* ---- what an event tells --------------------------------------------------------------------- */

static void role_that_changed_and_back_is_noticed(void **state)
{
    expect_refuses(CALL_AROUND(*state, "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
                   "PAWLFORGOT It was a replica");
}

/* Redis refuses the command of the module on a replica by itself. */
static void replica_is_refused(void **state)
{
    expect_refuses(CALL_AROUND(*state, "REPLICAOF 127.0.0.1 1"), "READONLY ");
}

/* It evicts keys that have an expiry, before a command that finds its memory used up. */
static void let_it_evict(struct scene *scene)
{
    command(scene, "SET other x PX 60000");
    command(scene, "CONFIG SET maxmemory-policy volatile-ttl");
    freeReplyObject(redisCommand(scene->redis, "CONFIG SET maxmemory %lu",
                                 number_in(scene, "memory", "\nused_memory:") + ROOM));
}

/* One large string uses up its memory, and is evicted by the last of these. */
#define EVICT "SETRANGE large 4194304 x", "PEXPIRE large 60000", "SET any x"

static void eviction_is_noticed(void **state)
{
    struct scene *scene = *state;
    let_it_evict(scene);
    expect_refuses(CALL_AROUND(scene, EVICT), "PAWLFORGOT It was a replica");
}

static void eviction_that_a_reset_of_the_statistics_hides_is_noticed(void **state)
{
    struct scene *scene = *state;
    let_it_evict(scene);
    expect_refuses(CALL_AROUND(scene, EVICT, "CONFIG RESETSTAT"), "PAWLFORGOT It evicted keys");
}

static void setting_of_persistence_that_changed_is_noticed(void **state)
{
    static const char *const weaken[] = {"CONFIG SET appendfsync everysec",
                                         "CONFIG SET no-appendfsync-on-rewrite yes"};
    static const char *const mend[] = {"CONFIG SET appendfsync always",
                                       "CONFIG SET no-appendfsync-on-rewrite no"};
    struct scene *scene = *state;
    for (int i = 0; i < 2; i++) {
        expect_refuses(CALL_AROUND(scene, weaken[i]), "PAWLFORGOT Its persistence changed.");
        command(scene, mend[i]);
        expect_acts(scene_call_bytes(scene, inspect, sizeof(inspect) - 1, SCENE_KEY));
    }
}

static void file_that_was_switched_off_is_noticed(void **state)
{
    expect_refuses(CALL_AROUND(*state, "CONFIG SET appendonly no"),
                   "PAWLFORGOT Its marker says durable, and appendonly is off.");
}

/* A file that was switched off and on is complete once its rewrite ended. */
static void file_that_was_switched_off_and_on_is_noticed(void **state)
{
    struct scene *scene = *state;
    command(scene, "CONFIG SET rdb-key-save-delay 1000000");
    expect_refuses(CALL_AROUND(scene, "CONFIG SET appendonly no", "CONFIG SET appendonly yes"),
                   "PAWLFORGOT Its append-only file is rewritten");
}

/* The rewrite alone may be of a file that was switched on before. */
static void rewrite_after_a_setting_is_noticed(void **state)
{
    struct scene *scene = *state;
    command(scene, "CONFIG SET rdb-key-save-delay 1000000");
    expect_refuses(CALL_AROUND(scene, "BGREWRITEAOF"),
                   "PAWLFORGOT Its append-only file is rewritten");
}

/* ---- what the marker tells ------------------------------------------------------------------- */

static void marker_that_is_gone_is_noticed(void **state)
{
    expect_refuses(CALL_AROUND(*state, "FLUSHALL"), "PAWLGONE ");
}

static void marker_that_is_moved_is_noticed(void **state)
{
    static const char *const ways[] = {"FLUSHDB", "SWAPDB 0 1", "DEL pawl:fleet"};
    struct scene *scene = *state;
    command(scene, "COPY pawl:fleet pawl:fleet DB 2");
    command(scene, "SELECT 0"); /* Valkey 8.1.1 leaves the connection in the other database */
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        expect_refuses(CALL_AROUND(scene, ways[i]), "PAWLGONE ");
        command(scene, "SELECT 2");
        command(scene, "COPY pawl:fleet pawl:fleet DB 0 REPLACE");
        command(scene, "SELECT 0");
    }
}

/* ---- what nothing tells ---------------------------------------------------------------------- */

static void reset_of_the_statistics_is_noticed_after_a_moment(void **state)
{
    struct scene *scene = *state;
    freeReplyObject(redisCommand(scene->redis, "HSET pawl:fleet bytes %lu",
                                 number_in(scene, "stats", "\ntotal_net_input_bytes:")));
    expect_acts(scene_call_bytes(scene, inspect, sizeof(inspect) - 1, SCENE_KEY));
    command(scene, "CONFIG RESETSTAT");
    wait_ms(STORAGE_MODULE_LINEAGE_CACHE_MS + 10);
    expect_refuses(scene_call_bytes(scene, inspect, sizeof(inspect) - 1, SCENE_KEY),
                   "PAWLFORGOT Its statistics were reset");
}

/* ---- another replication id ------------------------------------------------------------------ */

static struct redis_fleet *replica;

static int end(void **state)
{
    redis_fleet_free(replica);
    replica = NULL;
    return scene_end(state);
}

/* The notes of note_process_counts.lua after its first answer was counted. */
static void settle(struct scene *scene)
{
    redisReply *server = redisCommand(scene->redis, "INFO server");
    redisReply *lineage = redisCommand(scene->redis, "HGET pawl:fleet lineage");
    const char *run = strstr(server->str, "run_id:");
    freeReplyObject(
        redisCommand(scene->redis, "EVAL %s 0", "return redis.error_reply('PAWLSTATS x')"));
    freeReplyObject(redisCommand(scene->redis, "HSET pawl:fleet answers 1@%s run %b sets 0::0",
                                 lineage->str, run + strlen("run_id:"), (size_t)40));
    freeReplyObject(lineage);
    freeReplyObject(server);
}

/* Redis takes the new id before its child begins to copy. */
static bool has_child(void *state)
{
    return number_in(state, "persistence", "rdb_bgsave_in_progress:") == 1 ||
           number_in(state, "replication", "connected_slaves:") == 1;
}

static void attach(struct scene *scene)
{
    command(scene, "CONFIG SET repl-diskless-sync-delay 0");
    replica = redis_fleet_new_mixed(1, REDIS_VOLATILE, 0);
    freeReplyObject(redis_fleet_command(replica, 0, "REPLICAOF 127.0.0.1 %u",
                                        (unsigned)scene->fleet->master[0].port));
    assert_true(wait_until(has_child, scene, ATTACH_MS));
    wait_ms(STORAGE_MODULE_LINEAGE_CACHE_MS + 10);
}

static redisReply *inspect_now(struct scene *scene)
{
    return scene_call_bytes(scene, inspect, sizeof(inspect) - 1, SCENE_KEY);
}

static void first_replica_is_no_reason_to_refuse(void **state)
{
    struct scene *scene = *state;
    settle(scene);
    expect_acts(inspect_now(scene));
    attach(scene);
    expect_acts(inspect_now(scene));
}

/* The words of the marker, and of the server, before a first replica comes. */
static void expect_refuses_with_a_replica(struct scene *scene, const char *const commands[])
{
    settle(scene);
    for (; *commands; commands++)
        command(scene, *commands);
    attach(scene);
    expect_refuses(inspect_now(scene), "PAWLFORGOT It was a replica");
}

#define REFUSES_WITH_A_REPLICA(state, ...)                                                         \
    expect_refuses_with_a_replica(state, (const char *const[]){__VA_ARGS__, NULL})

/* The first replica has Redis forget that it was promoted: only the calls are left. */
static void promotion_before_a_first_replica_is_noticed(void **state)
{
    REFUSES_WITH_A_REPLICA(*state, "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE");
}

static void eviction_before_a_first_replica_is_noticed(void **state)
{
    let_it_evict(*state);
    REFUSES_WITH_A_REPLICA(*state, EVICT, "CONFIG SET maxmemory 0");
}

static void replica_of_another_process_is_noticed(void **state)
{
    REFUSES_WITH_A_REPLICA(*state, "HSET pawl:fleet run " SCENE_FLEET);
}

static void replica_before_the_answers_are_noted_is_noticed(void **state)
{
    REFUSES_WITH_A_REPLICA(*state, "HDEL pawl:fleet answers");
}

/* Counts calls under other names. */
static void promotion_that_is_not_counted_is_noticed(void **state)
{
    struct scene *scene = *state;
    settle(scene);
    command(scene, "REPLICAOF 127.0.0.1 1");
    command(scene, "REPLICAOF NO ONE");
    command(scene, "HSET pawl:fleet sets 0::2");
    expect_refuses(inspect_now(scene), "PAWLFORGOT It was a replica");
}

/* ---- the module ------------------------------------------------------------------------------ */

static void module_that_is_loaded_again_reads_all(void **state)
{
    struct scene *scene = *state;
    const char *build = getenv("PAWL_BUILD");
    if (!build)
        case_skip("PAWL_BUILD does not say where the module is");
    expect_acts(scene_call_bytes(scene, inspect, sizeof(inspect) - 1, SCENE_KEY));
    command(scene, "MODULE UNLOAD pawl-master");
    command(scene, "REPLICAOF 127.0.0.1 1");
    command(scene, "REPLICAOF NO ONE");
    freeReplyObject(redisCommand(scene->redis, "MODULE LOAD %s/storage/pawl-master.so", build));
    expect_refuses(scene_call_bytes(scene, inspect, sizeof(inspect) - 1, SCENE_KEY),
                   "PAWLFORGOT It was a replica");
}

static void many_calls_ask_once(void **state)
{
    static const char gets[] = "cmdstat_config|get:calls=";
    static const char infos[] = "cmdstat_info:calls=";
    struct scene *scene = *state;
    const unsigned long gets_before = number_in(scene, "commandstats", gets);
    const unsigned long infos_before = number_in(scene, "commandstats", infos);
    for (int i = 0; i < CALLS; i++)
        append_call(scene);
    for (int i = 0; i < CALLS; i++)
        expect_acts(next_reply(scene));
    assert_in_range(number_in(scene, "commandstats", gets) - gets_before, 0, CALLS / 10);
    assert_in_range(number_in(scene, "commandstats", infos) - infos_before, 1,
                    CALLS / 10); /* and its own */
}

static const struct CMUnitTest cases[] = {
#define VOLATILE(name) cmocka_unit_test_setup_teardown(name, scene_start_volatile, scene_end)
#define ALWAYS(name)   cmocka_unit_test_setup_teardown(name, scene_start_always, scene_end)
#define REPLICA(name)  cmocka_unit_test_setup_teardown(name, scene_start_volatile, end)
    VOLATILE(role_that_changed_and_back_is_noticed),
    VOLATILE(replica_is_refused),
    VOLATILE(eviction_is_noticed),
    VOLATILE(eviction_that_a_reset_of_the_statistics_hides_is_noticed),
    ALWAYS(setting_of_persistence_that_changed_is_noticed),
    ALWAYS(file_that_was_switched_off_is_noticed),
    ALWAYS(file_that_was_switched_off_and_on_is_noticed),
    ALWAYS(rewrite_after_a_setting_is_noticed),
    VOLATILE(marker_that_is_gone_is_noticed),
    VOLATILE(marker_that_is_moved_is_noticed),
    VOLATILE(reset_of_the_statistics_is_noticed_after_a_moment),
    REPLICA(first_replica_is_no_reason_to_refuse),
    REPLICA(promotion_before_a_first_replica_is_noticed),
    REPLICA(eviction_before_a_first_replica_is_noticed),
    REPLICA(replica_of_another_process_is_noticed),
    REPLICA(replica_before_the_answers_are_noted_is_noticed),
    VOLATILE(promotion_that_is_not_counted_is_noticed),
    VOLATILE(module_that_is_loaded_again_reads_all),
    ALWAYS(many_calls_ask_once),
};

CASE_MAIN(cases, NULL, NULL)
