/* One command, started. */
#ifndef SERVER_CLI_SPAWN_H
#define SERVER_CLI_SPAWN_H

#include "server/cli/command.h"

#include <sys/types.h>

/* Starts @command as a child that dies with this process. Returns 0, or the errno of fork(2) or
 * execvp(3). */
int cli_spawn(const struct cli_command *command, pid_t *ret_child);

#endif
