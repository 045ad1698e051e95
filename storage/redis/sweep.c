#include "storage/redis/sweep.h"

#include "storage/redis/keys.h"
#include "storage/redis/lua/lineage_check.lua.h"
#include "storage/redis/lua/sweep.lua.h"

#include <assert.h>

enum {
    SWEPT_AT_A_TIME = 100, /* keys: about a millisecond */
    SWEEP_INTERVAL_MS = 5,
};

static void on_sweep_due(uv_timer_t *timer);

static void on_swept(redisAsyncContext *context, void *data, void *privdata)
{
    struct storage_sweeper *sweeper = privdata;
    const redisReply *reply = data;
    if (!reply || !storage_connection_is(sweeper->connection, context, STORAGE_LINK_READY))
        return;
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1)
        uv_timer_start(&sweeper->timer, on_sweep_due, SWEEP_INTERVAL_MS, 0);
}

/* A sweep that gets no answer is begun again by a later probe. */
static void on_sweep_due(uv_timer_t *timer)
{
    struct storage_sweeper *sweeper = timer->data;
    if (sweeper->connection->link == STORAGE_LINK_READY)
        (void)redisAsyncCommand(
            sweeper->connection->context, on_swept, sweeper, "EVAL %s%s 1 " STORAGE_FLEET_KEY " %d",
            storage_redis_lua_lineage_check, storage_redis_lua_sweep, SWEPT_AT_A_TIME);
}

void storage_sweeper_init(struct storage_sweeper *sweeper, struct storage_connection *connection)
{
    sweeper->connection = connection;
    uv_timer_init(connection->config.loop, &sweeper->timer);
    sweeper->timer.data = sweeper;
}

static void on_sweeper_closed(uv_handle_t *handle)
{
    const struct storage_sweeper *sweeper = handle->data;
    assert(sweeper->closed);
    sweeper->closed(sweeper->context);
}

void storage_sweeper_fini(struct storage_sweeper *sweeper, void (*closed)(void *context),
                          void *context)
{
    sweeper->closed = closed;
    sweeper->context = context;
    uv_close((uv_handle_t *)&sweeper->timer, on_sweeper_closed);
}

void storage_sweeper_start(struct storage_sweeper *sweeper)
{
    assert(!uv_is_closing((uv_handle_t *)&sweeper->timer));
    if (!uv_is_active((uv_handle_t *)&sweeper->timer))
        uv_timer_start(&sweeper->timer, on_sweep_due, SWEEP_INTERVAL_MS, 0);
}

void storage_sweeper_stop(struct storage_sweeper *sweeper)
{
    uv_timer_stop(&sweeper->timer);
}
