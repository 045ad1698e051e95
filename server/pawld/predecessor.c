#include "server/pawld/predecessor.h"

#include "server/pawld/handover.h"
#include "server/system/fd_message.h"
#include "server/system/log.h"
#include "server/system/options.h"

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

/* Where the file of a socket is to be removed at the end. */
static void note_file(struct server_door *door, const char *name, uintmax_t device, uintmax_t inode)
{
    static const char prefix[] = "unix:";
    if (strncmp(name, prefix, strlen(prefix)) != 0)
        return;
    door->is_file = true;
    door->file.device = (dev_t)device;
    door->file.inode = (ino_t)inode;
    (void)snprintf(door->file.path, sizeof(door->file.path), "%s", name + strlen(prefix));
}

/* Reads @word and @count numbers, each behind a space. Returns what follows; NULL: it is none of
 * that. */
static const char *read_handover_numbers(const char *text, const char *word, uintmax_t *ret_numbers,
                                         unsigned count)
{
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

/* The numbers of a door, in their order. */
enum {
    DOOR_SPEAKS_TLS,
    DOOR_METRICS_ONLY,
    DOOR_STAYS,
    DOOR_IS_FILE,
    DOOR_DEVICE,
    DOOR_INODE,
    DOOR_NUMBERS,
};

/* One door with its sockets. */
static int take_door(int fd, struct server_doors *doors)
{
    struct server_fd_message message;
    uintmax_t number[DOOR_NUMBERS] = {0};
    int error = server_fd_receive(fd, &message);
    if (error)
        return error;
    const char *name =
        read_handover_numbers(message.text, PAWLD_HANDOVER_DOOR, number, DOOR_NUMBERS);
    if (name == NULL || name[0] != ' ' || message.count == 0)
        error = FENCE_EINVAL;
    else
        name++;
    const unsigned first = doors->count;
    if (!error && number[DOOR_SPEAKS_TLS] != 0 && doors->tls == NULL)
        error = FENCE_ECONFLICT;
    const struct server_door_kind kind = {.speaks_tls = number[DOOR_SPEAKS_TLS] != 0,
                                          .metrics_only = number[DOOR_METRICS_ONLY] != 0};
    if (!error)
        error = server_doors_add(doors, message.fds, message.count, name, &kind);
    for (unsigned i = first; i < doors->count && !error; i++)
        doors->door[i].stays = number[DOOR_STAYS] != 0;
    if (!error && number[DOOR_IS_FILE] != 0)
        note_file(&doors->door[first], name, number[DOOR_DEVICE], number[DOOR_INODE]);
    close_all(&message);
    return error;
}

static int ask_for_doors(int fd, struct server_doors *doors, uint32_t *ret_most_ms)
{
    struct server_fd_message message;
    uintmax_t number[2] = {0}; /* how many doors follow, and its longest time to end */
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
        error = take_door(fd, doors);
    *ret_most_ms = (uint32_t)number[1];
    return error;
}

static const char *words_of(int error)
{
    switch (error) {
    case FENCE_ENOENT:
        return "it ended, or another one takes its place already";
    case FENCE_EINVAL:
        return "it speaks another language: stop it, then start this one";
    case FENCE_ECONFLICT:
        return "it speaks TLS: start this one with --tls-cert and --tls-key";
    case FENCE_EBUSY:
        return "it has more sockets than fit: start this one with as many --workers as that has";
    default:
        return strerror(errno);
    }
}

int pawld_predecessor_find(const char *path, unsigned workers, struct api_tls *tls,
                           struct pawld_predecessor *ret_predecessor,
                           struct server_doors *ret_doors)
{
    uint32_t most_ms = 0;
    int fd = -1;
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
    *ret_doors = (struct server_doors){.tls = tls, .workers = workers};
    if (!error)
        error = ask_for_doors(fd, ret_doors, &most_ms);
    if (!error) {
        *ret_predecessor = (struct pawld_predecessor){.fd = fd, .most_ms = most_ms};
        return SERVER_EXIT_DONE;
    }
    server_log(SERVER_LOG_ERROR, "cannot take the place of the pawld behind %s: %s", path,
               words_of(error));
    for (unsigned i = 0; i < ret_doors->count; i++)
        ret_doors->door[i].is_file = false; /* it goes on, with its files */
    server_doors_close(ret_doors);
    if (fd >= 0)
        (void)close(fd);
    return SERVER_EXIT_FAILED;
}

bool pawld_predecessor_dismiss(const struct pawld_predecessor *predecessor)
{
    if (send_text(predecessor->fd, PAWLD_HANDOVER_LEAVE) == 0)
        return true;
    server_log(SERVER_LOG_WARNING, "the pawld whose place this one takes does not listen: %s",
               strerror(errno));
    return false;
}

bool pawld_predecessor_wait(const struct pawld_predecessor *predecessor)
{
    struct pollfd ends = {.fd = predecessor->fd, .events = POLLIN};
    if (poll(&ends, 1, (int)predecessor->most_ms + PAWLD_PREDECESSOR_MS) > 0)
        return true;
    server_log(SERVER_LOG_ERROR, "the pawld whose place this one takes has not ended in %u ms",
               predecessor->most_ms + PAWLD_PREDECESSOR_MS);
    return false;
}

void pawld_predecessor_close(struct pawld_predecessor *predecessor)
{
    if (predecessor->fd >= 0)
        (void)close(predecessor->fd);
    predecessor->fd = -1;
}
