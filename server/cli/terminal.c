#include "server/cli/terminal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_pipe(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

struct cli_terminal cli_terminal_open(bool foreground)
{
    struct cli_terminal terminal = {.fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)};
    if (terminal.fd < 0 && isatty(STDIN_FILENO) == 1) /* in a chroot, say */
        terminal.fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    terminal.given = !foreground && cli_terminal_ours(&terminal) && isatty(STDIN_FILENO) == 1 &&
                     !is_pipe(STDOUT_FILENO);
    return terminal;
}

bool cli_terminal_is_of(const struct cli_terminal *terminal, pid_t group)
{
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == group;
}

bool cli_terminal_ours(const struct cli_terminal *terminal)
{
    return cli_terminal_is_of(terminal, getpgrp());
}

void cli_terminal_give(const struct cli_terminal *terminal, pid_t group)
{
    assert(group > 0);
    if (cli_terminal_ours(terminal))
        (void)tcsetpgrp(terminal->fd, group); /* fails where the terminal is gone */
}

void cli_terminal_take(const struct cli_terminal *terminal, pid_t group)
{
    if (terminal->fd < 0)
        return;
    const pid_t foreground = tcgetpgrp(terminal->fd);
    if (foreground > 0 && (foreground == group || (kill(-foreground, 0) < 0 && errno == ESRCH)))
        (void)tcsetpgrp(terminal->fd, getpgrp());
}

void cli_terminal_close(struct cli_terminal *terminal)
{
    if (terminal->fd >= 0)
        (void)close(terminal->fd);
    terminal->fd = -1;
}
