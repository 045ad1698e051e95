#include "server/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const level_names[] = {
    [SERVER_LOG_INFO] = "info",
    [SERVER_LOG_WARNING] = "warning",
    [SERVER_LOG_ERROR] = "error",
};

/* "2026-11-20T12:04:05.123Z info pawl-ledger: "; returns its length. */
static size_t print_head(char *line, size_t size, enum server_log_level level)
{
    struct timespec now = {.tv_sec = 0};
    struct tm utc;
    char second[32] = "";
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &utc))
        (void)strftime(second, sizeof(second), "%Y-%m-%dT%H:%M:%S", &utc);
    int len = snprintf(line, size, "%s.%03ldZ %s %.64s: ", second, now.tv_nsec / 1000000,
                       level_names[level], program_invocation_short_name);
    return len > 0 ? (size_t)len : 0;
}

void server_log(enum server_log_level level, const char *format, ...)
{
    int saved_errno = errno; /* logging a failure must not change what the caller reads of it */
    char line[SERVER_LOG_LINE_MAX];
    size_t len = print_head(line, sizeof(line), level);

    va_list args;
    va_start(args, format);
    (void)vsnprintf(line + len, sizeof(line) - len, format, args);
    va_end(args);

    len = strlen(line);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    line[len] = '\n'; /* over the terminator: the line is written by its length */

    /* A log that cannot be written has nowhere to be complained about. */
    ssize_t ignored = write(STDERR_FILENO, line, len + 1);
    (void)ignored;
    errno = saved_errno;
}
