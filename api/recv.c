/* The reads of libmicrohttpd, which calls recv(2) and lets nobody between. The program's own recv()
 * comes before the C library's, as the dynamic linker defines it (an executable's names come
 * first), and hands the reads of guarded connections to their guards. All other reads are the
 * system's: the same call with one argument less. */
#include "api/guard.h"

#include <sys/socket.h>

static _Thread_local struct api_guards *watching;

void api_guards_watch(struct api_guards *guards)
{
    watching = guards;
}

/* The C library's parameters have reserved names.
 * NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
__attribute__((visibility("default"))) ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
    struct api_guard *guard = watching != NULL ? api_guards_find(watching, fd) : NULL;
    if (guard != NULL)
        return api_guard_read(guard, buffer, size);
    return recvfrom(fd, buffer, size, flags, NULL, NULL);
}
