#include "storage/redis/probe_write.h"

#include "storage/redis/keys.h"

#include <string.h>

bool storage_probe_write(const struct storage_session *session, redisCallbackFn *on_answer,
                         void *privdata)
{
    return redisAsyncCommand(session->connection->context, on_answer, privdata,
                             "EVALSHA %s 1 %s %s %s %u", session->sha, STORAGE_FLEET_KEY, "",
                             session->reading.facts.fleet_id, session->index + 1) == REDIS_OK;
}

enum storage_probed storage_probe_read(const redisReply *reply)
{
    static const char oom[] = "OOM ";
    const char *why = NULL;
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1)
        return STORAGE_PROBED_WILLING;
    if (reply->type != REDIS_REPLY_ERROR)
        return STORAGE_PROBED_ERROR;
    if (strncmp(reply->str, oom, sizeof(oom) - 1) == 0)
        return STORAGE_PROBED_FULL;
    return storage_reply_changed(reply, &why) ? STORAGE_PROBED_CHANGED : STORAGE_PROBED_ERROR;
}
