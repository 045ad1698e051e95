/* The state that the files of a Redis master share, without calling its owner: the connection, the
 * events, and the results of the last handshake. */
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
    char sha[STORAGE_SHA_LEN + 1]; /* digest of the requests' script */
    storage_refused_fn *refused;   /* called with the refused password */
    void *refused_context;
    bool refuses_module; /* the module is not to be used */
    bool takes_locks;    /* the handshake found that it takes locks, unless memory is full */
    bool leads;          /* the master was marked on this connection, after the handshake. The
                          * steps of this server's rejoin change its marker, and notice other
                          * changes */
};

#endif
