#include "tests/lib/thread.h"

#include "tests/lib/case.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum {
    NAME_MAX_LEN = 16, /* for the name of a thread, with its end */
};

static bool has_name(pid_t pid, const char *thread, const char *name)
{
    char path[64];
    char line[NAME_MAX_LEN + 1] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/comm", (int)pid, thread);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    (void)!fgets(line, sizeof(line), file);
    (void)fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return strcmp(line, name) == 0;
}

static pid_t find_thread(pid_t pid, const char *name)
{
    char path[64];
    pid_t found = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    assert_non_null(tasks);
    for (const struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks))
        if (has_name(pid, entry->d_name, name))
            found = (pid_t)strtol(entry->d_name, NULL, 10);
    (void)closedir(tasks);
    if (found == 0)
        fail_msg("process %d has no thread \"%s\"", (int)pid, name);
    return found;
}

pid_t thread_hold(pid_t pid, const char *name)
{
    const pid_t thread = find_thread(pid, name);
    int status = 0;
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0) {
        assert_int_equal(errno, EPERM);
        case_skip("the system does not let a process hold a thread of its child");
    }
    assert_int_equal(ptrace(PTRACE_INTERRUPT, thread, NULL, NULL), 0);
    assert_int_equal(waitpid(thread, &status, __WALL), thread);
    assert_true(WIFSTOPPED(status));
    return thread;
}

void thread_let_go(pid_t thread)
{
    int status = 0;
    if (ptrace(PTRACE_DETACH, thread, NULL, NULL) == 0)
        return;
    assert_int_equal(errno, ESRCH);
    assert_int_equal(waitpid(thread, &status, __WALL), thread);
}
