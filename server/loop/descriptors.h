/* The number of file descriptors that this process may have open. */
#ifndef SERVER_LOOP_DESCRIPTORS_H
#define SERVER_LOOP_DESCRIPTORS_H

#include "fence/protocol/error.h"

enum {
    SERVER_DESCRIPTORS_RESERVED = 128, /* for each loop: masters, files, the loop itself */
    SERVER_DESCRIPTORS_LEAST = 32,     /* for each loop: libuv aborts if it has fewer at the
                                        * start */
};

/* Raises the limit of open files as far as the system allows. @loops together need up to @clients
 * descriptors for connections of clients, and each loop needs SERVER_DESCRIPTORS_RESERVED more.
 * Returns how many of these connections each loop may have, at least 1. If there are more clients,
 * the rest wait to be accepted, and the masters keep their connections. */
unsigned server_descriptors_for_clients(unsigned loops, unsigned clients);

/* Logs a warning, and what to do, if fewer clients fit. Call it once, at the start. FENCE_EIO,
 * after an error in the log: the limit is below SERVER_DESCRIPTORS_LEAST for each of @loops. */
FENCE_CHECKED int server_descriptors_check(unsigned loops, unsigned clients);

#endif
