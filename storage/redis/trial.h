/* The trial: would a master take a lock now? Each handshake and each probe asks that with a call of
 * the requests' script that carries no request (storage/redis/lua/requests.lua). */
#ifndef STORAGE_REDIS_TRIAL_H
#define STORAGE_REDIS_TRIAL_H

#include "storage/redis/session.h"

/* The answer of a master to storage_trial_ask(). */
enum storage_trial {
    STORAGE_TRIAL_WILLING, /* it takes locks */
    STORAGE_TRIAL_FULL,    /* it would, but its memory is full */
    STORAGE_TRIAL_CHANGED, /* its marker is not active, or its data are not those of the marker */
    STORAGE_TRIAL_ERROR,   /* it does not; the reply says why */
};

/* Asks it; @on_answer gets @privdata. Precondition: it has the script, and a marker. False: out of
 * memory. */
bool storage_trial_ask(const struct storage_session *session, redisCallbackFn *on_answer,
                       void *privdata);
enum storage_trial storage_trial_read(const redisReply *reply);

#endif
