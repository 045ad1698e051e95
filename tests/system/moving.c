#include "tests/system/moving.h"

#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/system/fleet.h"
#include "tests/system/forgetting/redis_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOVE_ARGS_MAX = 48,
    MOVE_PATIENCE_MS = 30000,
};

static char move_log[MOVING_PATH_MAX];

/* The master of the case that is the @i-th of @masters. */
static unsigned place_of(const struct moving_masters *masters, unsigned i)
{
    return i + 1 == masters->n && masters->last != 0 ? masters->last : masters->first + i;
}

/* The same processes, seen as their own fleet. It is not to be freed. */
static struct redis_fleet part_of(const struct moving_masters *masters)
{
    struct redis_fleet part = *fleet;
    assert_true(masters->first + masters->n <= fleet->n);
    part.n = masters->n;
    for (unsigned i = 0; i < masters->n; i++)
        part.master[i] = fleet->master[place_of(masters, i)];
    return part;
}

int moving_run_init(const struct moving_masters *masters, const char *const options[])
{
    struct redis_fleet part = part_of(masters);
    snprintf(move_log, sizeof(move_log), "%s/init.log", fleet->dir);
    remove(move_log);
    return pawl_init(&part, options);
}

void moving_init(const struct moving_masters *masters, const char *ttl_max_ms)
{
    char extensions[16];
    snprintf(extensions, sizeof(extensions), "%d", MOVING_EXTENSIONS);
    const char *const options[] = {
        "--new", "--max-ttl-ms", ttl_max_ms, "--max-extensions", extensions, NULL};
    assert_int_equal(moving_run_init(masters, options), 0);
}

struct pawl_service moving_serve_early(const struct moving_masters *masters)
{
    struct redis_fleet part = part_of(masters);
    return pawld_start(&part, (const char *const[]){FLEET_PROBE, NULL});
}

struct pawl_service moving_serve(const struct moving_masters *masters)
{
    const struct pawl_service service = moving_serve_early(masters);
    pawl_wait_ready(service);
    return service;
}

static void add_urls(const char *args[], unsigned *n, const char *option,
                     const struct moving_masters *masters)
{
    for (unsigned i = 0; i < masters->n; i++) {
        args[(*n)++] = option;
        args[(*n)++] = fleet->master[place_of(masters, i)].url;
    }
}

static struct process *start_move(const char *folder, const struct moving_masters *from,
                                  const struct moving_masters *to, const char *const options[])
{
    char *program = pawl_program("pawld");
    const char *args[MOVE_ARGS_MAX] = {program, "move"};
    static unsigned runs;
    unsigned n = 2;
    if (from) {
        add_urls(args, &n, "--from", from);
    } else {
        args[n++] = "--data";
        args[n++] = folder;
    }
    add_urls(args, &n, "--master", to);
    for (unsigned i = 0; options && options[i]; i++)
        args[n++] = options[i];
    snprintf(move_log, sizeof(move_log), "%s/move.%u", fleet->dir, runs++);
    struct process *process = process_start(args, move_log);
    free(program);
    return process;
}

struct process *moving_start(const struct moving_masters *from, const struct moving_masters *to)
{
    return start_move(NULL, from, to, NULL);
}

int moving_run(const struct moving_masters *from, const struct moving_masters *to,
               const char *const options[])
{
    return process_wait(start_move(NULL, from, to, options), MOVE_PATIENCE_MS);
}

int moving_run_from_file(const char *folder, const struct moving_masters *to)
{
    return process_wait(start_move(folder, NULL, to, NULL), MOVE_PATIENCE_MS);
}

bool moving_said(const char *words)
{
    char *text = text_read(move_log, 0);
    const bool said = strstr(text, words) != NULL;
    free(text);
    return said;
}

void moving_expect_said(const char *words)
{
    char *text = text_read(move_log, 0);
    if (!strstr(text, words))
        fail_msg("it said: %s", text);
    free(text);
}

struct moving_kept moving_keep(unsigned n)
{
    struct moving_kept kept = {0};
    static unsigned times;
    assert_true(n <= MOVING_KEPT_MAX);
    for (unsigned i = 0; i < n; i++) {
        snprintf(kept.folder[i], MOVING_PATH_MAX, "%s/kept%u.%u", fleet->dir, times, i);
        redis_files_keep(fleet, i, kept.folder[i]);
    }
    times++;
    return kept;
}

void moving_put_back(const struct moving_kept *kept, uint32_t set)
{
    for (unsigned i = 0; i < MOVING_KEPT_MAX; i++)
        if ((set & 1U << i) != 0)
            redis_fleet_kill(fleet, i);
    for (unsigned i = 0; i < MOVING_KEPT_MAX; i++) {
        if ((set & 1U << i) == 0)
            continue;
        redis_files_put_back(fleet, i, kept->folder[i]);
        redis_fleet_restart(fleet, i, true);
    }
}
