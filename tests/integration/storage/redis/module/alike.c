#include "tests/integration/storage/redis/module/alike.h"

#include "fence/protocol/limits.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    APART_MS = 3000,      /* the longest time between the same step of two servers */
    LEASE_MS = 15000,     /* the least rest of a lease, without the delay behind it */
    LEASES_MS = 90000000, /* the greatest rest of a lease */
    MOMENT_MS = 10,       /* the same of the moment for which a free lock is kept */
};

static bool same_numbers(long long one, long long other)
{
    const long long apart = one > other ? one - other : other - one;
    const bool leases = one >= LEASE_MS && other >= LEASE_MS && one <= LEASES_MS;
    const bool kept = one >= FENCE_NEXT_MS - MOMENT_MS && one <= FENCE_NEXT_MS &&
                      other >= FENCE_NEXT_MS - MOMENT_MS && other <= FENCE_NEXT_MS;
    return apart == 0 || (leases && apart < APART_MS) || kept;
}

static bool same_errors(const redisReply *one, const redisReply *other)
{
    static const char forgot[] = "PAWLFORGOT ";
    const size_t word = strcspn(one->str, " ") + 1;
    const bool ours =
        strncmp(one->str, "PAWL", 4) == 0 && strncmp(one->str, forgot, sizeof(forgot) - 1) != 0;
    if (!ours)
        return strncmp(one->str, other->str, word) == 0 || strncmp(other->str, "ERR", 3) == 0;
    return strcmp(one->str, other->str) == 0;
}

bool alike_replies(const redisReply *one, const redisReply *other)
{
    if (one->type != other->type)
        return false;
    switch (one->type) {
    case REDIS_REPLY_INTEGER:
        return same_numbers(one->integer, other->integer);
    case REDIS_REPLY_ERROR:
        return same_errors(one, other);
    case REDIS_REPLY_ARRAY:
        for (size_t i = 0; i < one->elements && one->elements == other->elements; i++)
            if (!alike_replies(one->element[i], other->element[i]))
                return false;
        return one->elements == other->elements;
    default:
        return one->len == other->len && memcmp(one->str, other->str, one->len) == 0;
    }
}

void alike_ask_state(redisContext *redis)
{
    static const char script[] =
        "local state = {}\n"
        "local notes = {lineage = true, leases = true}\n"
        "local keys = redis.call('KEYS', '*')\n"
        "table.sort(keys)\n"
        "for _, key in ipairs(keys) do\n"
        "    local kind = redis.call('TYPE', key).ok\n"
        "    state[#state + 1] = key\n"
        "    state[#state + 1] = kind\n"
        "    if string.find(key, '^pawl:next:') then\n" /* or it ends between two servers */
        "        redis.call('PEXPIRE', key, 60000)\n"
        "    elseif string.find(key, '^pawl:wait:') and redis.call('PTTL', key) <= 50 then\n"
        "        redis.call('PEXPIRE', key, 60000)\n"
        "    end\n"
        "    if kind == 'string' then\n"
        "        local value = redis.call('GET', key)\n"
        "        local lease, lock = string.match(value, '^=(%d+)=(.*)$')\n"
        "        local left = lock and redis.pcall('PAWL.LEFT', key)\n"
        "        if type(left) == 'table' then\n" /* no module */
        "            left = tonumber(lease)\n"
        "        end\n"
        "        state[#state + 1] = lock or value\n"
        "        state[#state + 1] = left or redis.call('PTTL', key)\n"
        "    elseif kind == 'hash' then\n"
        "        local fields = redis.call('HKEYS', key)\n"
        "        table.sort(fields)\n"
        "        for _, field in ipairs(fields) do\n"
        "            local value = redis.call('HGET', key, field)\n"
        "            if not notes[field] and value ~= '0' then\n"
        "                state[#state + 1] = field\n"
        "                state[#state + 1] = value\n"
        "            end\n"
        "        end\n"
        "    end\n"
        "end\n"
        "return state\n";
    assert_int_equal(redisAppendCommand(redis, "EVAL %s 0", script), REDIS_OK);
}

redisReply *alike_next(redisContext *redis)
{
    void *reply = NULL;
    assert_int_equal(redisGetReply(redis, &reply), REDIS_OK);
    assert_non_null(reply);
    return reply;
}

redisReply *alike_state(redisContext *redis)
{
    alike_ask_state(redis);
    return alike_next(redis);
}

static void print_part(const redisReply *reply)
{
    switch (reply->type) {
    case REDIS_REPLY_INTEGER:
        printf(" %lld", reply->integer);
        break;
    case REDIS_REPLY_ARRAY:
        printf(" [");
        for (size_t i = 0; i < reply->elements; i++)
            print_part(reply->element[i]);
        printf(" ]");
        break;
    case REDIS_REPLY_NIL:
        printf(" nil");
        break;
    default:
        printf(" \"%s\"", reply->str);
    }
}

void alike_print(const char *whose, const redisReply *reply)
{
    printf("%s:", whose);
    print_part(reply);
    printf("\n");
}
