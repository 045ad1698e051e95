/* What was learnt last of a resource that calls of this server want: that it is held, by whom and
 * until when. It is a hint, to spare the masters a question; only the masters grant. Instants are
 * microseconds of the core's clock. */
#ifndef FENCE_CORE_HOLDER_HINT_H
#define FENCE_CORE_HOLDER_HINT_H

#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct fence_holder_hint {
    uint64_t held_until_us; /* 0: not known to be held */
    uint64_t holder;        /* hash of the lock id of who holds it; 0: nobody known */
    uint64_t freed;         /* of those who gave it up since it was asked for last, a bit each */
    char owner[FENCE_OWNER_MAX + 1];
};

void fence_holder_hint_clear(struct fence_holder_hint *seen);

/* It is held until then by @holder (fence_lock_id_hash()), with the label @owner. */
void fence_holder_hint_held(struct fence_holder_hint *seen, uint64_t until_us, uint64_t holder,
                            const char *owner);

/* Somebody gave it up. True if that is news: the lock may be free now. False if another is known to
 * have had it since. */
bool fence_holder_hint_freed(struct fence_holder_hint *seen, uint64_t by);

/* A majority was seen to have the lock, and word that its holder gave it up came before that: it
 * was on its way out. Asked once; then that word is used up. */
bool fence_holder_hint_overtaken(struct fence_holder_hint *seen);

#endif
