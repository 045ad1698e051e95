/* The keeper: a small process between `pawl lock` and the command. It starts the command, passes
 * signals on, and ends the command and all that came from it before the lock's validity ends.
 *
 * It is its own process, so that nothing that befalls the other one lets the command run on.
 * If `pawl lock` is killed, the socket ends, and the keeper ends the command at once. If `pawl
 * lock` is stopped, no later deadline arrives, and the keeper ends the command at the last one that
 * it knows. If the keeper is killed, the kernel kills the command (PR_SET_PDEATHSIG).
 *
 * One thing of the keeper itself stays: it can be stopped, or the whole machine can. Then the
 * command runs on past the validity, and only its token tells. */
#ifndef SERVER_CLI_KEEPER_H
#define SERVER_CLI_KEEPER_H

#include "server/cli/command.h"
#include "server/cli/keeper_wire.h"

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
