/* Whether a lock would be taken on a master now: asked in each handshake and each look, with a call
 * of the requests' script that carries none (storage/redis/lua/requests.lua). */
#include "storage/redis/connection.h"
#include "storage/redis/keys.h"

#include <string.h>

bool storage_master_probe(struct storage_redis_master *master, redisCallbackFn *on_answer)
{
    return redisAsyncCommand(master->context, on_answer, NULL, "EVALSHA %s 1 %s %s %s %u",
                             master->sha, STORAGE_FLEET_KEY, "", master->reading.facts.fleet_id,
                             master->config.index + 1) == REDIS_OK;
}

enum storage_probed storage_master_probed(const redisReply *reply)
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
