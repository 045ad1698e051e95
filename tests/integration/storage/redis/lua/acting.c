#include "tests/integration/storage/redis/lua/acting.h"

#include "storage/redis/lua/lineage_check.lua.h"
#include "storage/redis/lua/note_process_counts.lua.h"
#include "tests/integration/storage/redis/lua/script_fixture.h"

#include <stdio.h>
#include <string.h>

#define TAG "aaaaaaaaaaaaaaaaaaaaaa.1"
#define ID  "aaaaaaaaaaaaaaaaaaaaaa"

enum {
    OTHER = 0, /* the first member: it votes, and is read */
};

/* Each request that there is: its letter, and what that takes. */
static const char *const requests[] = {
    "T " TAG " 7 30000 me",
    "N " TAG " 7 30000 me 6",
    "F " TAG " 7 30000 me w 0",
    "F " TAG " 7 30000 me a 0",
    "C " TAG " 7 9 a",
    "E " ID " 30000 1000 9 7",
    "J " TAG " 30000 1000 9 7 1 me",
    "R " ID,
    "U " TAG,
    "I",
    "G 1 a " TAG " 30000 me 7 0",
    "H 1 a " TAG " 7 9",
    "V 1 " TAG,
};

redisReply *acting_ask(const char *request)
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

bool acting_same(const redisReply *a, const redisReply *b)
{
    return a->len == b->len && memcmp(a->str, b->str, a->len) == 0;
}

static void expect_refusal(struct fence_rejoin_reply reply)
{
    assert_int_equal(reply.outcome, FENCE_REJOIN_LOST);
    if (strncmp(script_error(), "PAWLFORGOT ", 11) != 0)
        fail_msg("it is no PAWLFORGOT, but: %s", script_error());
}

void acting_expect_refusals(const char *sign)
{
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
        script_assert_error(acting_ask(requests[i]), sign);
    expect_refusal(record());
    expect_refusal(read_part(FENCE_REJOIN_COUNTERS));
    expect_refusal(read_part(FENCE_REJOIN_LOCKS));
}

void acting_expect_none(void)
{
    redisReply *before = script_reply("DUMP pawl:fleet");
    acting_expect_refusals("PAWLFORGOT ");
    redisReply *after = script_reply("DUMP pawl:fleet");
    assert_true(acting_same(before, after));
    freeReplyObject(before);
    freeReplyObject(after);

    script_redis("HSET pawl:fleet member 2 state joining next %d", SCRIPT_NEXT);
    before = script_reply("DUMP pawl:fleet");
    assert_int_equal(at_member(FENCE_REJOIN_INSTALL).outcome, FENCE_REJOIN_CHANGED);
    assert_int_equal(at_member(FENCE_REJOIN_ADMIT).outcome, FENCE_REJOIN_CHANGED);
    after = script_reply("DUMP pawl:fleet");
    assert_true(acting_same(before, after));
    freeReplyObject(before);
    freeReplyObject(after);
    script_redis("HSET pawl:fleet member 1 state active");
    script_redis("HDEL pawl:fleet next");
}

void acting_expect_all(void)
{
    redisReply *reply = acting_ask(requests[0]);
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

redisReply *acting_settle_once(void)
{
    static const char *const scripts[] = {storage_redis_lua_lineage_check,
                                          storage_redis_lua_note_process_counts};
    return script_eval(scripts, 2, "1 pawl:fleet " SCRIPT_FLEET " 1");
}

long long acting_settle(void)
{
    freeReplyObject(acting_settle_once());
    redisReply *reply = acting_settle_once();
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    long long settled = reply->integer;
    freeReplyObject(reply);
    return settled;
}

const char *acting_answers(unsigned count)
{
    static char answers[128];
    snprintf(answers, sizeof(answers), "%u@%s", count, script_lineage());
    return answers;
}

void acting_slow_down_rewrites(void)
{
    script_add_locks(40);
    script_redis("CONFIG SET rdb-key-save-delay 50000");
}

bool acting_is_rewriting(void *unused)
{
    redisReply *reply = script_reply("INFO persistence");
    bool rewriting = strstr(reply->str, "aof_rewrite_in_progress:1") ||
                     strstr(reply->str, "aof_rewrite_scheduled:1");
    freeReplyObject(reply);
    return rewriting;
}

void acting_use_up_memory(void)
{
    script_redis("CONFIG SET maxmemory 1 maxmemory-policy noeviction");
    script_assert_error(script_reply("SET other x"), "OOM");
}
