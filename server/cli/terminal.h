/* The terminal: its foreground group may type, and gets Ctrl-C. While the command runs, that is the
 * command's group.
 *
 * A pipeline shares one group, and another part of it may read the terminal, such as a pager. Then
 * the command gets the terminal only when it asks for it (SIGTTIN, SIGTTOU). */
#ifndef SERVER_CLI_TERMINAL_H
#define SERVER_CLI_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

struct cli_terminal {
    int fd;     /* -1: this process has none */
    bool given; /* the command gets it at its start, and again when it is continued */
};

/* @foreground: the command stays in this process group, and the terminal stays where it is. */
struct cli_terminal cli_terminal_open(bool foreground);

/* True where @group is the foreground group; where this process is in it. */
bool cli_terminal_is_of(const struct cli_terminal *terminal, pid_t group);
bool cli_terminal_ours(const struct cli_terminal *terminal);

/* Makes @group the foreground group, if this process is in the foreground group. SIGTTOU is
 * blocked. */
void cli_terminal_give(const struct cli_terminal *terminal, pid_t group);

/* Makes the group of this process the foreground group, where @group is, or one that is gone. A
 * shell that put both into the background keeps the terminal. */
void cli_terminal_take(const struct cli_terminal *terminal, pid_t group);

void cli_terminal_close(struct cli_terminal *terminal);

#endif
