/* Two servers that are asked the same: whether they answer and keep the same. */
#ifndef TESTS_INTEGRATION_STORAGE_REDIS_MODULE_ALIKE_H
#define TESTS_INTEGRATION_STORAGE_REDIS_MODULE_ALIKE_H

#include <stdbool.h>

#include <hiredis/hiredis.h>

/* Reports whether two replies are the same. The rest of a lease may differ by the time between
 * two servers. The words of errors may differ where they are not Pawl's. */
bool alike_replies(const redisReply *one, const redisReply *other);

/* Asks for all keys of a server: names, values, and what is left of each. Asked for with the
 * request before it, in one write, so that the server reads its keys at once: some end after 50 ms.
 * The lineage differs between servers. A counter of 0 may be there or not: Lua counts before it
 * looks for the end, and back again. */
void alike_ask_state(redisContext *redis);

/* The next reply. To be freed. */
redisReply *alike_next(redisContext *redis);

/* Both: asks, and returns the keys. To be freed. */
redisReply *alike_state(redisContext *redis);

/* Prints @reply as one line. */
void alike_print(const char *whose, const redisReply *reply);

#endif
