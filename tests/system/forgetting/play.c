/* forgetting_play [--pawld PORT --master PORT... [--kill CMD --start CMD --data DIR]] [WAY...]
 *
 * Plays ways to forget (ways/) on a fleet, and judges what came of it as the tests here do. Without
 * addresses each way has three masters and a pawld of its own. README.md says how to use it, and
 * how to add a way. Exit status: 0 all held; 1 something did not; 77 nothing could be played. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"
#include "tests/system/forgetting/forgetting.h"
#include "tests/system/forgetting/steps.h"
#include "tests/system/masters.h"

#include <argp.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WAYS_MAX = 64,
    OWN_MASTERS = 3,
    COMMAND_MS = 60000,
    PATIENCE_MS = 20000,
    NOTICE_MS = 600, /* for a probe to find what a step did */
    LOOK_MS = 25,
};

static struct {
    uint16_t pawld;
    uint16_t master[FENCE_MASTERS_MAX];
    unsigned masters;
    const char *kill, *start, *data; /* of the first master */
    char *way[WAYS_MAX];
    size_t ways;
} options;

/* ---- a way ----------------------------------------------------------------------------------- */

static void run_command(const char *command)
{
    char *log = text_make("%s/command.log", fleet->dir);
    const int status =
        process_run((const char *const[]){"sh", "-c", command, NULL}, log, COMMAND_MS);
    if (status != 0)
        fail_msg("%s ended with %d; see %s", command, status, log);
    free(log);
}

/* The step of a way that changes files, while the first master is down. */
static void play_down(const char *way)
{
    if (fleet->attached)
        run_command(options.kill);
    else
        redis_fleet_kill(fleet, 0);
    steps_play(way, "down");
    if (fleet->attached)
        run_command(options.start);
    else
        redis_fleet_restart(fleet, 0, true);
}

static int begin_way(void **state)
{
    (void)state;
    if (options.masters == 0) {
        fleet_start(OWN_MASTERS, REDIS_ALWAYS);
        return 0;
    }
    fleet = redis_fleet_attach(options.masters, options.master);
    fleet->master[0].dir = options.data ? text_make("%s", options.data) : NULL;
    return 0;
}

static int end_way(void **state)
{
    steps_end();
    return fleet_teardown(state);
}

/* A step may have had pawld doubt the master: that takes a few probes, and an import. */
static void wait_settled(const struct forgetting *forgetting)
{
    const uint64_t begin_ms = wait_now_ms();
    while (wait_now_ms() - begin_ms < PATIENCE_MS) {
        forgetting_work(forgetting);
        wait_ms(LOOK_MS);
        if (wait_now_ms() - begin_ms > NOTICE_MS && masters_are_settled(forgetting->port))
            return;
    }
    fail_msg("pawld judges a master for more than %d ms", PATIENCE_MS);
}

/* A master that is not durable any more may grant nothing. What is granted has to stand at the
 * master that forgets. */
static void grant_at_master(struct forgetting *forgetting)
{
    if (forgetting_grant(forgetting) &&
        redis_fleet_integer(fleet, 0, "EXISTS pawl:lock:forgetting/held") != 1)
        fail_msg("the lock is not at the first master: the way would show nothing");
}

static void play_way(void **state)
{
    const char *way = *state;
    const bool can_be_down = options.kill && options.start && options.data;
    const bool down = steps_has(way, "down");
    if (fleet->attached && down && !can_be_down)
        case_skip("this way needs --kill, --start and --data");
    struct forgetting forgetting =
        fleet->attached ? forgetting_attach(options.pawld) : forgetting_serve();
    if (steps_has(way, "before")) {
        steps_play(way, "before");
        wait_settled(&forgetting);
    }
    grant_at_master(&forgetting);
    if (steps_has(way, "up"))
        steps_play(way, "up");
    if (down)
        play_down(way);
    forgetting_judge(&forgetting);
}

/* ---- options --------------------------------------------------------------------------------- */

static void add_way(const char *name)
{
    if (options.ways < WAYS_MAX)
        options.way[options.ways++] = text_make("%s", name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_all_ways(void)
{
    DIR *dir = opendir(FORGETTING_WAYS);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            add_way(entry->d_name);
    if (dir)
        closedir(dir);
    qsort(options.way, options.ways, sizeof(options.way[0]), by_name);
}

static error_t parse_play(int key, char *text, struct argp_state *state)
{
    switch (key) {
    case 'p':
        options.pawld = (uint16_t)strtoul(text, NULL, 10);
        return 0;
    case 'm':
        if (options.masters == FENCE_MASTERS_MAX)
            argp_error(state, "more than %d masters", FENCE_MASTERS_MAX);
        options.master[options.masters++] = (uint16_t)strtoul(text, NULL, 10);
        return 0;
    case 'k':
        options.kill = text;
        return 0;
    case 's':
        options.start = text;
        return 0;
    case 'd':
        options.data = text;
        return 0;
    case ARGP_KEY_ARG:
        add_way(text);
        return 0;
    case ARGP_KEY_END:
        if ((options.pawld == 0) != (options.masters == 0) || options.masters == 1)
            argp_error(state,
                       "give --pawld, and --master for each of three masters or more; or none");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_option list[] = {
        {"pawld", 'p', "PORT", 0, "Where a pawld serves on 127.0.0.1", 0},
        {"master", 'm', "PORT", 0, "A master of its fleet, for each; the first one forgets", 0},
        {"kill", 'k', "CMD", 0, "Kills the first master, and returns when it is gone", 0},
        {"start", 's', "CMD", 0, "Starts it, and returns when it accepts connections", 0},
        {"data", 'd', "DIR", 0, "Its data folder", 0},
        {0},
    };
    static const struct argp argp = {
        list, parse_play, "[WAY...]", "Plays ways to forget, and judges what came of it.",
        NULL, NULL,       NULL};
    static struct CMUnitTest cases[WAYS_MAX];
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    if (options.ways == 0)
        add_all_ways();
    for (size_t i = 0; i < options.ways; i++)
        cases[i] =
            (struct CMUnitTest){options.way[i], play_way, begin_way, end_way, options.way[i]};
    return case_status(_cmocka_run_group_tests("forgetting", cases, options.ways, NULL, NULL));
}
