/* One run of a command under a lock: the watchdog, the renewer, signals and the terminal. */
#ifndef SERVER_CLI_RUN_UNDER_LOCK_H
#define SERVER_CLI_RUN_UNDER_LOCK_H

#include "api/client/pawl.h"

#include <stdbool.h>

struct cli_descriptors;
struct cli_signals;

struct cli_run {
    pawl_client *client;
    pawl_lock *lock;
    char **argv;
    int signal;
    int64_t kill_after_ms;
    const struct cli_descriptors *inherited; /* that the command gets */
    const struct cli_signals *signals;
    bool foreground;
};

/* How a run ended. */
enum cli_run_end {
    CLI_RUN_ENDED,     /* the command ended: the exit code is its own */
    CLI_RUN_FAILED,    /* it was not started, or the watchdog was killed: the reason was printed */
    CLI_RUN_LOST,      /* it was ended, since the lock was lost or could not be extended in time */
    CLI_RUN_EXHAUSTED, /* it was ended: the lock cannot be extended any more */
    CLI_RUN_NEW_GRANT, /* it was ended: the lock has new tokens */
};

/* Runs the command, and extends the lock meanwhile. Returns when no process of the command is left.
 * *@ret_code is the exit code for this end: the command's, one of cli_exit, or CLI_EXIT_LOST. */
enum cli_run_end cli_run(const struct cli_run *run, int *ret_code);

#endif
