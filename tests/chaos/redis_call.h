/* Commands to a server that may be stopped or gone: no answer is an outcome. Each command uses its
 * own connection, straight to the server and not by the proxy. */
#ifndef TESTS_CHAOS_REDIS_CALL_H
#define TESTS_CHAOS_REDIS_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

enum {
    REDIS_CALL_TIMEOUT_S = 2, /* to connect, and for each reply */
};

/* Sends one command (@format is hiredis') to 127.0.0.1:@port. Returns the reply, which may be an
 * error; NULL if none came. The caller frees it with freeReplyObject(). */
redisReply *redis_call(uint16_t port, const char *format, ...);

/* True if the server answered, and not with an error. */
bool redis_does(uint16_t port, const char *format, ...);

/* As redis_does(), and fails the test otherwise. */
void redis_must(uint16_t port, const char *format, ...);

/* The value of @name in INFO @section; NULL if there is none. The caller frees it. */
char *redis_info(uint16_t port, const char *section, const char *name);

/* The same, as a number; -1 if there is none. */
long long redis_info_number(uint16_t port, const char *section, const char *name);

/* True if INFO @section says @name:@value. */
bool redis_info_is(uint16_t port, const char *section, const char *name, const char *value);

#endif
