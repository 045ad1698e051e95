/* The pawld that this one takes the place of: server/pawld/handover.h. */
#ifndef SERVER_PAWLD_PREDECESSOR_H
#define SERVER_PAWLD_PREDECESSOR_H

#include "server/loop/listeners.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PAWLD_PREDECESSOR_MS = 5000, /* for each of its answers; and to end, beyond what it said */
};

struct pawld_predecessor {
    int fd;           /* -1: there is none */
    uint32_t most_ms; /* that it takes to end */
};

/* Asks the pawld behind @path, if there is one, for its listening sockets. With one,
 * *@ret_listeners are these, for @workers workers, with the certificates of @tls. 0, or the exit
 * status: the reason is on stderr then, and the other one goes on as before. */
int pawld_predecessor_find(const char *path, unsigned workers, struct api_tls *tls,
                           struct pawld_predecessor *ret_predecessor,
                           struct server_listeners *ret_listeners);

/* It is to end. False: it has ended already, or does not listen to us; that was logged. */
bool pawld_predecessor_dismiss(const struct pawld_predecessor *predecessor);

/* Waits until it has ended, for as long as it said, and a while. Otherwise that is logged. */
bool pawld_predecessor_wait(const struct pawld_predecessor *predecessor);

/* More than once is fine. */
void pawld_predecessor_close(struct pawld_predecessor *predecessor);

#endif
