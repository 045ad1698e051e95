/* Detects a pawld move that an earlier run finished: then there is nothing to do.
 *
 * A majority of the new masters is of one fleet G, and remembers it. The masters of the old fleet F
 * name the fleet that followed F. Each of them votes in G, is closed for G, or was wiped since; and
 * at least one was not wiped. */
#include "fence/bootstrap/bootstrap.h"
#include "server/loop/bootstrap.h"
#include "server/pawld/pawld.h"
#include "storage/sqlite/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Looks at masters, and writes nothing. Returns false if it cannot look at all of them. The run
 * that moves reports the fault. */
static bool look_at(const struct server_bootstrap_config *config, struct fence_bootstrap *ret_seen)
{
    char why[SERVER_BOOTSTRAP_WHY_MAX];
    const int error = server_bootstrap(config, ret_seen, why);
    (void)error;
    return ret_seen->at == ret_seen->params.n;
}

/* Reports whether @made has the terms that @options ask for. */
static bool has_terms(const struct pawld_options *options, const struct fence_bootstrap *made)
{
    const uint32_t extensions =
        made->extensions_max != 0 ? made->extensions_max : FENCE_EXTENSIONS_MAX;
    return (options->ttl_max_ms == 0 || options->ttl_max_ms == made->ttl_max_ms) &&
           (options->extensions_max == 0 || options->extensions_max == extensions);
}

/* Reports whether a majority of the new masters already are one fleet. */
static bool look_at_target(const struct pawld_options *options, struct fence_bootstrap *ret_made)
{
    const struct server_bootstrap_config config = {
        .addresses = {.n = options->masters_count, .urls = options->masters},
        .params.goes_on = true,
        .params.until = FENCE_BOOTSTRAP_ALL_LOOKED_AT,
    };
    return look_at(&config, ret_made) &&
           ret_made->outcome.failure == FENCE_BOOTSTRAP_NOTHING_LOST &&
           has_terms(options, ret_made);
}

/* Reports whether masters of the old fleet name @made as its follower, and none contradicts.
 * @closed: at least one of them must be closed. */
static bool is_followed_by(const struct fence_bootstrap *from, const struct fence_bootstrap *made,
                           bool closed)
{
    unsigned witnesses = 0;
    for (unsigned i = 0; i < from->params.n; i++) {
        const struct fence_facts *facts = &from->seen[i];
        const char *fleet_id = facts->marked ? facts->fleet_id : facts->closed_for;
        if (!facts->marked && !facts->closed && facts->malformed[0] == '\0')
            continue; /* the master was wiped since */
        if (strcmp(fleet_id, made->fleet_id) != 0)
            return false;
        witnesses += !closed || !facts->marked;
    }
    return witnesses > 0;
}

static void say_done(const struct fence_bootstrap *made)
{
    printf("the move is already complete: fleet %s has these %u masters, longest lease %" PRIu32
           " ms. Start pawld with them (--master)\n",
           made->fleet_id, made->params.n, made->ttl_max_ms);
    (void)fflush(stdout);
}

bool pawld_move_was_done(const struct pawld_options *options)
{
    static struct fence_bootstrap made, from; /* too large for a stack */
    const struct server_bootstrap_config config = {
        .addresses = {.n = options->from_count, .urls = options->from},
        .params.closes = true,
        .params.until = FENCE_BOOTSTRAP_ALL_LOOKED_AT,
    };
    if (!look_at_target(options, &made) || !look_at(&config, &from))
        return false;
    /* A move to the fleet's own masters without other terms is meant to raise the floor. */
    const bool has_other_terms = options->ttl_max_ms != 0 || options->extensions_max != 0;
    const bool closed =
        from.params.n == made.params.n && (options->token_floor >= 0 || !has_other_terms);
    if (!is_followed_by(&from, &made, closed))
        return false;
    say_done(&made);
    return true;
}

bool pawld_file_move_was_done(const struct pawld_options *options, const struct storage_file *file)
{
    static struct fence_bootstrap made;
    char follower[FENCE_ID_HEX_LEN + 1];
    if (storage_file_follower(file, follower) != 0 || !look_at_target(options, &made) ||
        strcmp(follower, made.fleet_id) != 0)
        return false;
    say_done(&made);
    return true;
}
