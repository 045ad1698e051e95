#include "server/system/line_writer.h"

#include "server/system/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    NOTE_MAX = 128,           /* bytes of the line about dropped lines */
    RETRY_NS = 100 * 1000000, /* after a write that failed */
};

struct server_line_writer {
    const char *path, *what;
    int fd; /* -1: the file is not made yet */
    pthread_t thread;
    pthread_mutex_t lock; /* guards all members that follow */
    pthread_cond_t more;
    char *adding; /* SERVER_LINES_MAX bytes: lines are added here */
    size_t len;
    char *writing; /* the thread writes these bytes */
    uint64_t dropped;
    int next_fd; /* the descriptor to use next; -1: none */
    bool ends;
};

/* ---- the thread ------------------------------------------------------------------------------ */

/* Returns how many bytes were written; fewer than @len after a failure, which is in errno. */
static size_t write_bytes(int fd, const char *bytes, size_t len)
{
    size_t done = 0;
    while (done < len) {
        const ssize_t wrote = write(fd, bytes + done, len - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            break;
        done += (size_t)wrote;
    }
    return done;
}

static uint64_t count_newlines(const char *bytes, size_t len)
{
    uint64_t lines = 0;
    for (const char *at = memchr(bytes, '\n', len); at; at = memchr(at, '\n', len)) {
        lines++;
        at++;
        len -= (size_t)(at - bytes);
        bytes = at;
    }
    return lines;
}

static size_t write_note(char note[static NOTE_MAX], uint64_t dropped)
{
    char when[SERVER_LOG_TIME_MAX];
    struct timespec now = {.tv_sec = 0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    server_log_time(&now, when);
    const int len =
        snprintf(note, NOTE_MAX, "{\"time\":\"%s\",\"event\":\"dropped\",\"lines\":%llu}\n", when,
                 (unsigned long long)dropped);
    return len > 0 && len < NOTE_MAX ? (size_t)len : 0;
}

/* Writes lines. Lost lines are counted, and a note about them comes before the next lines. A torn
 * line is ended first. Returns the number of lost lines, and whether the last line is torn. */
static uint64_t write_lines(struct server_line_writer *writer, size_t len, uint64_t dropped,
                            bool *torn)
{
    assert(writer->fd >= 0 && len <= SERVER_LINES_MAX);
    char note[1 + NOTE_MAX] = "\n";
    size_t note_len = *torn ? 1 : 0;
    if (dropped > 0)
        note_len += write_note(note + note_len, dropped);
    if (note_len > 0 && write_bytes(writer->fd, note, note_len) < note_len)
        return dropped + count_newlines(writer->writing, len);
    *torn = false;
    const size_t done = write_bytes(writer->fd, writer->writing, len);
    if (done == len)
        return 0;
    *torn = done > 0 && writer->writing[done - 1] != '\n';
    return count_newlines(writer->writing + done, len - done);
}

static void wait_for_lines(struct server_line_writer *writer)
{
    while (writer->len == 0 && !writer->ends && writer->next_fd < 0)
        (void)pthread_cond_wait(&writer->more, &writer->lock);
    if (writer->next_fd >= 0) {
        if (writer->fd != STDERR_FILENO)
            (void)close(writer->fd);
        writer->fd = writer->next_fd;
        writer->next_fd = -1;
    }
}

static void tell_loss(const struct server_line_writer *writer, uint64_t lost)
{
    const struct timespec pause = {.tv_nsec = RETRY_NS};
    server_log_few(SERVER_LOG_ERROR, 0, "%s %s: %llu lines could not be written: %s", writer->what,
                   writer->path, (unsigned long long)lost, strerror(errno));
    (void)nanosleep(&pause, NULL); /* more lines may come, and go out together */
}

static void *run_line_writer(void *context)
{
    struct server_line_writer *writer = context;
    bool torn = false;
    uint64_t lost = 0;
    (void)pthread_setname_np(pthread_self(), "lines");
    (void)pthread_mutex_lock(&writer->lock);
    for (bool ends = false; !ends;) {
        wait_for_lines(writer);
        char *lines = writer->adding;
        const size_t len = writer->len;
        const uint64_t dropped = writer->dropped + lost;
        writer->adding = writer->writing;
        writer->writing = lines;
        writer->len = 0;
        writer->dropped = 0;
        ends = writer->ends && len == 0;
        (void)pthread_mutex_unlock(&writer->lock);
        lost = len + dropped > 0 ? write_lines(writer, len, dropped, &torn) : 0;
        if (lost > 0 && !ends)
            tell_loss(writer, lost);
        (void)pthread_mutex_lock(&writer->lock);
    }
    (void)pthread_mutex_unlock(&writer->lock);
    return NULL;
}

/* ---- the others' side ------------------------------------------------------------------------ */

/* @make is O_CREAT, or 0. A FIFO without a reader must not block open(2). */
static int open_path(const char *path, int make)
{
    if (strcmp(path, "-") == 0)
        return STDERR_FILENO;
    const int fd = open(path, O_WRONLY | make | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                        SERVER_LINES_MODE);
    const int flags = fd >= 0 ? fcntl(fd, F_GETFL) : -1;
    if (flags >= 0)
        (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    return fd;
}

/* Reports whether @path, which does not exist, can be created in its folder; if not, errno says
 * why. */
static bool may_make(const char *path)
{
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    if (slash)
        (void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path) + 1, path);
    return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0;
}

/* Starts the thread with all signals blocked: the main thread gets them. */
static int start_writer(struct server_line_writer *writer)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&writer->thread, NULL, run_line_writer, writer);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? 0 : FENCE_ENOMEM;
}

