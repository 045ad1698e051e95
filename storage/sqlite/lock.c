#include "storage/sqlite/lock.h"

#include "fence/protocol/lease.h"

#include <string.h>

struct storage_lock storage_lock_new(const struct storage_state *state,
                                     const struct fence_request *request)
{
    struct storage_lock lock = {
        .attempt = request->attempt,
        .expires_ms = state->now_ms + request->ttl_ms,
    };
    storage_state_copy(lock.lock_id, sizeof(lock.lock_id), request->lock_id);
    storage_state_copy(lock.owner, sizeof(lock.owner), request->owner);
    return lock;
}

bool storage_lock_is_ids(const struct storage_lock *lock, const struct fence_request *request)
{
    return lock->present && strcmp(lock->lock_id, request->lock_id) == 0;
}

bool storage_lock_is_attempts(const struct storage_lock *lock, const struct fence_request *request)
{
    return storage_lock_is_ids(lock, request) && !lock->adopted &&
           lock->attempt == request->attempt;
}

bool storage_lock_is_tombstone(const struct storage_lock *lock)
{
    return lock->present && strcmp(lock->lock_id, FENCE_TOMBSTONE) == 0;
}

bool storage_lock_counts(const struct storage_state *state, const struct storage_lock *lock)
{
    return !lock->imported ||
           (unsigned)__builtin_popcount(lock->from) >= fence_majority(state->members);
}

void storage_lock_held(const struct storage_state *state, const struct storage_lock *lock,
                       struct storage_answer *answer)
{
    memcpy(answer->holder, lock->lock_id, sizeof(answer->holder));
    memcpy(answer->owner, lock->owner, sizeof(answer->owner));
    answer->reply.kind = FENCE_REPLY_HELD;
    answer->reply.number = lock->number;
    answer->reply.remaining_ms = lock->expires_ms - state->now_ms;
}

bool storage_lock_count(struct storage_state *state, uint16_t slot, int64_t hint,
                        int64_t *ret_number)
{
    int64_t base = storage_state_counter(state, slot);
    if (base < state->marker.floor)
        base = state->marker.floor;
    if (hint > base && hint <= base + FENCE_HINT_LEAP)
        base = hint;
    if (base >= FENCE_TOKEN_MAX)
        return false;
    storage_state_put_counter(state, slot, base + 1);
    *ret_number = base + 1;
    return true;
}
