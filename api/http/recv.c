/* The reads of libmicrohttpd, which calls recv(2) and has no hook there. The dynamic linker finds
 * an executable's names first, so this recv() is called instead of the C library's. The reads of
 * connections that were added go through those. All other reads are the system's: the same call
 * with one argument less.
 *
 * In the same way epoll_wait(2): libmicrohttpd calls it in each round of work. A round that only
 * sends an answer, or ends a request, needs nothing from the kernel. */
#include "api/http/recv.h"

#include <sys/epoll.h>
#include <sys/socket.h>

static _Thread_local struct api_connections *recv_connections;
static _Thread_local bool recv_looks;

void api_recv_through(struct api_connections *connections, bool looks)
{
    recv_connections = connections;
    recv_looks = looks;
}

/* The C library's parameters have reserved names.
 * NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
__attribute__((visibility("default"))) ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
    struct api_connection *connection =
        recv_connections != NULL ? api_connections_find(recv_connections, fd) : NULL;
    if (connection != NULL)
        return api_connection_read(connection, buffer, size);
    return recvfrom(fd, buffer, size, flags, NULL, NULL);
}

/* What is not fetched stays with the kernel, which keeps the descriptor readable.
 * NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
__attribute__((visibility("default"))) int epoll_wait(int fd, struct epoll_event *events, int max,
                                                      int timeout_ms)
{
    if (recv_connections != NULL && !recv_looks)
        return 0;
    return epoll_pwait(fd, events, max, timeout_ms, NULL);
}
