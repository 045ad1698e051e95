/* The check: would a master take a lock now? Each handshake and each probe asks that with a call of
 * the requests' script that carries no request (storage/redis/lua/requests.lua). */
#ifndef STORAGE_REDIS_ACQUIRE_CHECK_H
#define STORAGE_REDIS_ACQUIRE_CHECK_H

#include "storage/redis/session.h"

/* The answer of a master to storage_acquire_check_ask(). */
enum storage_acquire_check {
    STORAGE_ACQUIRE_CHECK_WILLING, /* it takes locks */
    STORAGE_ACQUIRE_CHECK_FULL,    /* it would, but its memory is full */
    STORAGE_ACQUIRE_CHECK_CHANGED, /* its marker is not active, or its data are not those of the
                                      marker */
    STORAGE_ACQUIRE_CHECK_ERROR,   /* it does not; the reply says why */
};

/* Asks it; @on_answer gets @privdata. Precondition: it has the script, and a marker. False: out of
 * memory. */
bool storage_acquire_check_ask(const struct storage_session *session, redisCallbackFn *on_answer,
                               void *privdata);
enum storage_acquire_check storage_acquire_check_read(const redisReply *reply);

#endif
