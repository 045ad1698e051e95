#include "server/loop/masters.h"

#include "storage/redis/master.h"

int server_masters_new(uv_loop_t *loop, const struct storage_redis_url *urls, unsigned n,
                       unsigned probe_ms, const struct storage_master_events *events,
                       struct storage_master *ret_masters[])
{
    for (unsigned i = 0; i < n; i++) {
        const struct storage_redis_config config = {
            .loop = loop,
            .url = urls[i],
            .index = i,
            .members = n,
            .probe_ms = probe_ms,
            .events = *events,
        };
        struct storage_redis_master *master = NULL;
        int error = storage_redis_master_new(&config, &master);
        if (error)
            return error;
        ret_masters[i] = storage_redis_master_base(master);
    }
    return 0;
}
