#include "storage/redis/module/events.h"

#include "storage/redis/keys.h"
#include "storage/redis/module/expire_leases.h"
#include "storage/redis/module/leases.h"
#include "storage/redis/module/lineage_cache.h"

#include <string.h>

enum {
    ENDED_AT_A_TIME = 2000, /* locks that one cron removes: some milliseconds, ten times a second */
};

/* The server became a replica or a master, flushed keys, loaded them or swapped them. It forked a
 * child, for a rewrite of the file or for a replica, or the child ended. Its settings were
 * changed. */
/* clang-format off */
static const uint64_t told[] = {
    REDIS_EVENT_ROLE_CHANGED,
    REDIS_EVENT_FLUSH,
    REDIS_EVENT_LOADING,
    REDIS_EVENT_SWAP,
    REDIS_EVENT_FORK_CHILD,
    REDIS_EVENT_CONFIG,
};
/* clang-format on */

/* Reports whether the event may replace keys. */
static bool replaces_keys(uint64_t event)
{
    return event != REDIS_EVENT_FORK_CHILD && event != REDIS_EVENT_CONFIG;
}

static void on_told(struct redis_ctx *ctx, struct redis_event event, uint64_t what, void *data)
{
    (void)ctx;
    (void)what;
    (void)data;
    storage_module_lineage_cache_clear();
    if (replaces_keys(event.id))
        storage_module_leases_forget_all();
}

static void on_cron(struct redis_ctx *ctx, struct redis_event event, uint64_t what, void *data)
{
    (void)event;
    (void)what;
    (void)data;
    storage_module_remove_ended(ctx, ENDED_AT_A_TIME);
}

/* A key was changed, and not by the module. The module's own writes cause no such event. */
static int on_key_changed(struct redis_ctx *ctx, int type, const char *event,
                          struct redis_string *key)
{
    static const char begin[] = STORAGE_LOCK_KEY;
    size_t len = 0;
    const char *name = redis.string_bytes(key, &len);
    (void)type;
    (void)event;
    if (len >= sizeof(begin) && memcmp(name, begin, sizeof(begin) - 1) == 0 &&
        redis.database(ctx) == 0)
        storage_module_lease_forget(name, len);
    return REDIS_OK;
}

static int on_evicted(struct redis_ctx *ctx, int type, const char *event, struct redis_string *key)
{
    (void)ctx;
    (void)type;
    (void)event;
    (void)key;
    storage_module_lineage_cache_evicted();
    return REDIS_OK;
}

bool storage_module_events_init(struct redis_ctx *ctx)
{
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        const struct redis_event event = {told[i], REDIS_EVENT_VERSION};
        if (redis.on_event(ctx, event, on_told) != REDIS_OK)
            return false;
    }
    const struct redis_event cron = {REDIS_EVENT_CRON, REDIS_EVENT_VERSION};
    const int changes =
        REDIS_KEY_GENERIC | REDIS_KEY_STRING_WRITTEN | REDIS_KEY_EXPIRED | REDIS_KEY_EVICTED;
    return redis.on_event(ctx, cron, on_cron) == REDIS_OK &&
           redis.on_key_event(ctx, REDIS_KEY_EVICTED, on_evicted) == REDIS_OK &&
           redis.on_key_event(ctx, changes, on_key_changed) == REDIS_OK;
}
