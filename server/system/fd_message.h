/* Messages with descriptors between two processes on this machine: a text and open files, over a
 * socket of the Unix domain that preserves message boundaries (SOCK_SEQPACKET, SCM_RIGHTS). */
#ifndef SERVER_SYSTEM_FD_MESSAGE_H
#define SERVER_SYSTEM_FD_MESSAGE_H

#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    SERVER_FD_MESSAGE_MAX = 1024, /* bytes of the text, terminated */
    SERVER_FD_MESSAGE_FDS = 64,   /* descriptors; the kernel's own bound is 253 */
    SERVER_FD_PATH_MAX = 100,     /* bytes of a socket's path, terminated */
};

struct server_fd_message {
    char text[SERVER_FD_MESSAGE_MAX];
    int fds[SERVER_FD_MESSAGE_FDS];
    unsigned count;
};

/* Listens at @path, for this user alone. Replaces any socket there in one step, so that there is a
 * listener at all times. Non-blocking. FENCE_EINVAL: the path is empty or longer than
 * SERVER_FD_PATH_MAX. FENCE_EIO: errno says why. */
FENCE_CHECKED int server_fd_listen(const char *path, int *ret_fd);

/* Connects to @path; each send and each receive then takes at most @timeout_ms. FENCE_ENOENT: no
 * process listens there. FENCE_EINVAL, FENCE_EIO: as above; EPERM: the other process belongs to
 * another user, who is not root. */
FENCE_CHECKED int server_fd_connect(const char *path, unsigned timeout_ms, int *ret_fd);

/* Accepts a connection at @listen_fd. FENCE_EIO: errno says why; EPERM as above. */
FENCE_CHECKED int server_fd_accept(int listen_fd, pid_t *ret_pid, int *ret_fd);

/* FENCE_EIO: the message was not sent; errno says why. */
FENCE_CHECKED int server_fd_send(int fd, const struct server_fd_message *message);

/* The caller closes the descriptors of *@ret_message. FENCE_ENOENT: the other side has ended.
 * FENCE_EIO: errno says why; nothing came in time (EAGAIN), or it is too long (EMSGSIZE). */
FENCE_CHECKED int server_fd_receive(int fd, struct server_fd_message *ret_message);

#endif