static void free_writer(struct server_line_writer *writer)
{
    if (writer->fd >= 0 && writer->fd != STDERR_FILENO)
        (void)close(writer->fd);
    free(writer->adding);
    free(writer->writing);
    free(writer);
}

int server_line_writer_new(const char *path, const char *what,
                           struct server_line_writer **ret_writer)
{
    int result = FENCE_ENOMEM;
    struct server_line_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return FENCE_ENOMEM;
    *writer = (struct server_line_writer){
        .path = path,
        .what = what,
        .fd = open_path(path, 0),
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .more = PTHREAD_COND_INITIALIZER,
        .next_fd = -1,
    };
    if (writer->fd < 0 && (errno != ENOENT || !may_make(path))) {
        result = FENCE_EIO;
        goto out;
    }
    writer->adding = malloc(SERVER_LINES_MAX);
    writer->writing = malloc(SERVER_LINES_MAX);
    if (writer->adding && writer->writing)
        result = start_writer(writer);
    if (result != 0)
        goto out;
    *ret_writer = writer;
    writer = NULL;
out:
    if (writer) {
        const int why = errno;
        free_writer(writer);
        errno = why;
    }
    return result;
}

int server_line_writer_make(struct server_line_writer *writer)
{
    const int fd = writer->fd < 0 ? open_path(writer->path, O_CREAT) : writer->fd;
    if (fd < 0)
        return FENCE_EIO;
    (void)pthread_mutex_lock(&writer->lock);
    writer->fd = fd;
    (void)pthread_mutex_unlock(&writer->lock);
    return 0;
}

/* Waits for the end of the thread. Returns false if the thread is stuck in a write: it keeps its
 * memory, and the process ends without it. */
static bool await_end(const struct server_line_writer *writer)
{
    struct timespec until = {.tv_sec = 0};
    (void)clock_gettime(CLOCK_REALTIME, &until); /* the clock of pthread_timedjoin_np(3) */
    until.tv_sec += SERVER_LINES_END_S;
    return pthread_timedjoin_np(writer->thread, NULL, &until) == 0;
}

void server_line_writer_free(struct server_line_writer *writer)
{
    if (!writer)
        return;
    (void)pthread_mutex_lock(&writer->lock);
    writer->ends = true;
    (void)pthread_cond_signal(&writer->more);
    (void)pthread_mutex_unlock(&writer->lock);
    if (await_end(writer)) {
        free_writer(writer);
        return;
    }
    (void)pthread_detach(writer->thread);
    server_log(SERVER_LOG_ERROR,
               "%s %s: the reader of this file is stuck, and the last lines are lost", writer->what,
               writer->path);
}

void server_line_writer_add(struct server_line_writer *writer, const char *line, size_t len)
{
    (void)pthread_mutex_lock(&writer->lock);
    assert(writer->fd >= 0);
    assert(!writer->ends && len > 0 && line[len - 1] == '\n');
    if (len > SERVER_LINES_MAX - writer->len) {
        writer->dropped++;
    } else {
        memcpy(writer->adding + writer->len, line, len);
        writer->len += len;
        if (writer->len == len) /* the thread sleeps, or is about to */
            (void)pthread_cond_signal(&writer->more);
    }
    (void)pthread_mutex_unlock(&writer->lock);
}

bool server_line_writer_reopen(struct server_line_writer *writer)
{
    const int fd = open_path(writer->path, O_CREAT);
    if (fd < 0) {
        server_log(SERVER_LOG_ERROR, "%s %s: %s. The old file stays in use", writer->what,
                   writer->path, strerror(errno));
        return false;
    }
    (void)pthread_mutex_lock(&writer->lock);
    if (writer->next_fd >= 0 && writer->next_fd != STDERR_FILENO)
        (void)close(writer->next_fd);
    writer->next_fd = fd;
    (void)pthread_cond_signal(&writer->more);
    (void)pthread_mutex_unlock(&writer->lock);
    return true;
}
