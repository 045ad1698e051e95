/* The module answers what the script answers, and leaves the same keys: random histories of
 * requests, and of what others do to the keys, on a Redis with the module and on one without.
 *
 * PAWL_HISTORIES says how many (400), PAWL_SEED which is the first (1). */
#include "storage/redis/batch.h"
#include "storage/redis/requests_script.h"
#include "tests/integration/storage/redis/module/alike.h"
#include "tests/integration/storage/redis/module/chance.h"
#include "tests/lib/case.h"
#include "tests/lib/redis_fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum {
    LUA,
    MODULE,
    SERVERS,
    HISTORIES = 400,
    STEPS = 12,
    REQUESTS_MAX = 5,
    ASKED_MAX = 8192,
};

#define FLEET_ID "f1ee7f1ee7f1ee7f1ee7f1ee7f1ee7f1ee7f1ee7"

struct pair {
    struct redis_fleet *fleet;
    redisContext *redis[SERVERS];
    char sha[STORAGE_SHA_LEN + 1];
    char lineage[FENCE_LINEAGE_MAX + 1];
    struct storage_batch_writer writer[SERVERS];
    struct storage_batch batch[SERVERS];
    redisReply *before; /* the state, on the first server */
    redisReply *answer[SERVERS];
    redisReply *state[SERVERS];
    char asked[ASKED_MAX];
};

/* ---- both ------------------------------------------------------------------------------------ */

static redisReply *command_each(redisContext *redis, const char *text)
{
    redisReply *reply = redisCommand(redis, text);
    assert_non_null(reply);
    return reply;
}

static void do_both(struct pair *pair, const char *text)
{
    for (int i = 0; i < SERVERS; i++)
        freeReplyObject(command_each(pair->redis[i], text));
}

static long long now_ms(void)
{
    struct timeval now;
    gettimeofday(&now, NULL);
    return (long long)now.tv_sec * 1000 + now.tv_usec / 1000;
}

/* The replication id, and no evicted keys. */
static void note_lineage(redisContext *redis)
{
    redisReply *info = command_each(redis, "INFO replication");
    const char *id = strstr(info->str, "master_replid:");
    assert_non_null(id);
    freeReplyObject(redisCommand(redis, "HSET pawl:fleet lineage %b:0", id + 14, (size_t)40));
    freeReplyObject(info);
}

static void admit(struct pair *pair)
{
    do_both(pair, "FLUSHALL");
    do_both(pair, "HSET pawl:fleet fleet " FLEET_ID
                  " member 2 view 10,20,30 durable no state active bytes 0 sets 0 answers 0@");
    for (int i = 0; i < SERVERS; i++)
        note_lineage(pair->redis[i]);
}

static void start(struct pair *pair)
{
    size_t len = 0;
    char *script = storage_requests_script(&len);
    memset(pair, 0, sizeof(*pair));
    pair->fleet = redis_fleet_new_mixed(SERVERS, REDIS_VOLATILE, UINT32_C(1) << MODULE);
    for (int i = 0; i < SERVERS; i++) {
        pair->redis[i] = redisConnect("127.0.0.1", pair->fleet->master[i].port);
        assert_int_equal(pair->redis[i]->err, 0);
        assert_int_equal(storage_batch_writer_init(&pair->writer[i]), 0);
    }
    redisReply *sha = redisCommand(pair->redis[LUA], "SCRIPT LOAD %b", script, len);
    assert_int_equal(sha->len, STORAGE_SHA_LEN);
    memcpy(pair->sha, sha->str, sha->len + 1);
    freeReplyObject(sha);
    free(script);
}

