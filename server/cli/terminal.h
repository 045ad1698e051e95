/* The terminal: its foreground group may type, and gets Ctrl-C. While the command runs, that is the
 * command's group. */
#ifndef SERVER_CLI_TERMINAL_H
#define SERVER_CLI_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

struct cli_terminal {
    bool ours; /* standard input is a terminal, and this process was in its foreground group */
};

struct cli_terminal cli_terminal_open(void);

/* Gives it to the process group @group. Does nothing where it was not ours. SIGTTOU is blocked. */
void cli_terminal_give(const struct cli_terminal *terminal, pid_t group);

#endif
