/* One command, started. */
#ifndef SERVER_CLI_SPAWN_H
#define SERVER_CLI_SPAWN_H

#include "server/cli/command.h"

#include <sys/types.h>

/* Starts @command as a child that dies with this process, unless it is @latest_ms of the boot clock
 * or later: this process may have been stopped since the lock was granted. Returns 0, ETIME, or the
 * errno of fork(2) or execvp(3). */
int cli_spawn(const struct cli_command *command, int64_t latest_ms, pid_t *ret_child);

#endif
