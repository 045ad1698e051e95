#include "fence/state/holder_hint.h"

#include <assert.h>
#include <string.h>

void core_holder_hint_clear(struct core_holder_hint *seen)
{
    seen->held_until_us = 0;
    seen->holder = 0;
    seen->released = 0;
    seen->owner[0] = '\0';
}

void core_holder_hint_held(struct core_holder_hint *seen, uint64_t until_us, uint64_t holder,
                           const char *owner)
{
    size_t len = strlen(owner);
    assert(len <= FENCE_OWNER_MAX);
    seen->held_until_us = until_us;
    seen->holder = holder;
    memcpy(seen->owner, owner, len + 1);
}

/* If a lock id shares its bit with the holder, a call makes one attempt too many. That is rare. */
static uint64_t bit_of(uint64_t holder)
{
    return UINT64_C(1) << (holder & 63);
}

bool core_holder_hint_released(struct core_holder_hint *seen, uint64_t by)
{
    seen->released |= bit_of(by);
    if (seen->holder != 0 && seen->holder != by)
        return false;
    seen->held_until_us = 0;
    seen->holder = 0;
    return true;
}

bool core_holder_hint_overtaken(struct core_holder_hint *seen)
{
    bool overtaken = seen->holder != 0 && (seen->released & bit_of(seen->holder));
    seen->released = 0;
    return overtaken;
}
