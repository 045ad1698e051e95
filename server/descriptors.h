/* How many file descriptors this process may have open. */
#ifndef SERVER_DESCRIPTORS_H
#define SERVER_DESCRIPTORS_H

enum {
    SERVER_DESCRIPTORS_WANTED = 20000,
    SERVER_DESCRIPTORS_RESERVED = 128, /* a loop, for masters, files, its own */
};

/* Raises the limit as far as the system lets it, up to SERVER_DESCRIPTORS_WANTED, and returns how
 * many connections of clients fit into it for each of @loops: at least 1. With more clients than
 * that, the rest wait to be accepted, and the masters keep their connections. */
unsigned server_descriptors_for_clients(unsigned loops);

#endif
