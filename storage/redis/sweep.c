/* After a master was taken back, its imported locks get their expiry: a few at a time, so that it
 * has time for others in between. Several servers may do so at once; the master notes how far it
 * is. */
#include "storage/redis/connection.h"
#include "storage/redis/keys.h"
#include "storage/redis/lua/lineage.lua.h"
#include "storage/redis/lua/sweep.lua.h"

enum {
    SWEPT_AT_A_TIME = 100, /* keys: about a millisecond */
    SWEEP_INTERVAL_MS = 5,
};

static void on_sweep_due(uv_timer_t *timer);

static void on_swept(redisAsyncContext *context, void *data, void *unused)
{
    struct storage_redis_master *master = context->data;
    const redisReply *reply = data;
    (void)unused;
    if (!reply || master->context != context || master->state != LINK_READY)
        return;
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1)
        uv_timer_start(&master->sweeper, on_sweep_due, SWEEP_INTERVAL_MS, 0);
}

/* One that gets no answer is begun anew by a later look. */
static void on_sweep_due(uv_timer_t *timer)
{
    const struct storage_redis_master *master = timer->data;
    if (master->state == LINK_READY)
        (void)redisAsyncCommand(master->context, on_swept, NULL,
                                "EVAL %s%s 1 " STORAGE_FLEET_KEY " %d", storage_redis_lua_lineage,
                                storage_redis_lua_sweep, SWEPT_AT_A_TIME);
}

void storage_master_sweep(struct storage_redis_master *master)
{
    if (!uv_is_active((uv_handle_t *)&master->sweeper))
        uv_timer_start(&master->sweeper, on_sweep_due, SWEEP_INTERVAL_MS, 0);
}
