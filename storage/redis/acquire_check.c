#include "storage/redis/acquire_check.h"

#include "storage/redis/keys.h"

#include <assert.h>
#include <string.h>

bool storage_acquire_check_ask(const struct storage_session *session, redisCallbackFn *on_answer,
                               void *privdata)
{
    assert(session->reading.facts.fleet_id[0] != '\0');
    return redisAsyncCommand(session->connection->context, on_answer, privdata,
                             "EVALSHA %s 1 %s %s %s %u", session->sha, STORAGE_FLEET_KEY, "",
                             session->reading.facts.fleet_id, session->index + 1) == REDIS_OK;
}

enum storage_acquire_check storage_acquire_check_read(const redisReply *reply)
{
    static const char oom[] = "OOM ";
    const char *why = NULL;
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1)
        return STORAGE_ACQUIRE_CHECK_WILLING;
    if (reply->type != REDIS_REPLY_ERROR)
        return STORAGE_ACQUIRE_CHECK_ERROR;
    if (strncmp(reply->str, oom, sizeof(oom) - 1) == 0)
        return STORAGE_ACQUIRE_CHECK_FULL;
    return storage_reply_changed(reply, &why) ? STORAGE_ACQUIRE_CHECK_CHANGED
                                              : STORAGE_ACQUIRE_CHECK_ERROR;
}
