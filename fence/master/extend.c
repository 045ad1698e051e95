#include "fence/master/extend.h"

#include "fence/master/break.h"
#include "fence/master/lock.h"
#include "fence/protocol/owner.h"

#include <assert.h>
#include <string.h>

/* Returns why the lock of the lock id cannot be extended, or YES. An imported lock proves something
 * only if a majority had it. */
static enum fence_reply_kind judge_own(const struct fence_turn *turn,
                                       const struct fence_stored_lock *lock,
                                       const struct fence_request *request)
{
    assert(fence_stored_lock_is_ids(lock, request));
    if (lock->number > request->token)
        return lock->imported ? FENCE_REPLY_UNCOUNTED : FENCE_REPLY_SUPERSEDED;
    if (!fence_stored_lock_counts(turn, lock))
        return FENCE_REPLY_UNCOUNTED;
    return lock->extensions >= request->extend.extensions_max ? FENCE_REPLY_EXHAUSTED
                                                              : FENCE_REPLY_YES;
}

/* Returns the new end of a lock that is extended now: its delay comes after its lease. No lock
 * lasts longer than the longest lease of the fleet. */
static uint64_t end_of(const struct fence_turn *turn, const struct fence_request *request,
                       const struct fence_stored_lock *lock)
{
    const uint64_t delay_ms = fence_owner_delay_ms(lock->owner);
    const uint64_t longest_ms = turn->marker.ttl_max_ms;
    const uint64_t lasts_ms = request->ttl_ms + delay_ms;
    return turn->now_ms + (delay_ms > 0 && lasts_ms > longest_ms ? longest_ms : lasts_ms);
}

/* Never shortens a lease. An extended lock belongs to the holder, and to no attempt: the late
 * clean-up of a failed attempt must not remove it. */
static void lengthen(struct fence_turn *turn, const struct fence_request *request,
                     struct fence_stored_lock *lock, struct fence_master_answer *answer)
{
    const uint64_t expires_ms = end_of(turn, request, lock);
    answer->reply.kind = judge_own(turn, lock, request);
    if (answer->reply.kind == FENCE_REPLY_YES || answer->reply.kind == FENCE_REPLY_SUPERSEDED)
        memcpy(answer->owner, lock->owner, sizeof(answer->owner));
    if (answer->reply.kind != FENCE_REPLY_YES)
        return;
    lock->extensions++;
    lock->adopted = true;
    if (lock->expires_ms < expires_ms)
        lock->expires_ms = expires_ms;
    turn->store->put_lock(turn->context, request->resource, lock);
    answer->reply.number = lock->number == request->token ? lock->extensions : 0;
}

/* Judges a request whose lock id does not have the lock: NO if the request may join. A tombstone
 * may stand for the lock of this id, so it counts for neither side. */
static enum fence_reply_kind judge_lacking(struct fence_turn *turn,
                                           const struct fence_request *request,
                                           const struct fence_stored_lock *lock)
{
    if (fence_stored_lock_is_tombstone(lock))
        return FENCE_REPLY_UNCOUNTED;
    int64_t counter = turn->store->counter(turn->context, request->slot);
    if (counter > request->token || turn->marker.floor > request->token)
        return FENCE_REPLY_PAST;
    return lock->present ? FENCE_REPLY_TAKEN : FENCE_REPLY_NO;
}

/* Nothing was counted here since, so the lock is taken under the attempt of the round. */
static void join(struct fence_turn *turn, const struct fence_request *request,
                 struct fence_master_answer *answer)
{
    assert(request->kind == FENCE_REQUEST_JOIN);
    struct fence_stored_lock lock = fence_stored_lock_new(turn, request);
    lock.number = request->token;
    lock.extensions = request->extend.extended;
    turn->store->put_counter(turn->context, request->slot,
                             request->token); /* the counter is not above the token */
    turn->store->put_lock(turn->context, request->resource, &lock);
    memcpy(answer->owner, lock.owner, sizeof(answer->owner));
    answer->reply.kind = FENCE_REPLY_YES;
    answer->reply.number = request->extend.extended;
}

void fence_master_extend(struct fence_turn *turn, const struct fence_request *request,
                         struct fence_master_answer *answer)
{
    assert(request->kind == FENCE_REQUEST_EXTEND || request->kind == FENCE_REQUEST_JOIN);
    struct fence_stored_lock lock;
    turn->store->lock(turn->context, request->resource, &lock);
    if (fence_stored_lock_is_ids(&lock, request))
        lengthen(turn, request, &lock, answer);
    else
        answer->reply.kind = judge_lacking(turn, request, &lock);
    if (answer->reply.kind == FENCE_REPLY_NO && request->kind == FENCE_REQUEST_JOIN)
        join(turn, request, answer);
    fence_master_tell_broken(turn, request, answer);
}
