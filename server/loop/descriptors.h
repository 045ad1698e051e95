/* How many file descriptors this process may have open. */
#ifndef SERVER_LOOP_DESCRIPTORS_H
#define SERVER_LOOP_DESCRIPTORS_H

#include "fence/protocol/error.h"

enum {
    SERVER_DESCRIPTORS_RESERVED = 128, /* a loop, for masters, files, its own */
    SERVER_DESCRIPTORS_LEAST = 32,     /* a loop: libuv aborts if it lacks some at the start */
};

/* Raises the limit of open files as far as the system lets it. @loops need at most @clients for
 * connections of clients together, and SERVER_DESCRIPTORS_RESERVED each. Returns how many of these
 * connections each loop may have, at least 1. With more clients, the rest wait to be accepted, and
 * the masters keep their connections. */
unsigned server_descriptors_for_clients(unsigned loops, unsigned clients);

/* Once, at the start: logs a warning if fewer clients fit, and what to do. FENCE_EIO after an error
 * in the log: the limit is below SERVER_DESCRIPTORS_LEAST for each of @loops. */
FENCE_CHECKED int server_descriptors_check(unsigned loops, unsigned clients);

#endif
