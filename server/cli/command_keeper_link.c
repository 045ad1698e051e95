#include "server/cli/command_keeper_link.h"

#include "server/cli/command_keeper.h"
#include "server/cli/descendants.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int cli_keeper_start(const struct cli_command *command, struct cli_keeper *ret_keeper)
{
    assert(command->kill_after_ms >= 0 && command->margin_ms >= 0);
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return -1;
    cli_descendants_adopt(); /* should the keeper be killed, its orphans come here */
    const pid_t pid = fork();
    if (pid < 0) {
        const int error = errno;
        (void)close(fds[0]);
        (void)close(fds[1]);
        errno = error;
        return -1;
    }
    if (pid == 0) {
        (void)close(fds[0]);
        cli_keeper_main(command, fds[1]);
    }
    (void)close(fds[1]);
    *ret_keeper = (struct cli_keeper){.pid = pid, .fd = fds[0]};
    return 0;
}

static void tell_keeper(const struct cli_keeper *keeper, enum cli_order_kind kind, int64_t value)
{
    assert(keeper->pid > 0 && keeper->fd >= 0);
    const struct cli_order order = {.kind = kind, .value = value};
    (void)send(keeper->fd, &order, sizeof(order),
               MSG_NOSIGNAL); /* the next event tells if it ended */
}

void cli_keeper_deadline(const struct cli_keeper *keeper, int64_t deadline_ms)
{
    tell_keeper(keeper, CLI_ORDER_DEADLINE, deadline_ms);
}

void cli_keeper_signal(const struct cli_keeper *keeper, int signal)
{
    tell_keeper(keeper, CLI_ORDER_SIGNAL, signal);
}

void cli_keeper_end(const struct cli_keeper *keeper)
{
    tell_keeper(keeper, CLI_ORDER_END, 0);
}

struct cli_event cli_keeper_next(const struct cli_keeper *keeper)
{
    assert(keeper->fd >= 0);
    struct cli_event event;
    ssize_t len;
    /* A keeper that ends without reading the last order resets the socket. That is said once,
     * before the events that it sent. */
    do {
        len = recv(keeper->fd, &event, sizeof(event), 0);
    } while (len < 0 && (errno == EINTR || errno == ECONNRESET));
    return len == sizeof(event) ? event : (struct cli_event){.kind = CLI_GONE};
}

void cli_keeper_close(struct cli_keeper *keeper)
{
    assert(keeper->pid > 0 && keeper->fd >= 0);
    (void)close(keeper->fd);
    while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    keeper->fd = -1;
}
