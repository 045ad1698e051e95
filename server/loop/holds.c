#include "server/loop/holds.h"

#include "fence/protocol/limits.h"

#include <assert.h>
#include <string.h>

static_assert((int)FENCE_LOCK_ID_MIN >= 16, "two words of a lock id are looked at");

static uint64_t mix(uint64_t key, uint64_t word)
{
    key = (key ^ word) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / the golden ratio */
    return key ^ (key >> 29);
}

/* A lock id is random, so its first characters are enough. Locks of one grant of several resources
 * differ in their resources. The hash works on words of 8 bytes: it is on the path of each
 * grant. */
uint64_t server_hold_key(const char *lock_id, const char *resource)
{
    uint64_t key = 0, word = 0;
    size_t left = strlen(resource);
    assert(lock_id[0] != '\0' && left > 0);
    memcpy(&word, lock_id, sizeof(word));
    key = mix(key, word);
    memcpy(&word, lock_id + sizeof(word), sizeof(word));
    key = mix(key, word);
    for (; left >= sizeof(word); left -= sizeof(word), resource += sizeof(word)) {
        memcpy(&word, resource, sizeof(word));
        key = mix(key, word);
    }
    word = 0;
    memcpy(&word, resource, left);
    return mix(key, word) | 1;
}

static unsigned place_of_key(uint64_t key)
{
    return (unsigned)(key >> 40) & (SERVER_HOLDS - 1);
}

void server_holds_granted(struct server_holds *holds, const char *lock_id, const char *resource,
                          uint64_t now_us)
{
    const uint64_t key = server_hold_key(lock_id, resource);
    holds->places[place_of_key(key)].key = key;
    holds->places[place_of_key(key)].granted_us = now_us;
}

bool server_holds_ended(struct server_holds *holds, const char *lock_id, const char *resource,
                        uint64_t now_us, uint64_t *ret_held_us)
{
    const uint64_t key = server_hold_key(lock_id, resource);
    const unsigned place = place_of_key(key);
    assert(place < SERVER_HOLDS);
    if (holds->places[place].key != key)
        return false;
    holds->places[place].key = 0;
    *ret_held_us = now_us - holds->places[place].granted_us;
    return true;
}
