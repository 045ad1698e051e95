/* A command that is to run under a lock. */
#ifndef SERVER_CLI_COMMAND_H
#define SERVER_CLI_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cli_signals;

struct cli_command {
    char **argv;                       /* NULL-terminated; looked up in PATH */
    int signal;                        /* that asks it to end */
    int64_t kill_after_ms;             /* from then until SIGKILL */
    int64_t margin_ms;                 /* before the deadline it is killed: that takes time, too */
    int64_t deadline_ms;               /* on the boot clock: nothing of it may run then */
    const struct cli_signals *signals; /* that were blocked */
    bool foreground;                   /* it is in the process group of `pawl lock` */
    pid_t group;                       /* that group; 0: a new group */
    int terminal_fd; /* its group becomes the foreground group of it; -1: of none */
};

#endif
