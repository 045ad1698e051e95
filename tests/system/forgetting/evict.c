#include "tests/system/forgetting/evict.h"

#include "tests/lib/case.h"
#include "tests/system/fleet.h"
#include "tests/system/forgetting/steps.h"

#include <stdlib.h>
#include <string.h>

static long long used_memory(void)
{
    static const char field[] = "\nused_memory:";
    redisReply *info = redis_fleet_command(fleet, 0, "INFO memory");
    const char *found = strstr(info->str, field);
    assert_non_null(found);
    const long long used = strtoll(found + strlen(field), NULL, 10);
    freeReplyObject(info);
    return used;
}

void evict_from(long long room, const char *policy)
{
    freeReplyObject(redis_fleet_command(fleet, 0, "CONFIG SET maxmemory %lld maxmemory-policy %s",
                                        used_memory() + room, policy));
}

void evict_locks(void)
{
    steps_play("evicted_volatile_ttl", "up");
}

void evict_no_more(void)
{
    fleet_command(0, "CONFIG SET maxmemory 0 maxmemory-policy noeviction");
}
