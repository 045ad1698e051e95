#include "tests/lib/process.h"

#include "tests/lib/case.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STAT_PATH_MAX = 32,
    STATE_READS_MAX = 1000000,
    STOP_TIMEOUT_MS = 5000, /* the time in which a program has to end on SIGTERM */
    EXEC_FAILED = 127,      /* as a shell reports it */
};

struct process {
    pid_t pid;
    bool ended;     /* and reaped: @status is what waitpid() said */
    int status;     /* of waitpid() */
    char *name;     /* argv[0], for messages */
    char *log_path; /* its output */
    off_t log_from; /* the place where this start's part of the log begins */
    struct process *next;
};

/* All that were started and not freed, for process_kill_all(). */
static struct process *processes;

static int passed = -1;

/* ---- start ----------------------------------------------------------------------------------- */

/* In the child: becomes the program. It does not return. */
static void become(const char *const argv[], int log, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the kernel was told to watch */
        _exit(EXEC_FAILED);
    int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
        dup2(log, STDERR_FILENO) < 0)
        _exit(EXEC_FAILED);
    const int first = STDERR_FILENO + 1;
    if (passed >= 0 && dup3(passed, first, 0) < 0 && fcntl(passed, F_SETFD, 0) < 0)
        _exit(EXEC_FAILED); /* dup3() refuses to copy a descriptor to itself */
    close_range((unsigned)first + (passed >= 0), ~0U, 0);

    execvp(argv[0], (char *const *)argv); /* which does not write there */
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(EXEC_FAILED);
}

void process_pass(int fd)
{
    passed = fd;
}

struct process *process_start(const char *const argv[], const char *log_path)
{
    static bool at_exit;
    if (!at_exit && atexit(process_kill_all) == 0)
        at_exit = true;

    int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0)
        fail_msg("cannot write %s: %s", log_path, strerror(errno));

    struct process *process = calloc(1, sizeof(*process));
    assert_non_null(process);
    process->name = strdup(argv[0]);
    process->log_path = strdup(log_path);
    process->log_from = lseek(log, 0, SEEK_END);

    const pid_t parent = getpid();
    process->pid = fork();
    if (process->pid == 0)
        become(argv, log, parent);
    close(log);
    if (process->pid < 0)
        fail_msg("cannot fork: %s", strerror(errno));
    process->next = processes;
    processes = process;
    return process;
}

pid_t process_id(const struct process *process)
{
    return process->pid;
}

/* ---- what it says ---------------------------------------------------------------------------- */

static bool find(const char *regex, const char *text, char *ret_group, size_t cap)
{
    regex_t compiled;
    int error = regcomp(&compiled, regex, REG_EXTENDED | REG_NEWLINE);
    assert(error == 0);
    (void)error;
    regmatch_t match[2];
    bool found = regexec(&compiled, text, 2, match, 0) == 0;
    regfree(&compiled);
    if (found && ret_group) {
        assert(match[1].rm_so >= 0);
        snprintf(ret_group, cap, "%.*s", (int)(match[1].rm_eo - match[1].rm_so),
                 text + match[1].rm_so);
    }
    return found;
}

bool process_wrote(const struct process *process, const char *regex)
{
    char *text = text_read(process->log_path, process->log_from);
    bool found = find(regex, text, NULL, 0);
    free(text);
    return found;
}

struct line_wait {
    struct process *process;
    const char *regex;
};

/* The order matters: what a program wrote before it ended is there to be read after its end. */
static bool wrote_or_ended(void *arg)
{
    struct line_wait *wait = arg;
    bool ended = !process_alive(wait->process);
    return process_wrote(wait->process, wait->regex) || ended;
}

void process_wait_line(struct process *process, const char *regex, unsigned timeout_ms,
                       char *ret_group, size_t cap)
{
    struct line_wait wait = {.process = process, .regex = regex};
    wait_until(wrote_or_ended, &wait, timeout_ms);
    char *text = text_read(process->log_path, process->log_from);
    if (!find(regex, text, ret_group, cap))
        fail_msg("%s %s without writing /%s/, but:\n%s", process->name,
                 process->ended ? "ended" : "went on", regex, text);
    free(text);
}

/* ---- signals and the end --------------------------------------------------------------------- */

void process_signal(struct process *process, int signal)
{
    if (!process_alive(process))
        return; /* reaped: its id may be another's by now */
    kill(process->pid, signal);
    if (signal == SIGSTOP) {
        siginfo_t info;
        waitid(P_PID, (id_t)process->pid, &info, WSTOPPED | WEXITED | WNOWAIT);
    }
}

/* As proc_pid_stat(5) has it: T stopped, D waiting for a disk, Z and X ended, R and S at work. */
static char state_of_first_thread(const struct process *process)
{
    char path[STAT_PATH_MAX], state = 'X';
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)process->pid);
    char *text = text_read(path, 0);
    const char *name_end = strrchr(text, ')');
    if (name_end)
        (void)sscanf(name_end, ") %c", &state);
    free(text);
    return state;
}

void process_freeze(struct process *process)
{
    if (!process_alive(process))
        return;
    kill(process->pid, SIGSTOP);
    for (unsigned i = 0; strchr("RS", state_of_first_thread(process)); i++)
        if (i == STATE_READS_MAX)
            fail_msg("%s did not stop", process->name);
}

bool process_alive(struct process *process)
{
    if (!process->ended && waitpid(process->pid, &process->status, WNOHANG) == process->pid)
        process->ended = true;
    return !process->ended;
}

static bool has_ended(void *arg)
{
    return !process_alive(arg);
}

static void release(struct process *process)
{
    assert(process->ended);
    struct process **at = &processes;
    while (*at != process)
        at = &(*at)->next;
    *at = process->next;
    free(process->name);
    free(process->log_path);
    free(process);
}

int process_wait(struct process *process, unsigned timeout_ms)
{
    if (!wait_until(has_ended, process, timeout_ms)) {
        char *text = text_read(process->log_path, process->log_from);
        char name[256];
        snprintf(name, sizeof(name), "%s", process->name);
        process_kill(process);
        fail_msg("%s did not end within %u ms. It wrote:\n%s", name, timeout_ms, text);
    }
    int status =
        WIFEXITED(process->status) ? WEXITSTATUS(process->status) : 128 + WTERMSIG(process->status);
    release(process);
    return status;
}

int process_stop(struct process *process)
{
    if (!process)
        return 0;
    process_signal(process, SIGTERM);
    return process_wait(process, STOP_TIMEOUT_MS);
}

void process_kill(struct process *process)
{
    if (!process)
        return;
    if (!process->ended) {
        kill(process->pid, SIGKILL);
        while (waitpid(process->pid, &process->status, 0) < 0 && errno == EINTR)
            continue;
        process->ended = true;
    }
    release(process);
}

void process_kill_all(void)
{
    while (processes)
        process_kill(processes);
}

int process_run(const char *const argv[], const char *log_path, unsigned timeout_ms)
{
    return process_wait(process_start(argv, log_path), timeout_ms);
}
