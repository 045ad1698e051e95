#include "server/system/run_delay.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    TEXT_MAX = 96, /* three numbers */
};

/* Returns false if the kernel does not report it. */
static bool read_delay(const struct server_run_delay *delay, uint64_t *ret_us)
{
    char text[TEXT_MAX + 1];
    char *end = NULL;
    const ssize_t len = delay->fd >= 0 ? pread(delay->fd, text, TEXT_MAX, 0) : -1;
    if (len <= 0)
        return false;
    text[len] = '\0';
    (void)strtoull(text, &end, 10); /* nanoseconds on a processor; then those without one */
    *ret_us = strtoull(end, NULL, 10) / 1000;
    return true;
}

uint64_t server_run_delay_us(struct server_run_delay *delay)
{
    uint64_t now_us = 0;
    const bool first = !delay->tried;
    if (first)
        delay->fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    delay->tried = true;
    if (!read_delay(delay, &now_us))
        return 0;
    const uint64_t since_us = first ? 0 : now_us - delay->told_us;
    delay->told_us = now_us;
    return since_us;
}

void server_run_delay_fini(struct server_run_delay *delay)
{
    if (delay->fd >= 0)
        (void)close(delay->fd);
    *delay = SERVER_RUN_DELAY_INIT;
}
