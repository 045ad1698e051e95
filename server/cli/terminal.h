/* The terminal: its foreground group may read typed text, and gets Ctrl-C. While the command runs,
 * the foreground group is the command's group.
 *
 * The processes of a pipeline share one group, and another of them may read the terminal, such as a
 * pager. Then the command gets the terminal only when it asks for it (SIGTTIN, SIGTTOU). */
#ifndef SERVER_CLI_TERMINAL_H
#define SERVER_CLI_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

struct cli_terminal {
    int fd;     /* -1: this process has none */
    bool given; /* the command gets it at its start, and again when it is continued */
};

/* @foreground: the command stays in this process group, and the foreground group stays the same. */
struct cli_terminal cli_terminal_open(bool foreground);

/* Report whether @group is the foreground group, and whether this process is in it. */
bool cli_terminal_is_of(const struct cli_terminal *terminal, pid_t group);
bool cli_terminal_ours(const struct cli_terminal *terminal);

/* Makes @group the foreground group, if this process is in the foreground group. SIGTTOU is
 * blocked. */
void cli_terminal_give(const struct cli_terminal *terminal, pid_t group);

/* Makes the group of this process the foreground group, if the foreground group is @group or has
 * ended. If a shell put both groups into the background, the shell keeps the terminal. */
void cli_terminal_take(const struct cli_terminal *terminal, pid_t group);

void cli_terminal_close(struct cli_terminal *terminal);

#endif
