#include "tests/integration/storage/redis/lua/script_fixture.h"

#include "storage/redis/lua/lineage_check.lua.h"
#include "storage/redis/requests_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct redis_fleet *script_fleet;

static redisContext *link;
static redisReply *last; /* reply of the last step: what it answered points there */
static struct fence_view known;

static int start(enum redis_persistence persistence)
{
    script_fleet = redis_fleet_new(1, persistence);
    link = redisConnect("127.0.0.1", script_fleet->master[0].port);
    assert_true(link && !link->err);
    return 0;
}

int script_start(void **state)
{
    return start(REDIS_VOLATILE);
}

int script_start_durable(void **state)
{
    return start(REDIS_ALWAYS);
}

int script_stop(void **state)
{
    freeReplyObject(last);
    last = NULL;
    redisFree(link);
    redis_fleet_free(script_fleet);
    return 0;
}

redisReply *script_reply(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    redisReply *reply = redisvCommand(link, format, args);
    va_end(args);
    assert_non_null(reply);
    return reply;
}

void script_redis(const char *format, ...)
{
    char command[512];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    redisReply *reply = script_reply(command);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", command, reply->str);
    freeReplyObject(reply);
}

redisReply *script_eval(const char *const scripts[], size_t n, const char *arguments)
{
    enum {
        ARGS_MAX = 32,
        SCRIPT_MAX = 64 * 1024,
    };
    char *script = calloc(1, SCRIPT_MAX);
    size_t len = 0;
    char *words = strdup(arguments);
    const char *args[ARGS_MAX] = {"EVAL", script};
    int count = 2;
    assert_true(script && words);
    for (size_t i = 0; i < n; i++) {
        len += (size_t)snprintf(script + len, SCRIPT_MAX - len, "%s", scripts[i]);
        assert_true(len < SCRIPT_MAX);
    }
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        assert_true(count < ARGS_MAX);
        args[count++] = word;
    }
    redisReply *reply = redisCommandArgv(link, count, args, NULL);
    assert_non_null(reply);
    free(script);
    free(words);
    return reply;
}

redisReply *script_eval_requests(const char *arguments)
{
    size_t len = 0;
    char *script = storage_requests_script(&len);
    assert_non_null(script);
    redisReply *reply = script_eval((const char *const[]){script}, 1, arguments);
    free(script);
    return reply;
}

void script_assert_error(redisReply *reply, const char *sign)
{
    assert_int_equal(reply->type, REDIS_REPLY_ERROR);
    if (strncmp(reply->str, sign, strlen(sign)) != 0)
        fail_msg("it is no %s, but: %s", sign, reply->str);
    freeReplyObject(reply);
}

const char *script_lineage(void)
{
    static const char *const scripts[] = {storage_redis_lua_lineage_check,
                                          "return (lineage_now())"};
    static char lineage[FENCE_LINEAGE_MAX + 1];
    redisReply *reply = script_eval(scripts, 2, "1 pawl:fleet");
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    snprintf(lineage, sizeof(lineage), "%s", reply->str);
    freeReplyObject(reply);
    return lineage;
}

/* The notes of mark.lua about the process: the fields "sets" and "bytes". */
static void mark_process(void)
{
    static const char *const scripts[] = {
        storage_redis_lua_lineage_check,
        "return redis.call('HSET', fleet, 'sets', sets_now(), 'bytes', bytes_now())"};
    redisReply *reply = script_eval(scripts, 2, "1 pawl:fleet");
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    freeReplyObject(reply);
}

void script_mark_active(const char *member, const char *durable)
{
    script_redis("HSET pawl:fleet fleet " SCRIPT_FLEET " member %s run " SCRIPT_RUN
                 " lineage %s max_ttl_ms %d durable %s state active view 10,20,30",
                 member, script_lineage(), SCRIPT_TTL_MAX_MS, durable);
    mark_process();
}

void script_mark_joining(const char *durable)
{
    script_mark_active("2", durable);
    script_redis("HSET pawl:fleet state joining next %d progress 0", SCRIPT_NEXT);
}

uint32_t script_progress(void)
{
    redisReply *reply = script_reply("HGET pawl:fleet progress");
    const uint32_t progress = reply->str ? (uint32_t)strtoul(reply->str, NULL, 10) : 0;
    freeReplyObject(reply);
    return progress;
}

