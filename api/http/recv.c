/* The reads of libmicrohttpd, which calls recv(2) and has no hook there. The dynamic linker finds
 * an executable's names first, so this recv() is called instead of the C library's. The reads of
 * guarded connections go to their guards. All other reads are the system's: the same call with one
 * argument less. */
#include "api/http/recv.h"

#include <sys/socket.h>

static _Thread_local struct api_guards *recv_guards;

void api_recv_through(struct api_guards *guards)
{
    recv_guards = guards;
}

/* The C library's parameters have reserved names.
 * NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
__attribute__((visibility("default"))) ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
    struct api_guard *guard = recv_guards != NULL ? api_guards_find(recv_guards, fd) : NULL;
    if (guard != NULL)
        return api_guard_read(guard, buffer, size);
    return recvfrom(fd, buffer, size, flags, NULL, NULL);
}
