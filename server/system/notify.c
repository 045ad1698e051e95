#include "server/system/notify.h"

#include "fence/protocol/decimal.h"
#include "server/system/log.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* An abstract name begins with a zero byte, and has no end but its length (unix(7)). */
static bool read_notify_address(const char *text, struct server_notify *ret_notify)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const size_t len = strlen(text);
    if ((text[0] != '/' && text[0] != '@') || len < 2 || len >= sizeof(to.sun_path))
        return false;
    memcpy(to.sun_path, text, len);
    if (text[0] == '@')
        to.sun_path[0] = '\0';
    ret_notify->to = to;
    ret_notify->to_len =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (text[0] == '/'));
    return true;
}

static int open_socket(void)
{
    const struct timeval wait = {.tv_usec = SERVER_NOTIFY_WAIT_MS * 1000L};
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
    return fd;
}

void server_notify_open(struct server_notify *notify)
{
    const char *address = getenv("NOTIFY_SOCKET");
    *notify = (struct server_notify){.fd = -1};
    if (!address || !address[0])
        return;
    if (read_notify_address(address, notify))
        notify->fd = open_socket();
    if (notify->fd < 0)
        server_log(SERVER_LOG_WARNING,
                   "pawld does not notify the service manager: NOTIFY_SOCKET is %s", address);
    (void)unsetenv("NOTIFY_SOCKET");
}

void server_notify_send(const struct server_notify *notify, const char *format, ...)
{
    char text[SERVER_NOTIFY_MAX];
    if (notify->fd < 0)
        return;
    va_list args;
    va_start(args, format);
    const int len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    assert(len > 0);
    const size_t size = (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1;
    if (sendto(notify->fd, text, size, MSG_NOSIGNAL, (const struct sockaddr *)&notify->to,
               notify->to_len) < 0)
        server_log_few(SERVER_LOG_WARNING, 0, "cannot notify the service manager of %.*s: %s",
                       (int)strcspn(text, "\n"), text, strerror(errno));
}

void server_notify_close(struct server_notify *notify)
{
    if (notify->fd >= 0)
        (void)close(notify->fd);
    notify->fd = -1;
}

static bool read_number_of(const char *name, uint64_t max, uint64_t *ret_number)
{
    const char *text = getenv(name);
    return text && fence_decimal_read(text, strlen(text), max, ret_number);
}

uint64_t server_notify_watchdog_us(void)
{
    uint64_t us = 0;
    uint64_t pid = (uint64_t)getpid();
    if (!read_number_of("WATCHDOG_USEC", INT64_MAX, &us))
        return 0;
    if (getenv("WATCHDOG_PID") && !read_number_of("WATCHDOG_PID", INT_MAX, &pid))
        return 0;
    return pid == (uint64_t)getpid() ? us : 0;
}
