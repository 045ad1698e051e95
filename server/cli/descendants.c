#include "server/cli/descendants.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

bool cli_descendants_visible(void)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    return access(path, R_OK) == 0;
}

void cli_descendants_adopt(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
}

enum {
    WORD_MAX = 16, /* bytes of a process id, terminated */
    PATH_BYTES = 64,
};

/* Appends the children that the task @task of @parent forked to @list, which has @count already.
 * Returns the new count. */
static size_t add_children_of_task(pid_t parent, const char *task, pid_t *list, size_t count)
{
    assert(parent > 0 && count <= CLI_DESCENDANTS_MAX);
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)parent, task);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return count; /* the task ended */
    char word[WORD_MAX];
    while (count < CLI_DESCENDANTS_MAX && fscanf(file, "%15s", word) == 1)
        list[count++] = (pid_t)strtol(word, NULL, 10);
    (void)fclose(file);
    return count;
}

/* In /proc, a child is listed under the thread that forked it. */
static size_t add_children(pid_t parent, pid_t *list, size_t count)
{
    assert(parent > 0 && count <= CLI_DESCENDANTS_MAX);
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)parent);
    DIR *tasks = opendir(path);
    if (tasks == NULL)
        return count;
    const struct dirent *task;
    while (count < CLI_DESCENDANTS_MAX && (task = readdir(tasks)) != NULL)
        if (task->d_name[0] != '.')
            count = add_children_of_task(parent, task->d_name, list, count);
    (void)closedir(tasks);
    return count;
}

void cli_descendants_signal(int signal, pid_t spared)
{
    assert(signal > 0 && spared >= 0);
    pid_t list[CLI_DESCENDANTS_MAX];
    size_t count = add_children(getpid(), list, 0);
    for (size_t i = 0; i < count; i++)
        if (list[i] != spared)
            count = add_children(list[i], list, count);
    for (size_t i = 0; i < count; i++)
        if (list[i] != spared)
            (void)kill(list[i], signal); /* fails if the process ended, or belongs to another
                                          * user */
}

bool cli_descendants_reap(pid_t kept)
{
    assert(kept >= 0);
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
            return errno != ECHILD;
        if (info.si_pid == 0 || info.si_pid == kept)
            return true;
        (void)waitpid(info.si_pid, NULL, WNOHANG);
    }
}