static void end(struct pair *pair)
{
    for (int i = 0; i < SERVERS; i++) {
        redisFree(pair->redis[i]);
        storage_batch_writer_fini(&pair->writer[i]);
    }
    freeReplyObject(pair->before);
    redis_fleet_free(pair->fleet);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* @full: the server lacks memory for this call alone. */
static void send_batch(struct pair *pair, int server, const struct storage_batch_terms *terms,
                       bool full)
{
    size_t len = 0;
    struct storage_batch_terms named = *terms;
    redisContext *redis = pair->redis[server];
    named.sha = server == LUA ? pair->sha : NULL;
    const char *command =
        storage_batch_command(&pair->writer[server], &pair->batch[server], &named, &len);
    assert_int_equal(redisAppendFormattedCommand(redis, command, len), REDIS_OK);
    if (full)
        assert_int_equal(redisAppendCommand(redis, "CONFIG SET maxmemory 0"), REDIS_OK);
    alike_ask_state(redis);
    pair->answer[server] = alike_next(redis);
    if (full)
        freeReplyObject(alike_next(redis));
    pair->state[server] = alike_next(redis);
}

static void note_asked(struct pair *pair, const struct storage_request *encoded)
{
    char *end = pair->asked + strlen(pair->asked);
    snprintf(end, ASKED_MAX - (size_t)(end - pair->asked), "%.*s%.*s\n", encoded->keys_len,
             encoded->keys_bytes, encoded->args_len, encoded->args_bytes);
    for (; *end && end[1]; end++)
        if (*end == '\r' || *end == '\n')
            *end = ' ';
}

static void expect_alike(struct pair *pair, uint64_t seed, const char *what, redisReply *lua,
                         redisReply *module)
{
    const bool same = alike_replies(lua, module);
    if (!same) {
        printf("seed %llu: %s differs\n%s", (unsigned long long)seed, what, pair->asked);
        alike_print("before", pair->before);
        alike_print("Lua", lua);
        alike_print("module", module);
    }
    freeReplyObject(lua);
    freeReplyObject(module);
    assert_true(same);
}

static void ask(struct pair *pair, struct chance *chance, bool full, uint64_t seed)
{
    static const char *const views[] = {"10,20,30", "10,20,30", "10,20,30", "10,20,30", "10,20,30",
                                        "11,20,30", "10,20,29", "10,21,30", "10,20",    "12,20,31"};
    const unsigned count = 1 + chance_below(chance, REQUESTS_MAX);
    const struct storage_batch_terms terms = {
        .view = views[chance_below(chance, chance_below(chance, 8) == 0 ? 10 : 4)],
        .fleet_id = chance_below(chance, 100) == 0 ? "another" : FLEET_ID,
        .member = chance_below(chance, 100) == 0 ? 1 : 2,
    };
    pair->asked[0] = '\0';
    for (int i = 0; i < SERVERS; i++)
        pair->batch[i].count = pair->batch[i].locks = 0;
    for (unsigned k = 0; k < count; k++) {
        static struct storage_request encoded;
        const struct fence_request request = chance_request(chance);
        storage_request_encode(&request, &encoded);
        note_asked(pair, &encoded);
        for (int i = 0; i < SERVERS; i++)
            storage_batch_add(&pair->writer[i], &pair->batch[i], &encoded);
    }
    for (int i = 0; i < SERVERS; i++)
        send_batch(pair, i, &terms, full);
    expect_alike(pair, seed, "an answer", pair->answer[LUA], pair->answer[MODULE]);
    expect_alike(pair, seed, "the state", pair->state[LUA], pair->state[MODULE]);
}

/* A lock of the module has no expiry that PERSIST takes away: it is written without its lease. */
static void persist(redisContext *redis, const char *key)
{
    redisReply *reply = redisCommand(redis, "EVAL %s 1 %s", REDIS_FLEET_PERSIST, key);
    assert_non_null(reply);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

static void harm(struct pair *pair, struct chance *chance)
{
    static const char persists[] = "PERSIST ";
    char command[CHANCE_COMMAND_MAX];
    chance_harm(chance, now_ms(), command);
    if (strncmp(command, persists, sizeof(persists) - 1) != 0)
        do_both(pair, command);
    for (int i = 0; i < SERVERS && strncmp(command, persists, sizeof(persists) - 1) == 0; i++)
        persist(pair->redis[i], command + sizeof(persists) - 1);
}

/* Redis refuses the first write of a call while it lacks memory. */
static void step(struct pair *pair, struct chance *chance, uint64_t seed)
{
    const bool full = chance_below(chance, 12) == 0;
    if (chance_below(chance, 3) == 0)
        harm(pair, chance);
    if (full)
        do_both(pair, "CONFIG SET maxmemory 1");
    freeReplyObject(pair->before);
    pair->before = alike_state(pair->redis[LUA]);
    ask(pair, chance, full, seed);
}

static unsigned long from_environment(const char *name, unsigned long otherwise)
{
    const char *value = getenv(name);
    return value ? strtoul(value, NULL, 10) : otherwise;
}

static void module_answers_and_keeps_what_the_script_does(void **state)
{
    static struct pair pair;
    const uint64_t first = from_environment("PAWL_SEED", 1);
    const uint64_t histories = from_environment("PAWL_HISTORIES", HISTORIES);
    start(&pair);
    for (uint64_t seed = first; seed < first + histories; seed++) {
        struct chance chance = chance_new(seed);
        admit(&pair);
        for (int i = 0; i < STEPS; i++)
            step(&pair, &chance, seed);
    }
    end(&pair);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(module_answers_and_keeps_what_the_script_does),
};

CASE_MAIN(cases, NULL, NULL)
