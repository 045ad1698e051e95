/* How many file descriptors this process may have open. */
#ifndef SERVER_LOOP_DESCRIPTORS_H
#define SERVER_LOOP_DESCRIPTORS_H

enum {
    SERVER_DESCRIPTORS_RESERVED = 128, /* a loop, for masters, files, its own */
};

/* Raises the limit of open files as far as the system lets it. @loops need at most @clients for
 * connections of clients together, and SERVER_DESCRIPTORS_RESERVED each. Returns how many of these
 * connections each loop may have, at least 1. With more clients, the rest wait to be accepted, and
 * the masters keep their connections. */
unsigned server_descriptors_for_clients(unsigned loops, unsigned clients);

/* Says so in the log if fewer fit, and what to do. Once, at the start. */
void server_descriptors_check(unsigned loops, unsigned clients);

#endif
