#include "storage/redis/module/events.h"

#include "storage/redis/module/verdict.h"

/* The server became a replica or a master. It forked a child, for a rewrite of the file or for a
 * replica, or the child ended. Somebody changed its settings. */
static const uint64_t told[] = {
    REDIS_EVENT_ROLE_CHANGED,
    REDIS_EVENT_FORK_CHILD,
    REDIS_EVENT_CONFIG,
};

static void on_told(struct redis_ctx *ctx, struct redis_event event, uint64_t what, void *data)
{
    (void)ctx;
    (void)event;
    (void)what;
    (void)data;
    storage_module_verdict_end();
}

static int on_evicted(struct redis_ctx *ctx, int type, const char *event, struct redis_string *key)
{
    (void)ctx;
    (void)type;
    (void)event;
    (void)key;
    storage_module_verdict_evicted();
    return REDIS_OK;
}

bool storage_module_events_init(struct redis_ctx *ctx)
{
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        const struct redis_event event = {told[i], REDIS_EVENT_VERSION};
        if (redis.on_event(ctx, event, on_told) != REDIS_OK)
            return false;
    }
    return redis.on_key_event(ctx, REDIS_KEY_EVICTED, on_evicted) == REDIS_OK;
}
