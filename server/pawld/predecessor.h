/* The pawld that this process replaces: server/pawld/handover.h. */
#ifndef SERVER_PAWLD_PREDECESSOR_H
#define SERVER_PAWLD_PREDECESSOR_H

#include "server/loop/listeners.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PAWLD_PREDECESSOR_MS = 5000, /* for each of its answers; also the extra time to end */
};

struct pawld_predecessor {
    int fd;           /* -1: there is none */
    uint32_t most_ms; /* the time that it takes to end */
};

/* Asks the pawld behind @path, if there is one, for its listening sockets. If there is one,
 * *@ret_listeners are its sockets, for @workers workers, with the certificates of @tls. Returns 0,
 * or the exit status after the reason on stderr; then the predecessor continues as before. */
int pawld_predecessor_find(const char *path, unsigned workers, struct api_tls *tls,
                           struct pawld_predecessor *ret_predecessor,
                           struct server_listeners *ret_listeners);

/* Tells the predecessor to end. Returns false if it has already ended, or cannot be reached; that
 * is logged. */
bool pawld_predecessor_dismiss(const struct pawld_predecessor *predecessor);

/* Waits until the predecessor has ended: for as long as it announced, and a little longer. Returns
 * false after a line in the log if it has not. */
bool pawld_predecessor_wait(const struct pawld_predecessor *predecessor);

/* Closes the connection. More than once is fine. */
void pawld_predecessor_close(struct pawld_predecessor *predecessor);

#endif
