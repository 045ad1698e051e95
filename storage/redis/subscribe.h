/* A second connection to a master, for its messages: which awaited locks were released, and which
 * waiters left. It opens and closes with the first connection, and if it ends a later probe reopens
 * it. A message may be lost with it, so waiters also ask the masters now and then. */
#ifndef STORAGE_REDIS_SUBSCRIBE_H
#define STORAGE_REDIS_SUBSCRIBE_H

#include "storage/redis/session.h"

struct storage_listener {
    const struct storage_session *session;
    redisAsyncContext *context; /* NULL: none is open */
};

/* The first opens it if it is wanted and not open. The second closes it. Precondition of the first:
 * the first connection stands. */
void storage_listener_open(struct storage_listener *listener);
void storage_listener_close(struct storage_listener *listener);

#endif
