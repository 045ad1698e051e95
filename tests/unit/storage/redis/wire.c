#include "tests/unit/storage/redis/wire.h"

#include "tests/lib/case.h"

#include <string.h>

redisReply *wire_reply(const char *wire)
{
    void *reply = NULL;
    redisReader *reader = redisReaderCreate();
    assert_int_equal(redisReaderFeed(reader, wire, strlen(wire)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}
