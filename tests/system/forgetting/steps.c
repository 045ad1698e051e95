#include "tests/system/forgetting/steps.h"

#include "tests/lib/case.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/system/fleet.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    STEP_MS = 60000,
};

/* The folder of the steps of this fleet, which the caller frees. The first time it is made, and a
 * port is chosen. */
static char *scratch_folder(void)
{
    char *scratch = text_make("%s/steps", fleet->dir);
    if (mkdir(scratch, 0700) == 0) {
        char *port = text_make("%u", (unsigned)port_free());
        setenv("FORGET_SPARE_PORT", port, 1);
        free(port);
    }
    return scratch;
}

static int run_step(const char *way, const char *step, const char *log)
{
    char *path = text_make("%s/%s", FORGETTING_WAYS, way);
    char *port = text_make("%u", (unsigned)fleet->master[0].port);
    char *scratch = scratch_folder();
    setenv("FORGET_PORT", port, 1);
    setenv("FORGET_SCRATCH", scratch, 1);
    setenv("FORGET_DATA", fleet->master[0].dir ? fleet->master[0].dir : "", 1);
    const int status = process_run((const char *const[]){path, step, NULL}, log, STEP_MS);
    free(scratch);
    free(port);
    free(path);
    return status;
}

/* The output of the step, which the caller frees. */
static char *output_of(const char *way, const char *step, int *ret_status)
{
    char *log = text_make("%s/step.log", fleet->dir);
    (void)remove(log);
    *ret_status = run_step(way, step, log);
    char *wrote = text_read(log, 0);
    free(log);
    return wrote;
}

bool steps_has(const char *way, const char *step)
{
    int status = 0;
    char *steps = output_of(way, "steps", &status);
    if (status != 0)
        fail_msg("there is no way %s: %s", way, steps);
    bool has = false;
    for (char *rest = steps, *word; (word = strsep(&rest, "\n"));)
        has = has || strcmp(word, step) == 0;
    free(steps);
    return has;
}

void steps_play(const char *way, const char *step)
{
    int status = 0;
    char *wrote = output_of(way, step, &status);
    if (status != 0)
        fail_msg("%s %s ended with %d: %s", way, step, status, wrote);
    free(wrote);
}

static void end_process(const char *file)
{
    char *id = text_read(file, 0);
    const long process = strtol(id, NULL, 10);
    if (process > 1)
        kill((pid_t)process, SIGKILL);
    free(id);
}

void steps_end(void)
{
    char *scratch = scratch_folder();
    DIR *dir = opendir(scratch);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        const char *suffix = strrchr(entry->d_name, '.');
        if (!suffix || strcmp(suffix, ".pid") != 0)
            continue;
        char *file = text_make("%s/%s", scratch, entry->d_name);
        end_process(file);
        free(file);
    }
    closedir(dir);
    free(scratch);
}
