/* pawld move --data: continues a fleet in a file as a fleet of Redis masters. */
#include "server/loop/bootstrap.h"
#include "server/pawld/pawld.h"
#include "server/system/options.h"
#include "storage/sqlite/file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct move {
    const struct pawld_options *options;
    struct storage_file file;
    struct storage_state state;
    int64_t highest;
    bool closed;
};

/* Closes the file. All masters are claimed, and grant nothing yet. From here on no process serves
 * from the file; until here it was unchanged. Leases that it granted end during the wait. */
static void close_file(void *context, const struct fence_bootstrap *run, uint64_t wait_ms)
{
    struct move *move = context;
    if (storage_file_retire(&move->file, run->fleet_id) != 0) {
        (void)server_options_error(
            "move: %s: %s. Nothing was moved, and pawld can still serve from it", move->file.path,
            sqlite3_errmsg(move->file.db));
        exit(SERVER_EXIT_FAILED);
    }
    move->closed = true;
    printf("2. %s is closed permanently. Waiting %" PRIu64 ".%03" PRIu64
           " s, until the leases of the old fleet have ended\n",
           move->file.path, wait_ms / 1000, wait_ms % 1000);
    (void)fflush(stdout);
}

static int open_source(struct move *move)
{
    char why[STORAGE_WHY_MAX];
    char path[STORAGE_FOLDER_MAX];
    const struct storage_file_config config = {
        .folder = move->options->data, .members = 1, .moves = true};
    (void)snprintf(path, sizeof(path), "%s/pawl.db", config.folder);
    if (access(path, F_OK) != 0) {
        (void)server_options_error("move: there is no fleet in %s", config.folder);
        return SERVER_EXIT_FAILED;
    }
    if (storage_file_open(&config, &move->file, &move->state, why) != 0) {
        (void)server_options_error("move: %s", why);
        return SERVER_EXIT_FAILED;
    }
    return SERVER_EXIT_DONE;
}

static int check_source(struct move *move)
{
    uint32_t has_ms = move->file.ttl_max_ms, wanted_ms = move->options->ttl_max_ms;
    int error = storage_file_highest(&move->file, &move->highest);
    if (error)
        (void)server_options_error(
            "move: the fleet in %s is incomplete: first continue it with pawld init --token-floor",
            move->options->data);
    else if (wanted_ms != 0 && wanted_ms < has_ms)
        (void)server_options_error(
            "move: --max-ttl-ms must be at least %u, the longest lease of the fleet in %s",
            (unsigned)has_ms, move->options->data);
    else
        return SERVER_EXIT_DONE;
    return SERVER_EXIT_FAILED;
}

/* Returns the cap, which stays as before. A fleet that names no cap has the fixed cap of older
 * versions. */
static uint32_t file_extensions_max(const struct move *move)
{
    if (move->options->extensions_max != 0)
        return move->options->extensions_max;
    return move->file.extensions_max != 0 ? move->file.extensions_max : FENCE_EXTENSIONS_MAX;
}

static int make_target(struct move *move)
{
    const struct pawld_options *options = move->options;
    struct server_bootstrap_config config = {
        .addresses = {.n = options->masters_count, .urls = options->masters},
        .params.goes_on = true,
        .params.seen = move->highest,
        .params.from = "in the file", /* belongs to no master, so that it is for people alone */
        .params.readers = move->file.readers,
        .params.extensions_max = file_extensions_max(move),
        .params.ttl_max_ms = options->ttl_max_ms ? options->ttl_max_ms : move->file.ttl_max_ms,
        .waits = close_file,
        .context = move,
    };
    struct fence_bootstrap made;
    char why[SERVER_BOOTSTRAP_WHY_MAX];
    /* One fleet follows: if an earlier run closed the file, these masters must know of it. */
    config.params.was_closed = storage_file_follower(&move->file, config.params.fleet_id) == 0;
    printf("1. the highest token of %s is %" PRId64 "; claiming %u masters\n", move->file.path,
           move->highest, options->masters_count);
    (void)fflush(stdout);
    int error = server_bootstrap(&config, &made, why);
    if (made.outcome.failure == FENCE_BOOTSTRAP_FORGOTTEN)
        (void)server_options_error(
            "move: the fleet in %s was moved before, and %u of these %u masters have a record "
            "of that move. Run pawld move again with the --master options of that move. If you "
            "already gave these addresses, "
            "and the masters lost their data, run pawld init --token-floor with them",
            options->data, made.outcome.count, options->masters_count);
    else if (error)
        (void)server_options_error("move: %s", why[0] ? why : fence_strerror(error));
    if (error)
        return SERVER_EXIT_FAILED;
    assert(move->closed); /* a bootstrap that continues a fleet always waits */
    printf("3. fleet %s continues: %u masters, longest lease %" PRIu32 " ms, tokens above %" PRId64
           ". Start pawld with these masters\n",
           made.fleet_id, made.params.n, made.ttl_max_ms, made.floor);
    return SERVER_EXIT_DONE;
}

int pawld_move_file(const struct pawld_options *options)
{
    static struct move move; /* too large for a stack */
    move.options = options;
    int status = open_source(&move);
    if (status)
        return status;
    const bool was_done = pawld_file_move_was_done(options, &move.file);
    status = was_done ? SERVER_EXIT_DONE : check_source(&move);
    if (!status && !was_done)
        status = make_target(&move);
    storage_file_close(&move.file, &move.state);
    return status;
}
