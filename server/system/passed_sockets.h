/* Listening sockets that a service manager passed to the process: sd_listen_fds(3). */
#ifndef SERVER_SYSTEM_PASSED_SOCKETS_H
#define SERVER_SYSTEM_PASSED_SOCKETS_H

#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    SERVER_PASSED_MAX = 16,       /* sockets */
    SERVER_PASSED_FIRST = 3,      /* the descriptor of the first; the others follow */
    SERVER_PASSED_NAME_MAX = 256, /* bytes of a name with its end: systemd.socket(5) */
};

struct server_passed {
    unsigned count;                                       /* 0: none were passed */
    char name[SERVER_PASSED_MAX][SERVER_PASSED_NAME_MAX]; /* "": the manager gave none */
};

/* Reads $LISTEN_PID, $LISTEN_FDS and $LISTEN_FDNAMES, and removes them: they are not for children.
 * The caller owns the descriptors, which are close-on-exec. Call it before other threads run, and
 * before the process opens anything. FENCE_EINVAL after a line on stderr: there are too many, or
 * one is no listening stream socket. */
FENCE_CHECKED int server_passed_sockets(struct server_passed *ret_passed);

/* Writes the address of the listening socket @fd: "127.0.0.1:7380", "[::1]:7380", "unix:/path",
 * "unix:@name". Text that does not fit is cut. */
void server_socket_name(int fd, char *ret_name, size_t size);

#endif
