/* The last known holder of a resource that calls of this server want, and the end of its lease. The
 * hint saves a question to the masters: only the masters grant. Times are microseconds of the
 * core's clock. */
#ifndef FENCE_STATE_HOLDER_HINT_H
#define FENCE_STATE_HOLDER_HINT_H

#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct core_holder_hint {
    uint64_t held_until_us; /* 0: no holder is known */
    uint64_t holder;        /* hash of the lock id of the holder; 0: none known */
    uint64_t released;      /* Bloom bits of the lock ids released since the last attempt */
    char owner[FENCE_OWNER_MAX + 1];
};

void core_holder_hint_clear(struct core_holder_hint *seen);

/* Learns that @holder (fence_lock_id_hash()), with the label @owner, holds the resource until
 * @until_us. */
void core_holder_hint_held(struct core_holder_hint *seen, uint64_t until_us, uint64_t holder,
                           const char *owner);

/* Learns that @by released the lock. Returns true if the lock may be free now; false if another
 * holder was seen since. */
bool core_holder_hint_released(struct core_holder_hint *seen, uint64_t by);

/* Returns true if the holder's release arrived before the core saw the holder: the lock was about
 * to be free. Consumes the release, so that the next call returns false. */
bool core_holder_hint_overtaken(struct core_holder_hint *seen);

#endif
