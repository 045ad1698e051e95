#include "storage/redis/trial.h"

#include "storage/redis/keys.h"

#include <assert.h>
#include <string.h>

bool storage_trial_ask(const struct storage_session *session, redisCallbackFn *on_answer,
                       void *privdata)
{
    assert(session->reading.facts.fleet_id[0] != '\0');
    return redisAsyncCommand(session->connection->context, on_answer, privdata,
                             "EVALSHA %s 1 %s %s %s %u", session->sha, STORAGE_FLEET_KEY, "",
                             session->reading.facts.fleet_id, session->index + 1) == REDIS_OK;
}

enum storage_trial storage_trial_read(const redisReply *reply)
{
    static const char oom[] = "OOM ";
    const char *why = NULL;
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1)
        return STORAGE_TRIAL_WILLING;
    if (reply->type != REDIS_REPLY_ERROR)
        return STORAGE_TRIAL_ERROR;
    if (strncmp(reply->str, oom, sizeof(oom) - 1) == 0)
        return STORAGE_TRIAL_FULL;
    return storage_reply_changed(reply, &why) ? STORAGE_TRIAL_CHANGED : STORAGE_TRIAL_ERROR;
}
