/* pawld init: makes a fleet, or continues a fleet that lost its memory, and reports the result. */
#include "server/loop/bootstrap.h"
#include "server/pawld/pawld.h"
#include "server/system/options.h"
#include "storage/sqlite/store.h"

#include <inttypes.h>
#include <stdio.h>

static const char *masters_word(unsigned n)
{
    return n == 1 ? "master" : "masters";
}

static void print_new(const struct fence_bootstrap *made)
{
    printf("fleet %s: %u %s marked, longest lease %" PRIu32 " ms, tokens start at 1\n",
           made->fleet_id, made->params.n, masters_word(made->params.n), made->ttl_max_ms);
}

static void print_wait(void *context, const struct fence_bootstrap *run, uint64_t wait_ms)
{
    (void)context;
    (void)run;
    printf("all masters are claimed, and their locks are removed; waiting %" PRIu64 ".%03" PRIu64
           " s (the longest lease and its drift), because a holder may still use its lock. If this "
           "command is interrupted, pawld grants no lock until you run it again\n",
           wait_ms / 1000, wait_ms % 1000);
    (void)fflush(stdout); /* now, not when the wait is over */
}

static void print_floor(const struct fence_bootstrap *made)
{
    printf("fleet %s continues: %u %s, %u of which had its data, longest lease %" PRIu32 " ms, "
           "tokens above %" PRId64
           ". Guards need no change; a running pawld detects the new fleet\n",
           made->fleet_id, made->params.n, masters_word(made->params.n), made->survivors,
           made->ttl_max_ms, made->floor);
}

static int bootstrap(const struct server_bootstrap_config *config)
{
    struct fence_bootstrap made;
    char why[SERVER_BOOTSTRAP_WHY_MAX];
    int error = server_bootstrap(config, &made, why);
    if (error) {
        (void)server_options_error("init: %s", why[0] ? why : fence_strerror(error));
        return SERVER_EXIT_FAILED;
    }
    if (config->params.goes_on)
        print_floor(&made);
    else
        print_new(&made);
    (void)fflush(stdout);
    return SERVER_EXIT_DONE;
}

int pawld_make_fleet(const struct server_addresses *addresses, const struct pawld_options *options)
{
    const struct server_bootstrap_config config = {
        .addresses = *addresses,
        .params.ttl_max_ms = options->ttl_max_ms,
        .params.readers = options->readers,
        .params.extensions_max = options->extensions_max,
    };
    return bootstrap(&config);
}

int pawld_init(const struct pawld_options *options)
{
    struct server_bootstrap_config config = {
        .params.goes_on = !options->is_new,
        .params.seen = options->is_new ? 0 : options->token_floor,
        .params.ttl_max_ms = options->ttl_max_ms,
        .params.readers = options->readers,
        .params.extensions_max = options->extensions_max,
        .waits = print_wait,
    };
    int status = pawld_addresses_open(options, config.params.goes_on, &config.addresses);
    if (status)
        return status;
    if (options->is_new && config.addresses.store &&
        storage_sqlite_store_file(config.addresses.store)->needs_floor) {
        (void)server_options_error("init: %s belongs to a fleet, and the tokens of a fleet must "
                                   "not restart. Continue the fleet with --token-floor T instead "
                                   "of --new",
                                   options->data);
        status = SERVER_EXIT_FAILED;
    }
    if (!status)
        status = bootstrap(&config);
    storage_sqlite_store_close(config.addresses.store);
    return status;
}
