#include "server/cli/command_watchdog_link.h"

#include "server/cli/command_watchdog.h"
#include "server/cli/descendants.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int cli_watchdog_start(const struct cli_command *command, struct cli_watchdog *ret_watchdog)
{
    assert(command->kill_after_ms >= 0 && command->margin_ms >= 0);
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return -1;
    cli_descendants_adopt(); /* should the watchdog be killed, its orphans come here */
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
        cli_watchdog_main(command, fds[1]);
    }
    (void)close(fds[1]);
    *ret_watchdog = (struct cli_watchdog){.pid = pid, .fd = fds[0]};
    return 0;
}

static void tell_watchdog(const struct cli_watchdog *watchdog, enum cli_order_kind kind,
                          int64_t value)
{
    assert(watchdog->pid > 0 && watchdog->fd >= 0);
    const struct cli_order order = {.kind = kind, .value = value};
    (void)send(watchdog->fd, &order, sizeof(order),
               MSG_NOSIGNAL); /* the next event tells if it ended */
}

void cli_watchdog_deadline(const struct cli_watchdog *watchdog, int64_t deadline_ms)
{
    tell_watchdog(watchdog, CLI_ORDER_DEADLINE, deadline_ms);
}

void cli_watchdog_signal(const struct cli_watchdog *watchdog, int signal)
{
    tell_watchdog(watchdog, CLI_ORDER_SIGNAL, signal);
}

void cli_watchdog_end(const struct cli_watchdog *watchdog)
{
    tell_watchdog(watchdog, CLI_ORDER_END, 0);
}

struct cli_event cli_watchdog_next(const struct cli_watchdog *watchdog)
{
    assert(watchdog->fd >= 0);
    struct cli_event event;
    ssize_t len;
    /* A watchdog that ends without reading the last order resets the socket. That is said once,
     * before the events that it sent. */
    do {
        len = recv(watchdog->fd, &event, sizeof(event), 0);
    } while (len < 0 && (errno == EINTR || errno == ECONNRESET));
    return len == sizeof(event) ? event : (struct cli_event){.kind = CLI_GONE};
}

void cli_watchdog_close(struct cli_watchdog *watchdog)
{
    assert(watchdog->pid > 0 && watchdog->fd >= 0);
    (void)close(watchdog->fd);
    while (waitpid(watchdog->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    watchdog->fd = -1;
}
