#include "fence/master/lock.h"

#include "fence/protocol/lease.h"
#include "fence/protocol/owner.h"

#include <assert.h>
#include <string.h>

void fence_stored_copy(char *to, size_t size, const char *from)
{
    size_t len = strlen(from);
    assert(len < size);
    memcpy(to, from, len + 1);
}

struct fence_stored_lock fence_stored_lock_new(const struct fence_turn *turn,
                                               const struct fence_request *request)
{
    struct fence_stored_lock lock = {
        .present = true,
        .attempt = request->attempt,
        .expires_ms = turn->now_ms + request->ttl_ms,
    };
    fence_stored_copy(lock.lock_id, sizeof(lock.lock_id), request->lock_id);
    fence_stored_copy(lock.owner, sizeof(lock.owner), request->owner);
    return lock;
}

bool fence_stored_lock_is_ids(const struct fence_stored_lock *lock,
                              const struct fence_request *request)
{
    return lock->present && strcmp(lock->lock_id, request->lock_id) == 0;
}

bool fence_stored_lock_is_attempts(const struct fence_stored_lock *lock,
                                   const struct fence_request *request)
{
    return fence_stored_lock_is_ids(lock, request) && !lock->adopted &&
           lock->attempt == request->attempt;
}

uint64_t fence_stored_lock_lease_ms(const struct fence_turn *turn,
                                    const struct fence_stored_lock *lock)
{
    assert(lock->present);
    const uint64_t delay_ms = fence_owner_delay_ms(lock->owner);
    const uint64_t left_ms = lock->expires_ms - turn->now_ms;
    return left_ms > delay_ms ? left_ms - delay_ms : 0;
}

bool fence_stored_lock_is_tombstone(const struct fence_stored_lock *lock)
{
    return lock->present && strcmp(lock->lock_id, FENCE_TOMBSTONE) == 0;
}

bool fence_stored_lock_counts(const struct fence_turn *turn, const struct fence_stored_lock *lock)
{
    return !lock->imported ||
           (unsigned)__builtin_popcount(lock->from) >= fence_majority(turn->members);
}

void fence_master_answer_held(const struct fence_turn *turn, const struct fence_stored_lock *lock,
                              struct fence_master_answer *answer)
{
    assert(lock->present);
    memcpy(answer->holder, lock->lock_id, sizeof(answer->holder));
    memcpy(answer->owner, lock->owner, sizeof(answer->owner));
    answer->reply.kind = FENCE_REPLY_HELD;
    answer->reply.number = lock->number;
    answer->reply.remaining_ms = lock->expires_ms - turn->now_ms;
}

bool fence_master_next_number(struct fence_turn *turn, uint16_t slot, int64_t hint,
                              int64_t *ret_number)
{
    int64_t base = turn->store->counter(turn->context, slot);
    if (base < turn->marker.floor)
        base = turn->marker.floor;
    if (hint > base && hint <= base + FENCE_HINT_LEAP)
        base = hint;
    if (base >= FENCE_TOKEN_MAX)
        return false;
    turn->store->put_counter(turn->context, slot, base + 1);
    *ret_number = base + 1;
    return true;
}
