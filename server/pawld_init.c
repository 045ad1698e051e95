/* pawld init --new: make a fleet, and say what was made. */
#include "server/options.h"
#include "server/pawld.h"
#include "storage/redis_init.h"

#include <stdio.h>

int pawld_init(const struct pawld_options *options)
{
    const struct storage_redis_init init = {
        .masters = options->masters,
        .n = options->masters_count,
        .ttl_max_ms = options->ttl_max_ms,
    };
    char fleet_id[FENCE_ID_HEX_LEN + 1];
    char why[STORAGE_WHY_MAX] = "";
    int error = storage_redis_init_new(&init, fleet_id, why);
    if (error) {
        (void)server_options_error("init: %s", why[0] ? why : fence_strerror(error));
        return SERVER_EXIT_FAILED;
    }
    printf("fleet %s: %u %s marked, longest lease %u ms, tokens start at 1\n", fleet_id, init.n,
           init.n == 1 ? "master" : "masters", init.ttl_max_ms);
    return SERVER_EXIT_DONE;
}
