#include "server/pawld/successor.h"

#include "server/pawld/handover.h"
#include "server/system/fd_message.h"
#include "server/system/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- sockets --------------------------------------------------------------------------------- */

int pawld_sockets_keep(const struct server_listeners *listeners, struct pawld_sockets *ret_sockets)
{
    assert(listeners->count <= API_DOORS_MAX);
    ret_sockets->count = 0;
    for (unsigned i = 0; i < listeners->count; i++) {
        const struct server_listener *listener = &listeners->listener[i];
        const unsigned k = ret_sockets->count++;
        ret_sockets->listener[k].speaks_tls = listener->speaks_tls;
        ret_sockets->listener[k].metrics_only = listener->metrics_only;
        ret_sockets->listener[k].stays = listener->stays;
        ret_sockets->listener[k].is_file = listener->is_file;
        ret_sockets->listener[k].file = listener->file;
        ret_sockets->listener[k].sockets = 0;
        memcpy(ret_sockets->listener[k].name, listener->name, sizeof(listener->name));
        for (unsigned worker = 0; worker < listener->sockets; worker++) {
            const int copy = fcntl(listener->fd[worker], F_DUPFD_CLOEXEC, 0);
            if (copy < 0)
                return FENCE_EIO;
            ret_sockets->listener[k].fd[ret_sockets->listener[k].sockets++] = copy;
        }
    }
    return 0;
}

void pawld_sockets_drop(struct pawld_sockets *sockets)
{
    for (unsigned i = 0; i < sockets->count; i++)
        for (unsigned k = 0; k < sockets->listener[i].sockets; k++)
            (void)close(sockets->listener[i].fd[k]);
    sockets->count = 0;
}

/* ---- what is said ---------------------------------------------------------------------------- */

static int send_listener(const struct pawld_successor *successor, unsigned i)
{
    const struct pawld_sockets *sockets = successor->config.sockets;
    struct server_fd_message message = {.count = sockets->listener[i].sockets};
    const int len = snprintf(
        message.text, sizeof(message.text), PAWLD_HANDOVER_LISTENER " %d %d %d %d %ju %ju ",
        sockets->listener[i].speaks_tls, sockets->listener[i].metrics_only,
        sockets->listener[i].stays, sockets->listener[i].is_file,
        (uintmax_t)sockets->listener[i].file.device, (uintmax_t)sockets->listener[i].file.inode);
    assert(len > 0);
    (void)snprintf(message.text + len, sizeof(message.text) - (size_t)len, "%s",
                   sockets->listener[i].name);
    memcpy(message.fds, sockets->listener[i].fd, message.count * sizeof(int));
    return server_fd_send(successor->fd, &message);
}

static int give_sockets(struct pawld_successor *successor)
{
    struct server_fd_message message = {.count = 0};
    (void)snprintf(message.text, sizeof(message.text), PAWLD_HANDOVER_GIVE " %u %u",
                   successor->config.sockets->count, (unsigned)successor->config.most_ms);
    int error = server_fd_send(successor->fd, &message);
    for (unsigned i = 0; i < successor->config.sockets->count && !error; i++)
        error = send_listener(successor, i);
    successor->asked = !error;
    return error;
}

static void on_speaks_closed(uv_handle_t *handle)
{
    struct pawld_successor *successor = handle->data;
    successor->speaking = false;
}

/* The successor leaves without replacing this process. */
static void forget_successor(struct pawld_successor *successor, const char *why)
{
    server_log(SERVER_LOG_WARNING,
               "process %d did not replace this pawld: %s. This pawld continues", successor->pid,
               why);
    uv_close((uv_handle_t *)&successor->speaks, on_speaks_closed);
    (void)close(successor->fd);
    successor->fd = -1;
    successor->asked = false;
}

static void begin_to_leave(struct pawld_successor *successor)
{
    assert(successor->asked && !successor->leaving);
    successor->leaving = true;
    uv_poll_stop(&successor->speaks); /* the connection stays open: it shows that this process
                                       * has not ended */
    successor->config.leave(successor->config.context, successor->pid);
}

