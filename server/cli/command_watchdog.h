/* The watchdog: a small process between `pawl lock` and the command. It starts the command, passes
 * signals on, and ends the command and all that came from it before the lock's validity ends.
 *
 * It is its own process, so that nothing that befalls the other one lets the command run on.
 * If `pawl lock` is killed, the socket ends, and the watchdog ends the command at once. If `pawl
 * lock` is stopped, no later deadline arrives, and the watchdog ends the command at the last one
 * that it knows. If the watchdog is killed, the kernel kills the command (PR_SET_PDEATHSIG).
 *
 * One thing of the watchdog itself stays: it can be stopped, or the whole machine can. Then the
 * command runs on past the validity, and only its token tells. */
#ifndef SERVER_CLI_COMMAND_WATCHDOG_H
#define SERVER_CLI_COMMAND_WATCHDOG_H

#include "server/cli/command.h"

/* The watchdog's whole life, in the forked process. Orders come from @fd, and events go there. */
_Noreturn void cli_watchdog_main(const struct cli_command *command, int fd);

#endif
