/* The calls of a library to the kernel about sockets, redirected to the owner of its connections.
 * The library calls recv(2), send(2) and similar functions, and has no hook there. The linker gives
 * an executable these names for the functions below (api/CMakeLists.txt), and the dynamic linker
 * finds an executable's names before the C library's. README.md says why each one is needed.
 *
 * Outside of a round (api_socket_calls_begin()), and for a socket that the owner does not know,
 * each function is the system call of its name. One round at a time on a thread. */
#ifndef API_WIRE_SOCKET_CALLS_H
#define API_WIRE_SOCKET_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>

enum {
    API_SOCKET_EVENTS = 32, /* events that are reported in one round; the kernel keeps the rest,
                             * in order */
    API_SOCKET_GATHERED_MAX = 16 * 1024, /* bytes written at once of several pieces: one record of
                                          * TLS (RFC 8446, section 5.1) */
};

/* The owner's functions. @socket is what find() returned. */
struct api_socket_calls {
    /* NULL: @fd is not the owner's. */
    void *(*find)(void *context, int fd);

    /* The client's bytes that the library may see: as recv(2). */
    ssize_t (*read)(void *socket, char *buffer, size_t size);

    /* Bytes for a client whose connection is encrypted: as send(2). */
    bool (*is_encrypted)(const void *socket);
    ssize_t (*write)(void *socket, const void *bytes, size_t size);

    /* Nothing more is written to an encrypted connection. */
    void (*end)(void *socket);

    /* A socket of the Unix domain. */
    bool (*is_local)(const void *socket);
};

/* Begins a round of the library on this thread: its calls go to @calls, which is borrowed until
 * api_socket_calls_end(). Without @looks, epoll_wait(2) reports no events, and the library
 * continues with what it knows. */
void api_socket_calls_begin(const struct api_socket_calls *calls, void *context, bool looks);

/* Returns whether the kernel may have more events than the library got in this round. */
bool api_socket_calls_end(void);

/* Replacements of the calls of these names. */
ssize_t api_wire_recv(int fd, void *buffer, size_t size, int flags);
ssize_t api_wire_send(int fd, const void *bytes, size_t size, int flags);
ssize_t api_wire_sendmsg(int fd, const struct msghdr *message, int flags);
int api_wire_shutdown(int fd, int how);
int api_wire_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int api_wire_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms);

#endif
