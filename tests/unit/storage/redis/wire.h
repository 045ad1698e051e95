/* Replies of a Redis, made of their bytes on the wire. */
#ifndef TESTS_UNIT_STORAGE_REDIS_WIRE_H
#define TESTS_UNIT_STORAGE_REDIS_WIRE_H

#include <hiredis/hiredis.h>

/* The reply that the bytes @wire are; the caller frees it. */
redisReply *wire_reply(const char *wire);

#endif
