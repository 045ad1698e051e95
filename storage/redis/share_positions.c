#include "storage/redis/share_positions.h"

#include "fence/protocol/owner.h"
#include "storage/redis/keys.h"
#include "storage/redis/lua/share_positions.lua.h"

#include <assert.h>
#include <inttypes.h>

bool storage_tell(const struct storage_session *session)
{
    const struct storage_master_events *events = session->events;
    const struct fence_fleet *fleet = events->fleet ? events->fleet(events->context) : NULL;
    char positions[FENCE_POSITIONS_TEXT_MAX];
    assert(session->index < session->members);
    if (!fleet || fleet->fleet_id[0] == '\0')
        return true;
    fence_positions_format(&fleet->known, session->members, positions);
    return redisAsyncCommand(session->connection->context, NULL, NULL, "EVAL %s 1 %s %s %u %s",
                             storage_redis_lua_share_positions, STORAGE_FLEET_KEY, fleet->fleet_id,
                             session->index + 1, positions) == REDIS_OK;
}

void storage_tell_place(const struct storage_session *session, const struct fence_place *place)
{
    char label[FENCE_OWNER_MAX + 1];
    const char *key_id = fence_owner_split(place->owner, label);
    (void)!redisAsyncCommand(
        session->connection->context, NULL, NULL,
        "PUBLISH " STORAGE_RELEASED_CHANNEL " :%" PRIu64 ":%" PRId64 ":%s:%s:%s", place->waited_us,
        place->ticket, place->lock_id, key_id, place->resource);
}
