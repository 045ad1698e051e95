/* Reports the state of the process to a service manager: the protocol of sd_notify(3), which is
 * datagrams of lines to a socket of the Unix domain.
 *
 *     struct server_notify notify;
 *     server_notify_open(&notify);
 *     server_notify_send(&notify, "READY=1\nSTATUS=Serving on %s", address);
 *     server_notify_close(&notify); */
#ifndef SERVER_SYSTEM_NOTIFY_H
#define SERVER_SYSTEM_NOTIFY_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
    SERVER_NOTIFY_MAX = 1024,    /* bytes of a message; a longer one is cut */
    SERVER_NOTIFY_WAIT_MS = 200, /* for a manager that does not read; then the message is lost */
};

struct server_notify {
    int fd; /* -1: no receiver */
    struct sockaddr_un to;
    socklen_t to_len;
};

/* Opens a socket to $NOTIFY_SOCKET: a path, or "@" and an abstract name. Removes the variable, so
 * that no child reports in our name. If the variable is not set, nothing is reported; if it is no
 * such address, that is logged as well. Call it before other threads run. */
void server_notify_open(struct server_notify *notify);

/* Sends lines, without the last newline. A message that cannot be sent is logged, and lost. One
 * thread. */
void server_notify_send(const struct server_notify *notify, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void server_notify_close(struct server_notify *notify);

/* Returns the longest time between two WATCHDOG=1, in microseconds: $WATCHDOG_USEC, if
 * $WATCHDOG_PID is this process or not set (sd_watchdog_enabled(3)). 0: no watchdog. */
uint64_t server_notify_watchdog_us(void);

#endif
