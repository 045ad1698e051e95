/* The socket to the keeper, as `pawl lock` uses it: starts the keeper (keeper.h), sends it orders,
 * reads its events. */
#ifndef SERVER_CLI_COMMAND_KEEPER_LINK_H
#define SERVER_CLI_COMMAND_KEEPER_LINK_H

#include "server/cli/command.h"
#include "server/cli/command_keeper_wire.h"

#include <stdint.h>
#include <sys/types.h>

struct cli_keeper {
    pid_t pid;
    int fd; /* readable when it has to say something */
};

/* Forks the keeper, which starts @command. The caller has one thread. -1: errno says why. */
int cli_keeper_start(const struct cli_command *command, struct cli_keeper *ret_keeper);

/* The validity now ends at @deadline_ms. */
void cli_keeper_deadline(const struct cli_keeper *keeper, int64_t deadline_ms);

/* Passes @signal on to the command's group. */
void cli_keeper_signal(const struct cli_keeper *keeper, int signal);

/* Ends the command in order: its signal now, SIGKILL after kill_after_ms or before the deadline. */
void cli_keeper_end(const struct cli_keeper *keeper);

/* Reads the next event; waits for it. */
struct cli_event cli_keeper_next(const struct cli_keeper *keeper);

/* Takes the keeper's exit status and closes. After CLI_NOT_FOUND, CLI_ENDED or CLI_GONE. */
void cli_keeper_close(struct cli_keeper *keeper);

#endif