void script_assert_field(const char *field, const char *expected)
{
    redisReply *reply = script_reply("HGET pawl:fleet %s", field);
    if (expected)
        assert_string_equal(reply->type == REDIS_REPLY_STRING ? reply->str : "", expected);
    else
        assert_int_equal(reply->type, REDIS_REPLY_NIL);
    freeReplyObject(reply);
}

struct fence_facts script_facts(void)
{
    struct fence_facts facts = {
        .server_id = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
        .marked = true,
        .fleet_id = SCRIPT_FLEET,
        .member = SCRIPT_ME + 1,
        .marked_server_id = SCRIPT_RUN,
        .marked_durable = true,
        .marked_active = true,
        .ttl_max_ms = SCRIPT_TTL_MAX_MS,
        .view = {{10, 20, 30}},
    };
    memcpy(facts.marked_lineage, script_lineage(), sizeof(facts.marked_lineage));
    memcpy(facts.lineage, facts.marked_lineage, sizeof(facts.lineage));
    return facts;
}

struct fence_rejoin_reply script_step(struct fence_rejoin_request request, unsigned to)
{
    static const struct fence_view named = {{10, SCRIPT_NEXT, 30}};
    static const struct fence_page nothing = {.bytes = "", .len = 0};
    struct fence_facts facts = script_facts();
    request.member = SCRIPT_ME;
    if (!request.fleet_id)
        request.fleet_id = SCRIPT_FLEET;
    request.ttl_max_ms = SCRIPT_TTL_MAX_MS;
    if (!request.incarnation)
        request.incarnation = SCRIPT_NEXT;
    if (!request.view)
        request.view = &named;
    if (!request.seen)
        request.seen = &facts;
    if (!request.page)
        request.page = &nothing;
    char *command = NULL;
    size_t len = 0;
    void *reply = NULL;
    assert_int_equal(storage_rejoin_command(&request, to, SCRIPT_MASTERS, &command, &len), 0);
    assert_int_equal(redisAppendFormattedCommand(link, command, len), REDIS_OK);
    redisFreeCommand(command);
    assert_int_equal(redisGetReply(link, &reply), REDIS_OK);
    freeReplyObject(last);
    last = reply;
    if (last->type == REDIS_REPLY_ERROR && strncmp(last->str, "PAWL", 4) != 0)
        fail_msg("%s", last->str);
    return storage_rejoin_reply(request.step, last, SCRIPT_MASTERS, &known);
}

const char *script_error(void)
{
    return last && last->type == REDIS_REPLY_ERROR ? last->str : "";
}

enum {
    EXPIRY_AT = 1, /* in "@<expiry>@<from>@<lock>" */
    FROM_AT = 15,
};

static const char *value_at(const char *key)
{
    static char value[600];
    redisReply *reply = script_reply("GET %s", key);
    snprintf(value, sizeof(value), "%s", reply->type == REDIS_REPLY_STRING ? reply->str : "");
    freeReplyObject(reply);
    return value;
}

void script_assert_imported(const char *key, const char *expected)
{
    const char *value = value_at(key);
    if (value[0] != '@' || strlen(value) < FROM_AT || value[FROM_AT - 1] != '@')
        fail_msg("%s is no lock that was imported just now, but: %s", key, value);
    assert_string_equal(value + FROM_AT, expected);
}

long long script_imported_expiry_ms(const char *key)
{
    const char *value = value_at(key);
    assert_int_equal(value[0], '@');
    return strtoll(value + EXPIRY_AT, NULL, 10);
}

long long script_imported_left_ms(const char *key)
{
    return script_imported_expiry_ms(key) - script_now_ms();
}

long long script_now_ms(void)
{
    redisReply *reply = script_reply("TIME");
    assert_int_equal(reply->elements, 2);
    long long seconds = strtoll(reply->element[0]->str, NULL, 10);
    long long us = strtoll(reply->element[1]->str, NULL, 10);
    freeReplyObject(reply);
    return seconds * 1000 + us / 1000;
}

void script_add_locks(unsigned n)
{
    script_redis("EVAL for\ti=1,tonumber(ARGV[1])\tdo\tredis.call('SET','pawl:lock:'..i,"
                 "'aaaaaaaaaaaaaaaaaaaaaa.1:'..i..':0::','PX',60000)\tend 0 %u",
                 n);
}
