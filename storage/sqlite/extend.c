#include "storage/sqlite/extend.h"

#include "storage/sqlite/breaking.h"
#include "storage/sqlite/lock.h"

#include <string.h>

/* What keeps the id's own lock from being extended, or YES. What was imported proves something only
 * where a majority had it. */
static enum fence_reply_kind judge_own(const struct storage_state *state,
                                       const struct storage_lock *lock,
                                       const struct fence_request *request)
{
    if (lock->number > request->token)
        return lock->imported ? FENCE_REPLY_UNCOUNTED : FENCE_REPLY_SUPERSEDED;
    if (!storage_lock_counts(state, lock))
        return FENCE_REPLY_UNCOUNTED;
    return lock->extensions >= request->extensions ? FENCE_REPLY_EXHAUSTED : FENCE_REPLY_YES;
}

/* Never shortens a lease. An extended lock is the holder's, of any attempt: the late clean-up of an
 * attempt that failed must not take it any more. */
static void lengthen(struct storage_state *state, const struct fence_request *request,
                     struct storage_lock *lock, struct storage_answer *answer)
{
    uint64_t expires_ms = state->now_ms + request->ttl_ms;
    answer->reply.kind = judge_own(state, lock, request);
    if (answer->reply.kind != FENCE_REPLY_YES)
        return;
    lock->extensions++;
    lock->adopted = true;
    if (lock->expires_ms < expires_ms)
        lock->expires_ms = expires_ms;
    storage_state_put_lock(state, request->resource, lock);
    if (lock->number < request->token)
        return;
    memcpy(answer->owner, lock->owner, sizeof(answer->owner));
    answer->reply.number = lock->extensions;
}

/* Where the lock is not the id's: NO if it may join. A tombstone may stand for its lock, so it says
 * nothing. */
static enum fence_reply_kind judge_lacking(struct storage_state *state,
                                           const struct fence_request *request,
                                           const struct storage_lock *lock)
{
    int64_t counter = storage_state_counter(state, request->slot);
    if (storage_lock_is_tombstone(lock))
        return FENCE_REPLY_UNCOUNTED;
    if (counter > request->token || state->marker.floor > request->token)
        return FENCE_REPLY_PAST;
    return lock->present ? FENCE_REPLY_TAKEN : FENCE_REPLY_NO;
}

/* Nothing was counted here since: it is locked under the attempt of the round. */
static void join(struct storage_state *state, const struct fence_request *request,
                 struct storage_answer *answer)
{
    struct storage_lock lock = storage_lock_new(state, request);
    lock.number = request->token;
    lock.extensions = request->extended;
    storage_state_put_counter(state, request->slot, request->token); /* which it is not above */
    storage_state_put_lock(state, request->resource, &lock);
    memcpy(answer->owner, lock.owner, sizeof(answer->owner));
    answer->reply.kind = FENCE_REPLY_YES;
    answer->reply.number = request->extended;
}

void storage_extend(struct storage_state *state, const struct fence_request *request,
                    struct storage_answer *answer)
{
    struct storage_lock lock;
    storage_state_lock(state, request->resource, &lock);
    if (storage_lock_is_ids(&lock, request))
        lengthen(state, request, &lock, answer);
    else
        answer->reply.kind = judge_lacking(state, request, &lock);
    if (answer->reply.kind == FENCE_REPLY_NO && request->kind == FENCE_REQUEST_JOIN)
        join(state, request, answer);
    storage_break_tell(state, request, answer);
}
