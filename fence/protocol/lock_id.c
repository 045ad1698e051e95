#include "fence/protocol/lock_id.h"

#include "fence/base/keyed.h"

#include <string.h>

/* Written once, before there are threads. */
static uint64_t lock_id_key[2];

void fence_lock_id_key(const uint64_t key[static 2])
{
    memcpy(lock_id_key, key, sizeof(lock_id_key));
}

uint64_t fence_lock_id_hash(const char *lock_id)
{
    return fence_keyed_hash(lock_id, strlen(lock_id), lock_id_key);
}
