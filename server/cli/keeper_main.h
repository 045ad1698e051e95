/* The program of the forked process. */
#ifndef SERVER_CLI_KEEPER_MAIN_H
#define SERVER_CLI_KEEPER_MAIN_H

#include "server/cli/command.h"

/* The keeper's whole life, in the forked process. Orders come from @fd, and events go there. */
_Noreturn void cli_keeper_main(const struct cli_command *command, int fd);

#endif
