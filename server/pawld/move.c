/* pawld move --from: continues a fleet of Redis masters on other masters, or with another longest
 * lease (fence/bootstrap/closing.h). */
#include "server/loop/bootstrap.h"
#include "server/pawld/pawld.h"
#include "server/system/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct fleet_move {
    const struct pawld_options *options;
    struct fence_bootstrap from; /* the last state */
    struct fence_bootstrap to;
    bool waited;
    char follower[FENCE_ID_HEX_LEN + 1]; /* id of the fleet that follows; "": not known yet */
};

static int run_step(const struct server_bootstrap_config *config, const char *whose,
                    struct fence_bootstrap *ret_done)
{
    char why[SERVER_BOOTSTRAP_WHY_MAX];
    int error = server_bootstrap(config, ret_done, why);
    if (!error)
        return SERVER_EXIT_DONE;
    (void)server_options_error("move: %s: %s", whose, why[0] ? why : fence_strerror(error));
    return SERVER_EXIT_FAILED;
}

/* Does a run over the masters of the fleet that is moved. */
static int run_from(struct fleet_move *move, enum fence_bootstrap_until until)
{
    const struct pawld_options *options = move->options;
    struct server_bootstrap_config config = {
        .addresses = {.n = options->from_count, .urls = options->from},
        .params.closes = true,
        .params.until = until,
        .params.is_known = options->token_floor >= 0,
        .params.seen = options->token_floor >= 0 ? options->token_floor : 0,
    };
    memcpy(config.params.fleet_id, move->follower, sizeof(move->follower));
    return run_step(&config, "--from", &move->from);
}

static void print_move_wait(void *context, const struct fence_bootstrap *run, uint64_t wait_ms)
{
    struct fleet_move *move = context;
    (void)run;
    move->waited = true;
    printf("4. waiting %" PRIu64 ".%03" PRIu64 " s, until the leases of the old fleet have ended\n",
           wait_ms / 1000, wait_ms % 1000);
    (void)fflush(stdout);
}

/* Returns the cap, which stays as before. A fleet that names no cap has the fixed cap of older
 * versions. */
static uint32_t extensions_max(const struct pawld_options *options,
                               const struct fence_bootstrap *from)
{
    if (options->extensions_max != 0)
        return options->extensions_max;
    return from->extensions_max != 0 ? from->extensions_max : FENCE_EXTENSIONS_MAX;
}

/* Does a run over the masters of the fleet that follows. */
static int run_to(struct fleet_move *move, enum fence_bootstrap_until until)
{
    const struct pawld_options *options = move->options;
    const struct fence_bootstrap *from = &move->from;
    struct server_bootstrap_config config = {
        .addresses = {.n = options->masters_count, .urls = options->masters},
        .params.goes_on = true,
        .params.until = until,
        .params.seen = from->floor,
        .params.is_known = options->token_floor >= 0,
        .params.was_closed = until != FENCE_BOOTSTRAP_ALL_DONE && from->closed > 0,
        .params.readers = from->readers,
        .params.extensions_max = extensions_max(options, from),
        .params.ttl_max_ms = options->ttl_max_ms ? options->ttl_max_ms : from->ttl_max_ms,
        .params.from_ttl_max_ms = from->ttl_max_ms,
        .params.from_until_us = from->until_us,
        .waits = print_move_wait,
        .context = move,
    };
    config.params.predecessors = from->predecessors;
    memcpy(config.params.from, from->fleet_id, sizeof(config.params.from));
    memcpy(config.params.fleet_id, move->follower, sizeof(move->follower));
    return run_step(&config, "--master", &move->to);
}

static int look_at_both(struct fleet_move *move)
{
    int status = run_from(move, FENCE_BOOTSTRAP_ALL_LOOKED_AT);
    memcpy(move->follower, move->from.closed_for, sizeof(move->follower));
    if (!status)
        status = run_to(move, FENCE_BOOTSTRAP_ALL_LOOKED_AT);
    if (status)
        return status;
    printf("1. fleet %s: %u masters, %u of which have its data, longest lease %" PRIu32 " ms%s\n",
           move->from.fleet_id, move->from.params.n, move->from.outcome.count + move->from.closed,
           move->from.ttl_max_ms, move->from.closed > 0 ? "; continuing its interrupted move" : "");
    return SERVER_EXIT_DONE;
}

static int claim_new(struct fleet_move *move)
{
    int status = run_to(move, FENCE_BOOTSTRAP_ALL_CLAIMED);
    memcpy(move->follower, move->to.fleet_id, sizeof(move->follower));
    if (!status)
        printf("2. claimed the new masters\n");
    (void)fflush(stdout);
    return status;
}

static int close_old(struct fleet_move *move)
{
    int status = run_from(move, FENCE_BOOTSTRAP_ALL_DONE);
    if (!status)
        printf("3. fleet %s is closed permanently: none of its tokens is above %" PRId64
               ", and it grants no more locks\n",
               move->from.fleet_id, move->from.floor);
    (void)fflush(stdout);
    return status;
}

static int make_new(struct fleet_move *move)
{
    int status = run_to(move, FENCE_BOOTSTRAP_ALL_DONE);
    const struct fence_bootstrap *made = &move->to;
    if (!status && !move->waited)
        printf("4. all leases of the old fleet had ended\n");
    if (!status)
        printf("5. fleet %s continues: %u masters, longest lease %" PRIu32
               " ms, tokens above %" PRId64 ". Start pawld with these masters\n",
               made->fleet_id, made->params.n, made->ttl_max_ms, made->floor);
    return status;
}

static int move_fleet(const struct pawld_options *options)
{
    static struct fleet_move move; /* too large for a stack */
    move.options = options;
    if (pawld_move_was_done(options))
        return SERVER_EXIT_DONE;
    int status = look_at_both(&move);
    if (!status)
        status = claim_new(&move);
    if (!status)
        status = close_old(&move);
    if (!status)
        status = make_new(&move);
    return status;
}

int pawld_move(const struct pawld_options *options)
{
    return options->data ? pawld_move_file(options) : move_fleet(options);
}
