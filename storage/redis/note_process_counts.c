#include "storage/redis/note_process_counts.h"

#include "storage/redis/keys.h"
#include "storage/redis/lua/lineage_check.lua.h"
#include "storage/redis/lua/note_process_counts.lua.h"

#include <assert.h>
#include <string.h>

enum {
    BYTES_AT_LEAST = 4096, /* between two notes of how many a master received */
    TIMES = 2, /* Redis counts the first answer once it was given, and the second notes that */
};

bool storage_note_process_counts_is_due(const struct storage_reading *reading)
{
    const struct fence_facts *facts = &reading->facts;
    bool complete = facts->durable || !facts->marked_durable;
    bool sets = complete && !reading->rewriting && !reading->settled;
    bool bytes = reading->bytes > 2 * reading->marked_bytes + BYTES_AT_LEAST;
    bool answers = !reading->answers_noted && reading->counts_errors;
    bool notes = (facts->marked_active && (sets || bytes)) || answers || reading->has_other_id;
    return facts->marked && notes && strcmp(facts->lineage, facts->marked_lineage) == 0;
}

static bool send_once(struct storage_connection *connection, const char *fleet_id, unsigned member)
{
    return redisAsyncCommand(connection->context, NULL, NULL, "EVAL %s%s 1 %s %s %u",
                             storage_redis_lua_lineage_check, storage_redis_lua_note_process_counts,
                             STORAGE_FLEET_KEY, fleet_id, member) == REDIS_OK;
}

bool storage_note_process_counts(struct storage_connection *connection, const char *fleet_id,
                                 unsigned member)
{
    assert(connection->context && member <= FENCE_MASTERS_MAX);
    bool sent = true;
    for (int i = 0; i < TIMES && sent; i++)
        sent = send_once(connection, fleet_id, member);
    return sent;
}
