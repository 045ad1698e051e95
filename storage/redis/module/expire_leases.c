#include "storage/redis/module/expire_leases.h"

#include "storage/redis/module/leases.h"
#include "storage/redis/module/value.h"

static bool is_leased(struct redis_key *key)
{
    size_t len = 0;
    const char *bytes =
        redis.key_type(key) == REDIS_KEY_STRING ? redis.key_bytes(key, &len, REDIS_READ) : NULL;
    return bytes && len > 0 && bytes[0] == STORAGE_MODULE_LEASED;
}

enum {
    PAST_MS = 1, /* below the wall clock: in the past at once, and after any step of the clock
                  * except a step back */
};

/* Redis removes the key, and tells its file and its replicas. The cron of the module must not: a
 * server whose clients are paused (CLIENT PAUSE, FAILOVER) aborts if a module replicates. If the
 * clock steps back, the key stays in memory for longer; no caller holds the lock. */
static void remove_key(struct redis_ctx *ctx, const char *bytes, size_t len)
{
    struct redis_string *name = redis.string_new(ctx, bytes, len);
    struct redis_key *key = redis.key_open(ctx, name, REDIS_READ | REDIS_WRITE);
    if (is_leased(key))
        redis.key_set_expiry(key, PAST_MS);
    redis.key_close(key);
    redis.string_free(ctx, name);
}

void storage_module_remove_ended(struct redis_ctx *ctx, unsigned most)
{
    char key[STORAGE_MODULE_KEY_MAX];
    size_t len = 0;
    const uint64_t now_ms = storage_module_now_ms();
    if (!storage_module_leases_due(now_ms) || !(redis.state(ctx) & REDIS_STATE_MASTER) ||
        redis.database(ctx) != 0)
        return;
    for (unsigned i = 0; i < most && storage_module_leases_pop(now_ms, key, &len); i++)
        remove_key(ctx, key, len);
}
