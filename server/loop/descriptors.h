/* How many file descriptors this process may have open. */
#ifndef SERVER_LOOP_DESCRIPTORS_H
#define SERVER_LOOP_DESCRIPTORS_H

enum {
    SERVER_DESCRIPTORS_RESERVED = 128, /* a loop, for masters, files, its own */
};

/* Raises the limit of open files as far as the system lets it. @loops need at most
 * API_HTTP_CONNECTIONS for clients together, and SERVER_DESCRIPTORS_RESERVED each. Returns how many
 * connections of clients fit for each loop, at least 1. With more clients, the rest wait to be
 * accepted, and the masters keep their connections. */
unsigned server_descriptors_for_clients(unsigned loops);

/* Says so in the log if fewer fit, and what to do. Once, at the start. */
void server_descriptors_check(unsigned loops);

#endif
