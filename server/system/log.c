#include "server/system/log.h"

#include "server/system/log_line.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    ABOUT_MAX = 80, /* bytes at the start of a line that identify its kind */
    WINDOW_MS = 1000,
    FLUSH_MS = 250, /* between two walks over all kinds */
};

static enum server_log_form log_form = SERVER_LOG_PLAIN;
static enum server_log_level log_least = SERVER_LOG_INFO;

void server_log_configure(enum server_log_form form, enum server_log_level least)
{
    log_form = form;
    log_least = least;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static pthread_mutex_t line_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t lost_lines; /* since the last one that was written */
static bool line_is_torn;   /* its end could not be written */

/* Writes @len bytes, unless that would block: on the reader of a pipe, or on a stopped terminal. A
 * writable pipe or terminal takes PIPE_BUF bytes (pipe(7)). Returns how many bytes it took. */
static size_t write_now(const char *bytes, size_t len)
{
    size_t done = 0;
    while (done < len) {
        struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
        const size_t left = len - done;
        if (poll(&out, 1, 0) <= 0)
            break;
        const ssize_t wrote = write(STDERR_FILENO, bytes + done, left < PIPE_BUF ? left : PIPE_BUF);
        if (wrote <= 0)
            break;
        done += (size_t)wrote;
    }
    return done;
}

static bool try_to_write(enum server_log_level level, const char *text)
{
    char line[SERVER_LOG_JSON_MAX];
    struct timespec now = {.tv_sec = 0};
    if (line_is_torn && write_now("\n", 1) < 1)
        return false;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const size_t len =
        server_log_line(log_form, level, &now, program_invocation_short_name, text, line);
    const size_t done = write_now(line, len);
    line_is_torn = done > 0 && done < len;
    return done == len;
}

static bool tell_lost_lines(void)
{
    char text[128];
    (void)snprintf(text, sizeof(text), "%llu lines of this log were lost: no process read them",
                   (unsigned long long)lost_lines);
    return try_to_write(SERVER_LOG_WARNING, text);
}

/* Writes a line. The service continues if its log fails. */
static void write_line(enum server_log_level level, const char *text)
{
    (void)pthread_mutex_lock(&line_lock);
    if (lost_lines > 0 && tell_lost_lines())
        lost_lines = 0;
    if (lost_lines > 0 || !try_to_write(level, text))
        lost_lines++;
    (void)pthread_mutex_unlock(&line_lock);
}

void server_log(enum server_log_level level, const char *format, ...)
{
    if (level < log_least)
        return;
    int saved_errno = errno; /* logging a failure must not change the caller's errno */
    char text[SERVER_LOG_LINE_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    write_line(level, text);
    errno = saved_errno;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

struct kind {
    const char *format; /* NULL: none */
    unsigned key;
    enum server_log_level level;
    uint64_t since_ms; /* when its current second began */
    unsigned lines;    /* in that second */
    unsigned more;     /* lines that were not written */
    char about[ABOUT_MAX];
};

/* One place for each kind, found by hash. If another kind has the place, the new kind takes it
 * over. */
static struct kind kinds[SERVER_LOG_KINDS];
static pthread_mutex_t kinds_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint unsaid; /* kinds of which there are more */
static uint64_t flushed_ms;

static uint64_t now_ms(void)
{
    struct timespec now = {.tv_sec = 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static struct kind *place_of(const char *format, unsigned key)
{
    const uint64_t mixed = ((uintptr_t)format ^ ((uint64_t)key << 32)) * 0x9e3779b97f4a7c15U;
    return &kinds[(mixed >> 32) % SERVER_LOG_KINDS];
}

/* Logs how many more lines there were, and starts again. */
static void close_window(struct kind *kind)
{
    char text[ABOUT_MAX + 64];
    if (kind->more > 0) {
        (void)snprintf(text, sizeof(text), "%u more of this kind: %s", kind->more, kind->about);
        write_line(kind->level, text);
        atomic_fetch_sub(&unsaid, 1);
    }
    kind->lines = 0;
    kind->more = 0;
}

/* Counts a line; returns true if it is to be written. */
static bool count_line(enum server_log_level level, unsigned key, const char *format,
                       const char *text)
{
    struct kind *kind = place_of(format, key);
    const uint64_t now = now_ms();
    if (kind->format != format || kind->key != key || now - kind->since_ms >= WINDOW_MS) {
        close_window(kind);
        kind->format = format;
        kind->key = key;
        kind->since_ms = now;
    }
    if (kind->lines < SERVER_LOG_FEW) {
        kind->lines++;
        return true;
    }
    kind->level = level;
    if (kind->more++ == 0) {
        (void)snprintf(kind->about, sizeof(kind->about), "%.*s", ABOUT_MAX - 1, text);
        atomic_fetch_add(&unsaid, 1);
    }
    return false;
}

void server_log_few(enum server_log_level level, unsigned key, const char *format, ...)
{
    if (level < log_least)
        return;
    int saved_errno = errno;
    char text[SERVER_LOG_LINE_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    (void)pthread_mutex_lock(&kinds_lock);
    if (count_line(level, key, format, text))
        write_line(level, text);
    (void)pthread_mutex_unlock(&kinds_lock);
    errno = saved_errno;
}

void server_log_flush(void)
{
    if (atomic_load_explicit(&unsaid, memory_order_relaxed) == 0)
        return;
    (void)pthread_mutex_lock(&kinds_lock);
    const uint64_t now = now_ms();
    const bool due = now - flushed_ms >= FLUSH_MS;
    flushed_ms = due ? now : flushed_ms;
    for (int i = 0; i < SERVER_LOG_KINDS && due; i++)
        if (kinds[i].more > 0 && now - kinds[i].since_ms >= WINDOW_MS)
            close_window(&kinds[i]);
    (void)pthread_mutex_unlock(&kinds_lock);
}