static void on_speaks(uv_poll_t *poll, int status, int events)
{
    struct pawld_successor *successor = poll->data;
    struct server_fd_message message;
    assert(successor->speaking && successor->fd >= 0);
    (void)status, (void)events;
    const int error = server_fd_receive(successor->fd, &message);
    if (error == FENCE_EIO && errno == EAGAIN)
        return;
    for (unsigned i = 0; !error && i < message.count; i++)
        (void)close(message.fds[i]); /* no descriptors are expected in this direction */
    if (error)
        forget_successor(successor, error == FENCE_ENOENT ? "it ended" : strerror(errno));
    else if (!successor->asked && strcmp(message.text, PAWLD_HANDOVER_TAKE) == 0) {
        if (give_sockets(successor) != 0)
            forget_successor(successor, strerror(errno));
    } else if (successor->asked && strcmp(message.text, PAWLD_HANDOVER_LEAVE) == 0)
        begin_to_leave(successor);
    else
        forget_successor(successor, "its version of the hand-over differs");
}

/* Accepts a successor. Only one at a time: another one is closed at once. */
static void on_knocks(uv_poll_t *poll, int status, int events)
{
    struct pawld_successor *successor = poll->data;
    int fd = -1;
    assert(successor->listen_fd >= 0);
    int pid = 0;
    (void)status, (void)events;
    if (server_fd_accept(successor->listen_fd, &pid, &fd) != 0)
        return;
    if (successor->speaking || uv_poll_init(successor->config.loop, &successor->speaks, fd) != 0) {
        (void)close(fd);
        return;
    }
    successor->fd = fd;
    successor->pid = pid;
    successor->speaking = true;
    successor->speaks.data = successor;
    (void)uv_poll_start(&successor->speaks, UV_READABLE, on_speaks);
}

/* ---- its life -------------------------------------------------------------------------------- */

void pawld_successor_await(struct pawld_successor *successor,
                           const struct pawld_successor_config *config)
{
    *successor = (struct pawld_successor){.config = *config, .listen_fd = -1, .fd = -1};
    int error = server_fd_listen(config->path, &successor->listen_fd);
    if (!error && uv_poll_init(config->loop, &successor->knocks, successor->listen_fd) != 0) {
        (void)close(successor->listen_fd);
        successor->listen_fd = -1;
        error = FENCE_EIO;
    }
    if (error) {
        server_log(SERVER_LOG_ERROR, "no other pawld can replace this pawld: --hand-over %s: %s",
                   config->path, error == FENCE_EIO ? strerror(errno) : "the path is too long");
        return;
    }
    struct stat file = {.st_ino = 0};
    (void)lstat(config->path, &file);
    successor->device = file.st_dev;
    successor->inode = file.st_ino;
    successor->knocks.data = successor;
    (void)uv_poll_start(&successor->knocks, UV_READABLE, on_knocks);
    server_log(SERVER_LOG_INFO, "another pawld can replace this pawld: --hand-over %s",
               config->path);
}

static bool is_ours(const struct pawld_successor *successor)
{
    struct stat file;
    return lstat(successor->config.path, &file) == 0 && file.st_dev == successor->device &&
           file.st_ino == successor->inode;
}

void pawld_successor_end(struct pawld_successor *successor)
{
    if (successor->listen_fd < 0)
        return;
    uv_close((uv_handle_t *)&successor->knocks, NULL);
    if (successor->fd >= 0)
        uv_close((uv_handle_t *)&successor->speaks, on_speaks_closed);
    if (is_ours(successor))
        (void)unlink(successor->config.path);
}

void pawld_successor_close(struct pawld_successor *successor)
{
    if (successor->listen_fd >= 0)
        (void)close(successor->listen_fd);
    if (successor->fd >= 0)
        (void)close(successor->fd);
    successor->listen_fd = -1;
    successor->fd = -1;
}
