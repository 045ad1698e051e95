/* A command that is to run under a lock. */
#ifndef SERVER_CLI_COMMAND_H
#define SERVER_CLI_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cli_signals;

struct cli_command {
    char **argv;                       /* NULL-terminated; looked up in PATH */
    int signal;                        /* the signal that asks the command to end */
    int64_t kill_after_ms;             /* time from that signal to SIGKILL */
    int64_t margin_ms;                 /* the command is killed so long before the deadline:
                                        * killing takes time, too */
    int64_t deadline_ms;               /* on the boot clock: after it no process of the command
                                        * may run */
    const struct cli_signals *signals; /* the signals that were blocked */
    bool foreground;                   /* the command is in the process group of `pawl lock` */
    pid_t group;                       /* the group of the command; 0: a new group */
    int terminal_fd; /* the command's group becomes the foreground group of this terminal; -1: of
                      * none */
};

#endif
