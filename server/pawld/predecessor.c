#include "server/pawld/predecessor.h"

#include "server/pawld/handover.h"
#include "server/system/fd_message.h"
#include "server/system/log.h"
#include "server/system/options.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int send_text(int fd, const char *text)
{
    struct server_fd_message message = {.count = 0};
    (void)snprintf(message.text, sizeof(message.text), "%s", text);
    return server_fd_send(fd, &message);
}

static void close_all(const struct server_fd_message *message)
{
    for (unsigned i = 0; i < message->count; i++)
        (void)close(message->fds[i]);
}

/* Notes the file of a socket, to remove it at the end. */
static void note_file(struct server_listener *listener, const char *name, uintmax_t device,
                      uintmax_t inode)
{
    static const char prefix[] = "unix:";
    if (strncmp(name, prefix, strlen(prefix)) != 0)
        return;
    listener->is_file = true;
    listener->file.device = (dev_t)device;
    listener->file.inode = (ino_t)inode;
    (void)snprintf(listener->file.path, sizeof(listener->file.path), "%s", name + strlen(prefix));
}

/* Reads @word and @count numbers, each behind a space. Returns the text behind them; NULL: the text
 * has another form. */
static const char *read_handover_numbers(const char *text, const char *word, uintmax_t *ret_numbers,
                                         unsigned count)
{
    assert(count > 0);
    const size_t len = strlen(word);
    if (strncmp(text, word, len) != 0)
        return NULL;
    text += len;
    for (unsigned i = 0; i < count; i++) {
        char *end = NULL;
        if (text[0] != ' ' || text[1] < '0' || text[1] > '9')
            return NULL;
        ret_numbers[i] = strtoumax(text + 1, &end, 10);
        text = end;
    }
    return text;
}

/* The numbers of a listener, in the order of the message. */
enum {
    LISTENER_SPEAKS_TLS,
    LISTENER_METRICS_ONLY,
    LISTENER_STAYS,
    LISTENER_IS_FILE,
    LISTENER_DEVICE,
    LISTENER_INODE,
    LISTENER_NUMBERS,
};

/* Receives one listener with its sockets. */
static int take_listener(int fd, struct server_listeners *listeners)
{
    struct server_fd_message message;
    uintmax_t number[LISTENER_NUMBERS] = {0};
    int error = server_fd_receive(fd, &message);
    if (error)
        return error;
    const char *name =
        read_handover_numbers(message.text, PAWLD_HANDOVER_LISTENER, number, LISTENER_NUMBERS);
    if (name == NULL || name[0] != ' ' || message.count == 0)
        error = FENCE_EINVAL;
    else
        name++;
    const unsigned first = listeners->count;
    if (!error && number[LISTENER_SPEAKS_TLS] != 0 && listeners->tls == NULL)
        error = FENCE_ECONFLICT;
    const struct server_listener_kind kind = {.speaks_tls = number[LISTENER_SPEAKS_TLS] != 0,
                                              .metrics_only = number[LISTENER_METRICS_ONLY] != 0};
    if (!error)
        error = server_listeners_add(listeners, message.fds, message.count, name, &kind);
    for (unsigned i = first; i < listeners->count && !error; i++)
        listeners->listener[i].stays = number[LISTENER_STAYS] != 0;
    if (!error && number[LISTENER_IS_FILE] != 0)
        note_file(&listeners->listener[first], name, number[LISTENER_DEVICE],
                  number[LISTENER_INODE]);
    close_all(&message);
    return error;
}

static int ask_for_listeners(int fd, struct server_listeners *listeners, uint32_t *ret_most_ms)
{
    struct server_fd_message message;
    uintmax_t number[2] = {0}; /* how many listeners follow, and its longest time to end */
    int error = send_text(fd, PAWLD_HANDOVER_TAKE);
    if (!error)
        error = server_fd_receive(fd, &message);
    if (error)
        return error;
    close_all(&message);
    const char *rest = read_handover_numbers(message.text, PAWLD_HANDOVER_GIVE, number, 2);
    if (rest == NULL || rest[0] != '\0' || number[0] == 0 || number[0] > API_DOORS_MAX ||
        number[1] > INT_MAX / 2)
        return FENCE_EINVAL;
    for (unsigned i = 0; i < number[0] && !error; i++)
        error = take_listener(fd, listeners);
    *ret_most_ms = (uint32_t)number[1];
    return error;
}

static const char *words_of(int error)
{
    switch (error) {
    case FENCE_ENOENT:
        return "it has ended, or another pawld already replaces it";
    case FENCE_EINVAL:
        return "its version of the hand-over differs: stop the old pawld, then start this pawld";
    case FENCE_ECONFLICT:
        return "it uses TLS: start this pawld with --tls-cert and --tls-key";
    case FENCE_EBUSY:
        return "it has too many sockets: start this pawld with the same --workers";
    default:
        return strerror(errno);
    }
}

int pawld_predecessor_find(const char *path, unsigned workers, struct api_tls *tls,
                           struct pawld_predecessor *ret_predecessor,
                           struct server_listeners *ret_listeners)
{
    uint32_t most_ms = 0;
    int fd = -1;
    assert(workers > 0 && workers <= SERVER_LISTENERS_WORKERS);
    int error = server_fd_connect(path, PAWLD_PREDECESSOR_MS, &fd);
    ret_predecessor->fd = -1;
    if (error == FENCE_ENOENT)
        return SERVER_EXIT_DONE;
    if (error == FENCE_EINVAL) {
        (void)server_options_error("--hand-over takes the path of a socket, at most %d bytes, not "
                                   "'%s'",
                                   SERVER_FD_PATH_MAX - 1, path);
        return SERVER_EXIT_USAGE;
    }
    *ret_listeners = (struct server_listeners){.tls = tls, .workers = workers};
    if (!error)
        error = ask_for_listeners(fd, ret_listeners, &most_ms);
    if (!error) {
        *ret_predecessor = (struct pawld_predecessor){.fd = fd, .most_ms = most_ms};
        return SERVER_EXIT_DONE;
    }
    server_log(SERVER_LOG_ERROR, "cannot replace the pawld at %s: %s", path, words_of(error));
    for (unsigned i = 0; i < ret_listeners->count; i++)
        ret_listeners->listener[i].is_file = false; /* the predecessor continues to serve, with
                                                     * its files */
    server_listeners_close(ret_listeners);
    if (fd >= 0)
        (void)close(fd);
    return SERVER_EXIT_FAILED;
}

bool pawld_predecessor_dismiss(const struct pawld_predecessor *predecessor)
{
    if (send_text(predecessor->fd, PAWLD_HANDOVER_LEAVE) == 0)
        return true;
    server_log(SERVER_LOG_WARNING, "cannot ask the old pawld (--hand-over) to stop: %s",
               strerror(errno));
    return false;
}

bool pawld_predecessor_wait(const struct pawld_predecessor *predecessor)
{
    struct pollfd ends = {.fd = predecessor->fd, .events = POLLIN};
    if (poll(&ends, 1, (int)predecessor->most_ms + PAWLD_PREDECESSOR_MS) > 0)
        return true;
    server_log(SERVER_LOG_ERROR, "the old pawld (--hand-over) has not ended within %u ms",
               predecessor->most_ms + PAWLD_PREDECESSOR_MS);
    return false;
}

void pawld_predecessor_close(struct pawld_predecessor *predecessor)
{
    if (predecessor->fd >= 0)
        (void)close(predecessor->fd);
    predecessor->fd = -1;
}
