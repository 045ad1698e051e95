/* Two servers that are asked the same: whether they answer and keep the same. */
#ifndef TESTS_INTEGRATION_STORAGE_REDIS_MODULE_ALIKE_H
#define TESTS_INTEGRATION_STORAGE_REDIS_MODULE_ALIKE_H

#include <stdbool.h>

#include <hiredis/hiredis.h>

/* Reports whether two replies are the same. The rest of a lease may differ by the time between
 * two servers. The words of errors may differ where they are not Pawl's. */
bool alike_replies(const redisReply *one, const redisReply *other);

/* All keys of a server: names, values, and what is left of each. To be freed. The lineage differs
 * between servers. A counter of 0 may be there or not: Lua counts before it looks for the end, and
 * back again. */
redisReply *alike_state(redisContext *redis);

/* Prints @reply as one line. */
void alike_print(const char *whose, const redisReply *reply);

#endif
