/* What is read out of a Redis' answers, on answers as they come over the wire. */
#include "storage/redis_facts.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

enum {
    WIRE_MAX = 2048,
};

#define RUN_ID "0123456789abcdef0123456789abcdef01234567"

/* The reply that the bytes @wire are; the caller frees it. */
static redisReply *reply_of(const char *wire)
{
    void *reply = NULL;
    redisReader *reader = redisReaderCreate();
    assert_int_equal(redisReaderFeed(reader, wire, strlen(wire)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}

static int read_wire(enum storage_question question, const char *wire, struct fence_facts *facts)
{
    redisReply *reply = reply_of(wire);
    int error = storage_facts_read(question, reply, 1, facts);
    freeReplyObject(reply);
    return error;
}

/* INFO of a Redis 7.0.15, with @more lines. */
static struct fence_facts info(const char *more)
{
    struct fence_facts facts = {0};
    char text[WIRE_MAX / 2];
    char wire[WIRE_MAX];
    snprintf(text, sizeof(text),
             "# Server\r\nredis_version:7.0.15\r\nrun_id:" RUN_ID "\r\n\r\n# Memory\r\n%s", more);
    snprintf(wire, sizeof(wire), "$%zu\r\n%s\r\n", strlen(text), text);
    assert_int_equal(read_wire(STORAGE_ASK_INFO, wire, &facts), 0);
    assert_string_equal(facts.run_id, RUN_ID);
    assert_int_equal(facts.version, 70015);
    return facts;
}

static struct fence_facts config(const char *aof, const char *fsync, const char *rewrite)
{
    struct fence_facts facts = {.durable = true}; /* as an earlier look found it */
    const char *const items[] = {
        "appendonly", aof, "appendfsync", fsync, "no-appendfsync-on-rewrite", rewrite};
    char wire[WIRE_MAX] = "*6\r\n";
    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
        size_t len = strlen(wire);
        snprintf(wire + len, sizeof(wire) - len, "$%zu\r\n%s\r\n", strlen(items[i]), items[i]);
    }
    assert_int_equal(read_wire(STORAGE_ASK_CONFIG, wire, &facts), 0);
    return facts;
}

static uint64_t time_us(const char *wire)
{
    redisReply *reply = reply_of(wire);
    uint64_t us = storage_facts_time_us(reply);
    freeReplyObject(reply);
    return us;
}

/* ---- INFO ------------------------------------------------------------------------------------ */

static void keys_may_be_dropped_where_memory_is_bounded_and_the_policy_drops(void **state)
{
    (void)state;
    assert_true(info("maxmemory:1048576\r\nmaxmemory_policy:allkeys-lru\r\n").evicts);
    assert_true(info("maxmemory:1048576\r\nmaxmemory_policy:volatile-ttl\r\n").evicts);
    assert_false(info("maxmemory:1048576\r\nmaxmemory_policy:noeviction\r\n").evicts);
    assert_false(info("maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n").evicts);
    assert_false(info("maxmemory_human:1K\r\nmaxmemory_policy:allkeys-lru\r\n").evicts);
}

static void memory_is_full_where_it_is_used_up_and_nothing_is_dropped(void **state)
{
    (void)state;
    assert_true(info("used_memory:9\r\nmaxmemory:8\r\nmaxmemory_policy:noeviction\r\n").full);
    assert_true(info("used_memory:8\r\nmaxmemory:8\r\nmaxmemory_policy:noeviction\r\n").full);
    assert_false(info("used_memory:7\r\nmaxmemory:8\r\nmaxmemory_policy:noeviction\r\n").full);
    assert_false(info("used_memory:9\r\nmaxmemory:8\r\nmaxmemory_policy:allkeys-lru\r\n").full);
    assert_false(info("used_memory:9\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n").full);
}

static void attached_replicas_are_counted(void **state)
{
    (void)state;
    assert_int_equal(info("role:master\r\nconnected_slaves:2\r\n").replicas, 2);
    assert_int_equal(info("role:master\r\nconnected_slaves:0\r\n").replicas, 0);
    assert_int_equal(info("role:master\r\n").replicas, 0);
}

static void info_that_is_refused_is_no_look(void **state)
{
    (void)state;
    struct fence_facts facts = {0};
    assert_int_equal(read_wire(STORAGE_ASK_INFO, "-LOADING loading\r\n", &facts), FENCE_EIO);
    assert_int_equal(read_wire(STORAGE_ASK_INFO, "$4\r\n\r\n\r\n\r\n", &facts), FENCE_EIO);
}

/* ---- CONFIG ---------------------------------------------------------------------------------- */

static void durable_is_always_and_during_rewrites_too(void **state)
{
    (void)state;
    assert_true(config("yes", "always", "no").durable);
    assert_false(config("yes", "always", "yes").durable);
    assert_false(config("yes", "everysec", "no").durable);
    assert_false(config("no", "always", "no").durable);
    assert_string_equal(config("yes", "always", "yes").persistence, "always");
    assert_string_equal(config("yes", "everysec", "no").persistence, "everysec");
    assert_string_equal(config("no", "always", "no").persistence, "none");
}

static void config_that_is_refused_is_not_durable_any_more(void **state)
{
    (void)state;
    struct fence_facts facts = {.durable = true, .persistence = "always"};
    assert_int_equal(read_wire(STORAGE_ASK_CONFIG, "-NOPERM no permissions\r\n", &facts), 0);
    assert_false(facts.durable);
    assert_string_equal(facts.persistence, "unknown");
}

/* ---- TIME ------------------------------------------------------------------------------------ */

static void time_is_seconds_and_microseconds(void **state)
{
    (void)state;
    assert_int_equal(time_us("*2\r\n$10\r\n1795187593\r\n$6\r\n000123\r\n"),
                     UINT64_C(1795187593000123));
    assert_int_equal(time_us("*2\r\n$10\r\n1795187593\r\n$1\r\n7\r\n"), UINT64_C(1795187593000007));
}

static void time_that_is_no_time_is_none(void **state)
{
    (void)state;
    assert_int_equal(time_us("-NOPERM no permissions\r\n"), 0);
    assert_int_equal(time_us("*1\r\n$10\r\n1795187593\r\n"), 0);
    assert_int_equal(time_us("*2\r\n$1\r\n-\r\n$1\r\n7\r\n"), 0);
    assert_int_equal(time_us("*2\r\n:1795187593\r\n:7\r\n"), 0);
    assert_int_equal(time_us("*2\r\n$12\r\n999999999999\r\n$1\r\n7\r\n"), 0);
    assert_int_equal(time_us("*2\r\n$0\r\n\r\n$1\r\n7\r\n"), 0);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(keys_may_be_dropped_where_memory_is_bounded_and_the_policy_drops),
    cmocka_unit_test(memory_is_full_where_it_is_used_up_and_nothing_is_dropped),
    cmocka_unit_test(attached_replicas_are_counted),
    cmocka_unit_test(info_that_is_refused_is_no_look),
    cmocka_unit_test(durable_is_always_and_during_rewrites_too),
    cmocka_unit_test(config_that_is_refused_is_not_durable_any_more),
    cmocka_unit_test(time_is_seconds_and_microseconds),
    cmocka_unit_test(time_that_is_no_time_is_none),
};

CASE_MAIN(cases, NULL, NULL)
