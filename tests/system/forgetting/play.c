/* forgetting_play [--pawld PORT --master PORT... [--kill CMD --start CMD --data DIR]] [WAY...]
 *
 * Plays ways to forget (ways/) on a fleet, and judges what came of it as the tests here do. Without
 * addresses each way has three masters and a pawld of its own. README.md says how to use it, and
 * how to add a way. Exit status: 0 all held; 1 something did not; 77 nothing could be played. */
#include "tests/lib/case.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/text.h"
#include "tests/system/forgetting/forgetting.h"

#include <argp.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WAYS_MAX = 64,
    OWN_MASTERS = 3,
    STEP_MS = 60000,
};

static struct {
    uint16_t pawld;
    uint16_t master[FENCE_MASTERS_MAX];
    unsigned masters;
    const char *kill, *start, *data; /* of the first master */
    char *way[WAYS_MAX];
    size_t ways;
} options;

static char *scratch;
static char *step_log; /* what the step that ran last has written */

/* ---- steps ----------------------------------------------------------------------------------- */

static int run_step(const char *way, const char *step)
{
    char *path = text_make("%s/%s", FORGETTING_WAYS, way);
    free(step_log);
    step_log = text_make("%s/%s.log", scratch, step);
    const int status = process_run((const char *const[]){path, step, NULL}, step_log, STEP_MS);
    free(path);
    return status;
}

static bool has_step(const char *way, const char *step)
{
    assert_int_equal(run_step(way, "steps"), 0);
    char *steps = text_read(step_log, 0);
    bool has = false;
    for (char *rest = steps, *word; (word = strsep(&rest, "\n"));)
        has = has || strcmp(word, step) == 0;
    free(steps);
    (void)remove(step_log);
    return has;
}

static void play_step(const char *way, const char *step)
{
    if (!has_step(way, step))
        return;
    const int status = run_step(way, step);
    if (status == 0)
        return;
    char *wrote = text_read(step_log, 0);
    fail_msg("%s %s ended with %d:\n%s", way, step, status, wrote);
}

static void run_command(const char *command)
{
    char *log = text_make("%s/command.log", scratch);
    const int status = process_run((const char *const[]){"sh", "-c", command, NULL}, log, STEP_MS);
    if (status != 0)
        fail_msg("%s ended with %d; see %s", command, status, log);
    free(log);
}

/* The step of a way that changes files, while the first master is down. */
static void play_down(const char *way)
{
    if (!has_step(way, "down"))
        return;
    if (fleet->attached)
        run_command(options.kill);
    else
        redis_fleet_kill(fleet, 0);
    play_step(way, "down");
    if (fleet->attached)
        run_command(options.start);
    else
        redis_fleet_restart(fleet, 0, true);
}

/* Ends the processes that steps left. */
static void end_left(void)
{
    DIR *dir = opendir(scratch);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        const char *suffix = strrchr(entry->d_name, '.');
        if (!suffix || strcmp(suffix, ".pid") != 0)
            continue;
        char *path = text_make("%s/%s", scratch, entry->d_name);
        char *id = text_read(path, 0);
        const long process = strtol(id, NULL, 10);
        if (process > 1)
            kill((pid_t)process, SIGKILL);
        free(id);
        free(path);
    }
    closedir(dir);
}

/* ---- a way ----------------------------------------------------------------------------------- */

static void name_place(void)
{
    char port[8];
    const char *data = options.data ? options.data : "";
    snprintf(port, sizeof(port), "%u", (unsigned)fleet->master[0].port);
    setenv("FORGET_PORT", port, 1);
    snprintf(port, sizeof(port), "%u", (unsigned)port_free());
    setenv("FORGET_SPARE_PORT", port, 1);
    setenv("FORGET_DATA", fleet->attached ? data : fleet->master[0].dir, 1);
    setenv("FORGET_SCRATCH", scratch, 1);
}

static int begin_way(void **state)
{
    (void)state;
    scratch = tempdir_new();
    if (options.masters > 0)
        fleet = redis_fleet_attach(options.masters, options.master);
    else
        fleet_start(OWN_MASTERS, REDIS_ALWAYS);
    name_place();
    return 0;
}

static int end_way(void **state)
{
    end_left();
    (void)fleet_teardown(state);
    tempdir_remove(scratch);
    free(step_log);
    step_log = NULL;
    return 0;
}

static void play_way(void **state)
{
    const char *way = *state;
    const bool can_be_down = options.kill && options.start && options.data;
    if (fleet->attached && has_step(way, "down") && !can_be_down)
        case_skip("this way needs --kill, --start and --data");
    struct forgetting forgetting =
        fleet->attached ? forgetting_attach(options.pawld) : forgetting_serve();
    play_step(way, "before");
    (void)forgetting_wait_active(&forgetting, 1);
    (void)forgetting_grant(
        &forgetting); /* a master that is not durable any more may grant nothing */
    play_step(way, "up");
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
