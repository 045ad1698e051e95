#include "server/loop/masters.h"

#include "storage/redis/master.h"
#include "storage/sqlite/master.h"

#include <assert.h>

static int new_redis(uv_loop_t *loop, const struct server_addresses *addresses, unsigned i,
                     unsigned probe_ms, const struct storage_master_events *events,
                     struct storage_master **ret_master)
{
    const struct storage_redis_config config = {
        .loop = loop,
        .url = addresses->urls[i],
        .index = i,
        .members = addresses->n,
        .probe_ms = probe_ms,
        .refuses_module = addresses->refuses_module,
        .events = *events,
    };
    struct storage_redis_master *master = NULL;
    int error = storage_redis_master_new(&config, &master);
    if (!error)
        *ret_master = storage_redis_master_base(master);
    return error;
}

static int new_embedded(uv_loop_t *loop, const struct server_addresses *addresses,
                        unsigned probe_ms, const struct storage_master_events *events,
                        struct storage_master **ret_master)
{
    assert(addresses->n == 1);
    const struct storage_sqlite_config config = {
        .loop = loop,
        .store = addresses->store,
        .index = 0,
        .probe_ms = probe_ms ? probe_ms : STORAGE_PROBE_MS,
        .events = *events,
    };
    return storage_sqlite_master_new(&config, ret_master);
}

int server_masters_new(uv_loop_t *loop, const struct server_addresses *addresses, unsigned probe_ms,
                       const struct storage_master_events *events,
                       struct storage_master *ret_masters[])
{
    for (unsigned i = 0; i < addresses->n; i++) {
        int error = addresses->store
                        ? new_embedded(loop, addresses, probe_ms, events, &ret_masters[i])
                        : new_redis(loop, addresses, i, probe_ms, events, &ret_masters[i]);
        if (error)
            return error;
    }
    return 0;
}
