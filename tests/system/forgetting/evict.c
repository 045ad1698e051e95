#include "tests/system/forgetting/evict.h"

#include "tests/lib/case.h"
#include "tests/system/fleet.h"

#include <stdlib.h>
#include <string.h>

enum {
    VALUE_BYTES = 16 * 1024,
    VALUES_MAX = 4000,
};

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

/* The values have a TTL themselves, as those of a cache do. */
void evict_locks(const char *policy)
{
    static char value[VALUE_BYTES];
    evict_from(EVICT_ROOM, policy);
    for (int i = 0; i < VALUES_MAX; i++) {
        freeReplyObject(
            redis_fleet_command(fleet, 0, "SET cache:%d %b PX 3600000", i, value, sizeof(value)));
        if (redis_fleet_integer(fleet, 0, "EXISTS pawl:lock:forgetting/held") == 1)
            continue;
        assert_int_equal(redis_fleet_integer(fleet, 0, "EXISTS pawl:fleet"), 1);
        return;
    }
    fail_msg("the lock is still there after %d values", VALUES_MAX);
}

void evict_no_more(void)
{
    fleet_command(0, "CONFIG SET maxmemory 0 maxmemory-policy noeviction");
}
