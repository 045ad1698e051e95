/* A second connection to a master, for what it publishes: which locks were released that somebody
 * waits for, and which waiters left. It comes and goes with the first, and is opened again with a
 * later probe if it ends. A message may be lost with it, so waiters also ask the masters now and
 * then. */
#ifndef STORAGE_REDIS_SUBSCRIBE_H
#define STORAGE_REDIS_SUBSCRIBE_H

#include "storage/redis/session.h"

struct storage_listener {
    const struct storage_session *session;
    redisAsyncContext *context; /* NULL: none is open */
};

/* Opens it if it is wanted and not open; closes it. Precondition of the first: the first connection
 * stands. */
void storage_listener_open(struct storage_listener *listener);
void storage_listener_close(struct storage_listener *listener);

#endif
