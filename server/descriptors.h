/* How many file descriptors this process may have open. */
#ifndef SERVER_DESCRIPTORS_H
#define SERVER_DESCRIPTORS_H

enum {
    SERVER_DESCRIPTORS_RESERVED = 128, /* a loop, for masters, files, its own */
};

/* Raises the limit as far as the system lets it, up to what @loops need for all connections of
 * clients that a process takes (API_HTTP_CONNECTIONS), and returns how many fit into it for each of
 * them: at least 1. With more clients than that, the rest wait to be accepted, and the masters keep
 * their connections. */
unsigned server_descriptors_for_clients(unsigned loops);

/* Says so in the log if fewer fit, and what to do. Once, at the start. */
void server_descriptors_check(unsigned loops);

#endif
