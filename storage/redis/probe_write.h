/* Whether a lock would be taken on a master now: asked in each handshake and each look, with a call
 * of the requests' script that carries none (storage/redis/lua/requests.lua). */
#ifndef STORAGE_REDIS_PROBE_WRITE_H
#define STORAGE_REDIS_PROBE_WRITE_H

#include "storage/redis/session.h"

/* What a master says to storage_probe_write(). */
enum storage_probed {
    STORAGE_PROBED_WILLING, /* it takes locks */
    STORAGE_PROBED_FULL,    /* it would, but its memory is full */
    STORAGE_PROBED_CHANGED, /* its marker is not active, or its data are not those of the marker */
    STORAGE_PROBED_ERROR,   /* it does not; the reply says why */
};

/* Asks it; @on_answer gets @privdata. Precondition: it has the script, and a marker. False: out of
 * memory. */
bool storage_probe_write(const struct storage_session *session, redisCallbackFn *on_answer,
                         void *privdata);
enum storage_probed storage_probe_read(const redisReply *reply);

#endif
