#include "storage/redis/positions.h"

#include "storage/redis/reply_text.h"

#include <assert.h>
#include <string.h>

void storage_positions_read(const redisReply *writes, const redisReply *positions, unsigned n,
                            struct fence_facts *facts)
{
    uint64_t count = 0;
    assert(n >= 1 && n <= FENCE_MASTERS_MAX);
    if (storage_reply_text_number(writes, FENCE_TOKEN_MAX, &count))
        facts->writes = (int64_t)count;
    if (positions->type != REDIS_REPLY_STRING ||
        fence_positions_parse(positions->str, positions->len, n, &facts->heard) != 0)
        memset(&facts->heard, 0, sizeof(facts->heard));
}
