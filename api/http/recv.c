/* The reads of libmicrohttpd, which calls recv(2) and has no hook there. The dynamic linker finds
 * an executable's names first, so this recv() is called instead of the C library's. The reads of
 * connections that were added go through those. All other reads are the system's: the same call
 * with one argument less. */
#include "api/http/recv.h"

#include <sys/socket.h>

static _Thread_local struct api_connections *recv_connections;

void api_recv_through(struct api_connections *connections)
{
    recv_connections = connections;
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
