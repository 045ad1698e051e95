/* The reads of libmicrohttpd, which calls recv(2) and has no hook there. The dynamic linker finds
 * an executable's names first, so this recv() is called instead of the C library's. The reads of
 * connections that were added go through those. All other reads are the system's: the same call
 * with one argument less.
 *
 * In the same way epoll_wait(2): libmicrohttpd calls it in each round of work. A round that only
 * sends an answer, or ends a request, needs nothing from the kernel. And a round is bounded: it is
 * told of so many connections, however many clients speak at once.
 *
 * In the same way send(2), sendmsg(2) and shutdown(2), for connections that speak TLS:
 * libmicrohttpd speaks plain HTTP with a session of api/tls/session.h between it and the socket.
 *
 * In the same way setsockopt(2): libmicrohttpd sets options of TCP on connections of the Unix
 * domain too, and logs three lines for each that the kernel refuses. */
#include "api/wire/socket_calls.h"

#include "api/tls/session.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Thread_local struct api_connections *through_connections;
static _Thread_local bool through_looks;
static _Thread_local bool through_more;

void api_socket_calls_through(struct api_connections *connections, bool looks)
{
    through_connections = connections;
    through_looks = looks;
    through_more = false;
}

bool api_socket_calls_have_more(void)
{
    return through_more;
}

enum {
    GATHERED_MAX = 16 * 1024, /* bytes of one record (RFC 8446, section 5.1) */
};

static struct api_connection *find_connection(int fd)
{
    return through_connections != NULL ? api_connections_find(through_connections, fd) : NULL;
}

/* The C library's parameters have reserved names.
 * NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
__attribute__((visibility("default"))) ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
    struct api_connection *connection = find_connection(fd);
    if (connection != NULL)
        return api_connection_read(connection, buffer, size);
    return recvfrom(fd, buffer, size, flags, NULL, NULL);
}

/* What is not fetched stays with the kernel, which keeps the descriptor readable.
 * NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
__attribute__((visibility("default"))) int epoll_wait(int fd, struct epoll_event *events, int max,
                                                      int timeout_ms)
{
    if (through_connections == NULL)
        return epoll_pwait(fd, events, max, timeout_ms, NULL);
    if (!through_looks)
        return 0;
    const int few = max < API_SOCKET_EVENTS ? max : API_SOCKET_EVENTS;
    const int count = epoll_pwait(fd, events, few, timeout_ms, NULL);
    through_more = count == few;
    through_looks = !through_more; /* libmicrohttpd asks again where it was told all it asked for */
    return count;
}

/* NULL: plain HTTP, or not ours. */
static struct api_tls_session *find_session(int fd)
{
    const struct api_connection *connection = find_connection(fd);
    return connection != NULL ? connection->session : NULL;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
__attribute__((visibility("default"))) ssize_t send(int fd, const void *bytes, size_t size,
                                                    int flags)
{
    struct api_tls_session *session = find_session(fd);
    if (session != NULL)
        return api_tls_session_write(session, bytes, size);
    return sendto(fd, bytes, size, flags, NULL, 0);
}

/* The head and the body of an answer, in one record. */
static ssize_t write_gathered(struct api_tls_session *session, const struct msghdr *message)
{
    char bytes[GATHERED_MAX];
    size_t len = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        const struct iovec *piece = &message->msg_iov[i];
        const size_t room = sizeof(bytes) - len;
        const size_t taken = piece->iov_len < room ? piece->iov_len : room;
        memcpy(bytes + len, piece->iov_base, taken);
        len += taken;
    }
    return api_tls_session_write(session, bytes, len);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
__attribute__((visibility("default"))) ssize_t sendmsg(int fd, const struct msghdr *message,
                                                       int flags)
{
    struct api_tls_session *session = find_session(fd);
    if (session != NULL)
        return write_gathered(session, message);
    return syscall(SYS_sendmsg, fd, message, flags);
}

/* The client learns the end from TLS, too.
 * NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
__attribute__((visibility("default"))) int shutdown(int fd, int how)
{
    struct api_tls_session *session = how != SHUT_RD ? find_session(fd) : NULL;
    if (session != NULL)
        api_tls_session_end(session);
    return (int)syscall(SYS_shutdown, fd, how);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
__attribute__((visibility("default"))) int setsockopt(int fd, int level, int name,
                                                      const void *value, socklen_t size)
{
    const struct api_connection *connection = level == IPPROTO_TCP ? find_connection(fd) : NULL;
    if (connection != NULL && connection->local)
        return 0; /* what it would delay, or send at once, leaves at once there */
    return (int)syscall(SYS_setsockopt, fd, level, name, value, size);
}
