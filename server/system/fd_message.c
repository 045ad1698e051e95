#include "server/system/fd_message.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    FD_BACKLOG = 4,
    FD_MODE = 0600,
};

/* Closes @fd, and preserves errno. */
static int drop_fd(int fd, int error)
{
    const int why = errno;
    if (fd >= 0)
        (void)close(fd);
    errno = why;
    return error;
}

static int make_address(const char *path, struct sockaddr_un *ret_address)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t len = strlen(path);
    if (len == 0 || len >= SERVER_FD_PATH_MAX)
        return FENCE_EINVAL;
    memcpy(address.sun_path, path, len);
    *ret_address = address;
    return 0;
}

static int open_fd_socket(int flags)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
}

/* Reports whether @path is free, or a socket. */
static bool is_replaceable(const char *path)
{
    struct stat file;
    if (lstat(path, &file) != 0)
        return errno == ENOENT;
    errno = EEXIST;
    return S_ISSOCK(file.st_mode);
}

/* Binds the socket under a second name first: rename(2) then replaces the old socket in one
 * step. */
int server_fd_listen(const char *path, int *ret_fd)
{
    struct sockaddr_un address;
    char beside[sizeof(address.sun_path)];
    int result = make_address(path, &address);
    if (result != 0)
        return result;
    (void)snprintf(beside, sizeof(beside), "%s.new", path);
    assert(strlen(beside) < sizeof(beside) - 1);
    memcpy(address.sun_path, beside, strlen(beside) + 1);
    if (!is_replaceable(path) || !is_replaceable(beside))
        return FENCE_EIO;
    const int fd = open_fd_socket(SOCK_NONBLOCK);
    (void)unlink(beside);
    if (fd < 0 || fchmod(fd, FD_MODE) < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, FD_BACKLOG) < 0 || rename(beside, path) < 0)
        return drop_fd(fd, FENCE_EIO);
    *ret_fd = fd;
    return 0;
}

/* Reports whether the peer may replace this process: the same user or root, which could end this
 * process as well. */
static bool is_trusted(int fd, pid_t *ret_pid)
{
    struct ucred peer = {.pid = 0};
    socklen_t len = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return false;
    *ret_pid = peer.pid;
    errno = EPERM;
    return peer.uid == geteuid() || peer.uid == 0;
}

int server_fd_connect(const char *path, unsigned timeout_ms, int *ret_fd)
{
    const struct timeval wait = {.tv_sec = timeout_ms / 1000,
                                 .tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000};
    struct sockaddr_un address;
    pid_t pid = 0;
    int result = make_address(path, &address);
    if (result != 0)
        return result;
    if (!is_replaceable(path))
        return FENCE_EIO;
    const int fd = open_fd_socket(0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0)
        return drop_fd(fd, FENCE_EIO);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return drop_fd(fd, errno == ENOENT || errno == ECONNREFUSED ? FENCE_ENOENT : FENCE_EIO);
    if (!is_trusted(fd, &pid))
        return drop_fd(fd, FENCE_EIO);
    *ret_fd = fd;
    return 0;
}

int server_fd_accept(int listen_fd, pid_t *ret_pid, int *ret_fd)
{
    pid_t pid = 0;
    const int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 || !is_trusted(fd, &pid))
        return drop_fd(fd, FENCE_EIO);
    *ret_pid = pid;
    *ret_fd = fd;
    return 0;
}

/* Room for descriptors, aligned as the kernel wants it: cmsg(3). */
union control {
    char bytes[CMSG_SPACE(SERVER_FD_MESSAGE_FDS * sizeof(int))];
    struct cmsghdr align;
};

int server_fd_send(int fd, const struct server_fd_message *message)
{
    assert(message->count <= SERVER_FD_MESSAGE_FDS);
    union control control;
    struct iovec text = {.iov_base = (void *)(uintptr_t)message->text,
                         .iov_len = strlen(message->text)};
    struct msghdr header = {.msg_iov = &text, .msg_iovlen = 1};
    memset(&control, 0, sizeof(control));
    if (message->count > 0) {
        header.msg_control = control.bytes;
        header.msg_controllen = CMSG_SPACE(message->count * sizeof(int));
        struct cmsghdr *part = CMSG_FIRSTHDR(&header);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(message->count * sizeof(int));
        memcpy(CMSG_DATA(part), message->fds, message->count * sizeof(int));
    }
    return sendmsg(fd, &header, MSG_NOSIGNAL) >= 0 ? 0 : FENCE_EIO;
}

static void take_fds(struct msghdr *header, struct server_fd_message *message)
{
    assert(message->count == 0);
    for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
        const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS ||
            count > SERVER_FD_MESSAGE_FDS - message->count)
            continue;
        memcpy(message->fds + message->count, CMSG_DATA(part), count * sizeof(int));
        message->count += (unsigned)count;
    }
}

int server_fd_receive(int fd, struct server_fd_message *ret_message)
{
    union control control;
    struct server_fd_message message = {.count = 0};
    struct iovec text = {.iov_base = message.text, .iov_len = sizeof(message.text) - 1};
    struct msghdr header = {.msg_iov = &text,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof(control.bytes)};
    const ssize_t len = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
    if (len <= 0)
        return len == 0 || errno == ECONNRESET ? FENCE_ENOENT : FENCE_EIO;
    take_fds(&header, &message);
    if (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        for (unsigned i = 0; i < message.count; i++)
            (void)close(message.fds[i]);
        errno = EMSGSIZE;
        return FENCE_EIO;
    }
    *ret_message = message;
    return 0;
}
