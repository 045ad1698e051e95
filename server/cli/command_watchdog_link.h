/* The socket to the watchdog, as `pawl lock` uses it: starts the watchdog (command_watchdog.h),
 * sends it orders, reads its events. */
#ifndef SERVER_CLI_COMMAND_WATCHDOG_LINK_H
#define SERVER_CLI_COMMAND_WATCHDOG_LINK_H

#include "server/cli/command.h"
#include "server/cli/command_watchdog_wire.h"

#include <stdint.h>
#include <sys/types.h>

struct cli_watchdog {
    pid_t pid;
    int fd; /* readable when it has to say something */
};

/* Forks the watchdog, which starts @command. The caller has one thread. -1: errno says why. */
int cli_watchdog_start(const struct cli_command *command, struct cli_watchdog *ret_watchdog);

/* The validity now ends at @deadline_ms. */
void cli_watchdog_deadline(const struct cli_watchdog *watchdog, int64_t deadline_ms);

/* Passes @signal on to the command's group. */
void cli_watchdog_signal(const struct cli_watchdog *watchdog, int signal);

/* Ends the command in order: its signal now, SIGKILL after kill_after_ms or before the deadline. */
void cli_watchdog_end(const struct cli_watchdog *watchdog);

/* Reads the next event; waits for it. */
struct cli_event cli_watchdog_next(const struct cli_watchdog *watchdog);

/* Takes the watchdog's exit status and closes. After CLI_NOT_FOUND, CLI_ENDED or CLI_GONE. */
void cli_watchdog_close(struct cli_watchdog *watchdog);

#endif
