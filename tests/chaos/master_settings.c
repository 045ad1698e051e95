#include "tests/chaos/master_settings.h"

#include "tests/chaos/redis_call.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REWRITE_TIMEOUT_MS = 20000,
    FILLERS = 200,
    FILLER_BYTES = 8 * 1024,
    ROOM_BYTES = 256 * 1024, /* between what is used and the limit */
    MUCH_BYTES = 8 * 1024 * 1024,
};

bool chaos_master_flush(const struct chaos_master *master)
{
    return redis_does(master->port, "FLUSHALL");
}

void chaos_master_set(const struct chaos_master *master, const char *name, const char *value)
{
    redis_must(master->port, "CONFIG SET %s %s", name, value);
}

/* ---- the append-only file -------------------------------------------------------------------- */

void chaos_master_append_off(const struct chaos_master *master)
{
    chaos_master_set(master, "appendonly", "no");
}

void chaos_master_append_on(const struct chaos_master *master)
{
    chaos_master_set(master, "appendonly", "yes");
}

bool chaos_master_rewrites(const struct chaos_master *master)
{
    return redis_info_number(master->port, "persistence", "aof_rewrite_in_progress") == 1;
}

static bool is_rewritten(void *arg)
{
    const struct chaos_master *master = arg;
    return redis_info_number(master->port, "persistence", "aof_rewrite_scheduled") == 0 &&
           redis_info_number(master->port, "persistence", "aof_rewrite_in_progress") == 0;
}

void chaos_master_wait_rewritten(const struct chaos_master *master)
{
    if (!wait_until(is_rewritten, (void *)(uintptr_t)master, REWRITE_TIMEOUT_MS))
        fail_msg("the append-only file of port %u is not rewritten", (unsigned)master->port);
}

void chaos_master_slow_rewrites(const struct chaos_master *master, unsigned key_us)
{
    char text[16];
    snprintf(text, sizeof(text), "%u", key_us);
    chaos_master_set(master, "rdb-key-save-delay", text);
}

void chaos_master_rewrite(const struct chaos_master *master)
{
    redis_must(master->port, "BGREWRITEAOF");
}

/* ---- eviction -------------------------------------------------------------------------------- */

static bool fill(uint16_t port, unsigned i)
{
    char bytes[FILLER_BYTES];
    memset(bytes, 'x', sizeof(bytes));
    return redis_does(port, "SET chaos:filler:%u %b", i, bytes, sizeof(bytes));
}

void chaos_master_crowd(const struct chaos_master *master, const char *policy)
{
    char limit[24];
    const long long evicted = redis_info_number(master->port, "stats", "evicted_keys");
    const long long used = redis_info_number(master->port, "memory", "used_memory");
    snprintf(limit, sizeof(limit), "%lld", used + ROOM_BYTES);
    chaos_master_set(master, "maxmemory-policy", policy);
    chaos_master_set(master, "maxmemory", limit);
    for (unsigned i = 0; i < FILLERS && fill(master->port, i); i++)
        if (redis_info_number(master->port, "stats", "evicted_keys") > evicted)
            break;
}

void chaos_master_uncrowd(const struct chaos_master *master)
{
    chaos_master_set(master, "maxmemory", "0");
    chaos_master_set(master, "maxmemory-policy", "noeviction");
    for (unsigned i = 0; i < FILLERS; i++) {
        redisReply *reply = redis_call(master->port, "DEL chaos:filler:%u", i);
        const bool last = !reply || reply->type != REDIS_REPLY_INTEGER || reply->integer == 0;
        freeReplyObject(reply);
        if (last)
            break;
    }
}

void chaos_master_reset_statistics(const struct chaos_master *master)
{
    static char much[MUCH_BYTES];
    redis_must(master->port, "CONFIG RESETSTAT");
    (void)redis_does(master->port, "SET chaos:much %b", much, sizeof(much));
    (void)redis_does(master->port, "DEL chaos:much");
}

/* ---- the marker ------------------------------------------------------------------------------ */

/* The number at place @at of the numbers in @text. */
static uint64_t number_at(const char *text, unsigned at)
{
    for (;; at--) {
        text += strcspn(text, "0123456789");
        if (*text == '\0' || at == 0)
            return strtoull(text, NULL, 10);
        text += strspn(text, "0123456789");
    }
}

uint64_t chaos_master_incarnation(const struct chaos_master *master, unsigned member, bool active)
{
    uint64_t incarnation = 0;
    redisReply *marker = redis_call(master->port, "HMGET pawl:fleet state view");
    if (marker && marker->type == REDIS_REPLY_ARRAY && marker->elements == 2) {
        const char *state = marker->element[0]->str, *view = marker->element[1]->str;
        if (view && (!active || (state && strcmp(state, "active") == 0)))
            incarnation = number_at(view, member);
    }
    freeReplyObject(marker);
    return incarnation;
}

bool chaos_master_is_marked_durable(const struct chaos_master *master)
{
    redisReply *durable = redis_call(master->port, "HGET pawl:fleet durable");
    const bool yes =
        durable && durable->type == REDIS_REPLY_STRING && strcmp(durable->str, "yes") == 0;
    freeReplyObject(durable);
    return yes;
}
