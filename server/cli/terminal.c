#include "server/cli/terminal.h"

#include <unistd.h>

struct cli_terminal cli_terminal_open(void)
{
    return (struct cli_terminal){.ours = isatty(STDIN_FILENO) == 1 &&
                                         tcgetpgrp(STDIN_FILENO) == getpgrp()};
}

void cli_terminal_give(const struct cli_terminal *terminal, pid_t group)
{
    if (terminal->ours)
        (void)tcsetpgrp(STDIN_FILENO, group); /* fails where the terminal is gone */
}
