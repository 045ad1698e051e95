/* What is shared by the parts of a Redis master, which do not call its owner: the connection, who
 * is told, and what the last handshake on the connection brought. */
#ifndef STORAGE_REDIS_SESSION_H
#define STORAGE_REDIS_SESSION_H

#include "storage/master.h"
#include "storage/redis/batch.h"
#include "storage/redis/connection.h"
#include "storage/redis/facts.h"

#include <stdbool.h>

struct storage_session {
    struct storage_connection *connection;
    const struct storage_master_events *events;
    unsigned index;   /* which member is expected there, from 0 */
    unsigned members; /* N */

    struct storage_reading reading;
    char sha[STORAGE_SHA_LEN + 1]; /* of the requests' script */
    bool takes_locks; /* the handshake found that it takes locks, but for want of memory */
    bool leads;       /* it was marked on this connection, after the handshake: what its marker says
                       * changes by this server's own steps, and these notice it where it does not */
};

#endif
