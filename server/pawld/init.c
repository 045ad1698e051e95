/* pawld init: make a fleet, or have one go on that lost its memory, and say what came of it. */
#include "storage/redis/init.h"

#include "server/pawld/pawld.h"
#include "server/system/options.h"

#include <inttypes.h>
#include <stdio.h>

static const char *masters_word(unsigned n)
{
    return n == 1 ? "master" : "masters";
}

static int make_new(const struct storage_redis_init *init, char why[static STORAGE_WHY_MAX])
{
    char fleet_id[FENCE_ID_HEX_LEN + 1];
    int error = storage_redis_init_new(init, fleet_id, why);
    if (error)
        return error;
    printf("fleet %s: %u %s marked, longest lease %" PRIu32 " ms, tokens start at 1\n", fleet_id,
           init->n, masters_word(init->n),
           init->ttl_max_ms ? init->ttl_max_ms : FENCE_TTL_MAX_DEFAULT_MS);
    return 0;
}

static void say_that_it_holds(void *context, uint64_t hold_ms)
{
    (void)context;
    printf("all masters are claimed and their locks removed; waiting %" PRIu64 ".%03" PRIu64
           " s, the longest lease and its drift, since a holder may still count on one. If this is "
           "broken off, nothing is granted, and it can be run again\n",
           hold_ms / 1000, hold_ms % 1000);
    (void)fflush(stdout); /* now, not when the wait is over */
}

static int go_on(const struct storage_redis_init *init, int64_t seen,
                 char why[static STORAGE_WHY_MAX])
{
    const struct storage_redis_floor floor = {.seen = seen, .holds = say_that_it_holds};
    struct storage_redis_floored made;
    int error = storage_redis_init_floor(init, &floor, &made, why);
    if (error)
        return error;
    printf(
        "fleet %s goes on: %u %s, %u of which remembered it, longest lease %" PRIu32 " ms, "
        "tokens above %" PRId64 ". Guards need nothing; a pawld that runs takes it up by itself\n",
        made.fleet_id, init->n, masters_word(init->n), made.survivors, made.ttl_max_ms, made.floor);
    return 0;
}

int pawld_init(const struct pawld_options *options)
{
    const struct storage_redis_init init = {
        .masters = options->masters,
        .n = options->masters_count,
        .ttl_max_ms = options->ttl_max_ms,
    };
    char why[STORAGE_WHY_MAX];
    int error = options->is_new ? make_new(&init, why) : go_on(&init, options->token_floor, why);
    if (error) {
        (void)server_options_error("init: %s", why[0] ? why : fence_strerror(error));
        return SERVER_EXIT_FAILED;
    }
    return SERVER_EXIT_DONE;
}
