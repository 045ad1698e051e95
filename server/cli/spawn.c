#include "server/cli/spawn.h"

#include "server/cli/signals.h"
#include "server/system/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: all signals are blocked, so that taking the terminal does not stop it. */
static void take_place(const struct cli_command *command, pid_t watchdog)
{
    (void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
    if (getppid() != watchdog)
        _exit(EXIT_FAILURE);          /* the watchdog was killed before that */
    (void)setpgid(0, command->group); /* the watchdog has another group */
    if (command->terminal_fd >= 0)
        (void)tcsetpgrp(command->terminal_fd, getpgrp());
    cli_signals_restore(command->signals);
}

int cli_spawn(const struct cli_command *command, int64_t latest_ms, pid_t *ret_child)
{
    assert(command->argv[0] != NULL && command->signals != NULL);
    int failure[2]; /* says errno, or closes with execvp() */
    if (pipe2(failure, O_CLOEXEC) < 0)
        return errno;
    const pid_t watchdog = getpid();
    const pid_t child = fork();
    if (child < 0) {
        const int error = errno;
        (void)close(failure[0]);
        (void)close(failure[1]);
        return error;
    }
    if (child == 0) {
        take_place(command, watchdog);
        errno = ETIME;
        if ((int64_t)(server_clock_us() / 1000) < latest_ms)
            (void)execvp(command->argv[0], command->argv);
        const int error = errno;
        (void)!write(failure[1], &error, sizeof(error));
        _exit(EXIT_FAILURE);
    }
    (void)close(failure[1]);
    int error = 0;
    ssize_t len;
    do {
        len = read(failure[0], &error, sizeof(error));
    } while (len < 0 && errno == EINTR);
    (void)close(failure[0]);
    if (len == sizeof(error)) {
        (void)waitpid(child, NULL, 0);
        return error;
    }
    *ret_child = child;
    return 0;
}
