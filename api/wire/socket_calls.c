#include "api/wire/socket_calls.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct socket_round {
    const struct api_socket_calls *calls; /* NULL: no round is under way */
    void *context;
    bool looks;
    bool more;
};

static _Thread_local struct socket_round current;

void api_socket_calls_begin(const struct api_socket_calls *calls, void *context, bool looks)
{
    assert(calls != NULL && current.calls == NULL);
    current = (struct socket_round){.calls = calls, .context = context, .looks = looks};
}

bool api_socket_calls_end(void)
{
    assert(current.calls != NULL);
    const bool more = current.more;
    current = (struct socket_round){.calls = NULL};
    return more;
}

/* Returns NULL for a socket that the system handles. */
static void *find_socket(int fd)
{
    return current.calls != NULL ? current.calls->find(current.context, fd) : NULL;
}

static void *find_encrypted(int fd)
{
    void *socket = find_socket(fd);
    return socket != NULL && current.calls->is_encrypted(socket) ? socket : NULL;
}

/* recvfrom(2) and sendto(2) are the same calls with two arguments more. */
ssize_t api_wire_recv(int fd, void *buffer, size_t size, int flags)
{
    void *socket = find_socket(fd);
    if (socket != NULL)
        return current.calls->read(socket, buffer, size);
    return recvfrom(fd, buffer, size, flags, NULL, NULL);
}

ssize_t api_wire_send(int fd, const void *bytes, size_t size, int flags)
{
    void *socket = find_encrypted(fd);
    if (socket != NULL)
        return current.calls->write(socket, bytes, size);
    return sendto(fd, bytes, size, flags, NULL, 0);
}

/* The head and the body of an answer, in one record. */
static ssize_t write_gathered(void *socket, const struct msghdr *message)
{
    char bytes[API_SOCKET_GATHERED_MAX];
    size_t len = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        const struct iovec *piece = &message->msg_iov[i];
        const size_t room = sizeof(bytes) - len;
        const size_t taken = piece->iov_len < room ? piece->iov_len : room;
        memcpy(bytes + len, piece->iov_base, taken);
        len += taken;
    }
    assert(len <= sizeof(bytes));
    return current.calls->write(socket, bytes, len);
}

ssize_t api_wire_sendmsg(int fd, const struct msghdr *message, int flags)
{
    void *socket = find_encrypted(fd);
    if (socket != NULL)
        return write_gathered(socket, message);
    return syscall(SYS_sendmsg, fd, message, flags);
}

int api_wire_shutdown(int fd, int how)
{
    void *socket = how != SHUT_RD ? find_encrypted(fd) : NULL;
    if (socket != NULL)
        current.calls->end(socket);
    return (int)syscall(SYS_shutdown, fd, how);
}

int api_wire_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    void *socket = level == IPPROTO_TCP ? find_socket(fd) : NULL;
    if (socket != NULL && current.calls->is_local(socket))
        return 0; /* options that delay output, or send it at once, have no effect there: output
                   * leaves at once */
    return (int)syscall(SYS_setsockopt, fd, level, name, value, size);
}

/* Unread bytes stay with the kernel, which keeps the descriptor readable. */
int api_wire_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
    if (current.calls == NULL)
        return epoll_pwait(fd, events, max, timeout_ms, NULL);
    if (!current.looks)
        return 0;
    const int few = max < API_SOCKET_EVENTS ? max : API_SOCKET_EVENTS;
    const int count = epoll_pwait(fd, events, few, timeout_ms, NULL);
    current.more = count == few;
    current.looks = !current.more; /* the library asks again if it got all the events that it
                                    * asked for */
    return count;
}
