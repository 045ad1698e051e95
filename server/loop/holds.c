#include "server/loop/holds.h"

#include "fence/protocol/name.h"

#include <string.h>

static uint64_t key_of_hold(const char *lock_id, const char *resource)
{
    return fence_hash(resource, strlen(resource), fence_lock_id_hash(lock_id)) | 1;
}

static unsigned place_of_key(uint64_t key)
{
    return (unsigned)(key >> 16) & (SERVER_HOLDS - 1);
}

void server_holds_granted(struct server_holds *holds, const char *lock_id, const char *resource,
                          uint64_t now_us)
{
    const uint64_t key = key_of_hold(lock_id, resource);
    holds->places[place_of_key(key)].key = key;
    holds->places[place_of_key(key)].granted_us = now_us;
}

bool server_holds_ended(struct server_holds *holds, const char *lock_id, const char *resource,
                        uint64_t now_us, uint64_t *ret_held_us)
{
    const uint64_t key = key_of_hold(lock_id, resource);
    const unsigned place = place_of_key(key);
    if (holds->places[place].key != key)
        return false;
    holds->places[place].key = 0;
    *ret_held_us = now_us - holds->places[place].granted_us;
    return true;
}
