#include "fence/master/requests.h"

#include "fence/master/break.h"
#include "fence/master/count.h"
#include "fence/master/extend.h"
#include "fence/master/lock.h"
#include "fence/master/next.h"
#include "fence/master/take.h"
#include "fence/protocol/owner.h"

#include <assert.h>

/* ---- confirming ------------------------------------------------------------------------------ */

/* Reports whether @lock may be confirmed. The attempt alone is not enough. A late copy of TAKE may
 * have locked again under it, after another holder had the lock. Then its number is higher than the
 * token. */
static bool agrees(const struct fence_stored_lock *lock, const struct fence_request *request,
                   int64_t token)
{
    bool adopted = request->idempotent && fence_stored_lock_is_ids(lock, request) && lock->adopted;
    return (adopted || fence_stored_lock_is_attempts(lock, request)) && lock->number <= token;
}

static void raise_to_token(struct fence_turn *turn, const struct fence_request_lock *member)
{
    struct fence_stored_lock lock;
    turn->store->lock(turn->context, member->resource, &lock);
    if (turn->store->counter(turn->context, member->slot) < member->token)
        turn->store->put_counter(turn->context, member->slot, member->token);
    if (lock.number < member->token) {
        lock.number = member->token;
        turn->store->put_lock(turn->context, member->resource, &lock);
    }
}

/* Confirms all locks or none. */
static void confirm_locks(struct fence_turn *turn, const struct fence_request *request,
                          struct fence_master_answer *answer)
{
    assert(request->kind == FENCE_REQUEST_CONFIRM);
    struct fence_stored_lock lock;
    answer->reply.kind = FENCE_REPLY_NO;
    for (unsigned k = 0; k < fence_request_locks(request); k++) {
        const struct fence_request_lock member = fence_request_lock_at(request, k);
        turn->store->lock(turn->context, member.resource, &lock);
        if (!agrees(&lock, request, member.token))
            return;
    }
    for (unsigned k = 0; k < fence_request_locks(request); k++) {
        const struct fence_request_lock member = fence_request_lock_at(request, k);
        raise_to_token(turn, &member);
    }
    answer->reply.kind = FENCE_REPLY_YES;
}

/* ---- release, undo, inspect --------------------------------------------------------------- */

static void drop_and_tell(struct fence_turn *turn, const char *resource, const char *lock_id)
{
    turn->store->drop_lock(turn->context, resource);
    fence_master_freed(turn, resource, lock_id);
}

/* Keeps the lock without a holder for the rest of the lease. No extension of the grant joins, as
 * the counter is above its number. Returns false if no number is above it; then nothing was
 * done. */
static bool keep_closed(struct fence_turn *turn, const struct fence_request *request,
                        struct fence_stored_lock *lock)
{
    assert(lock->present && request->release.keep_ms > 0);
    const uint64_t until_ms = turn->now_ms + request->release.keep_ms;
    const int64_t counter = turn->store->counter(turn->context, request->slot);
    if (lock->number >= FENCE_TOKEN_MAX)
        return false;
    if (counter <= lock->number)
        turn->store->put_counter(turn->context, request->slot, lock->number + 1);
    fence_stored_copy(lock->lock_id, sizeof(lock->lock_id), FENCE_KEPT_ID);
    lock->adopted = true;
    lock->imported = false;
    if (lock->expires_ms > until_ms)
        lock->expires_ms = until_ms;
    turn->store->put_lock(turn->context, request->resource, lock);
    turn->store->notify(turn->context, request->resource, request->lock_id);
    return true;
}

static void release_lock(struct fence_turn *turn, const struct fence_request *request,
                         struct fence_master_answer *answer)
{
    assert(request->kind == FENCE_REQUEST_RELEASE);
    struct fence_stored_lock lock;
    turn->store->lock(turn->context, request->resource, &lock);
    if (!fence_stored_lock_is_ids(&lock, request)) {
        answer->reply.kind =
            fence_stored_lock_is_tombstone(&lock) ? FENCE_REPLY_UNCOUNTED : FENCE_REPLY_NO;
        return;
    }
    if (fence_owner_writes(lock.owner) && !request->release.covers) {
        answer->reply.kind = FENCE_REPLY_WRITERS;
        return;
    }
    answer->reply.kind = FENCE_REPLY_YES;
    answer->reply.adopted = lock.adopted || lock.extensions > 0 || lock.imported;
    if (request->release.keep_ms == 0)
        drop_and_tell(turn, request->resource, request->lock_id);
    else if (!keep_closed(turn, request, &lock))
        answer->reply = (struct fence_reply){
            .kind = FENCE_REPLY_SPENT, .tag = request->tag, .locks = answer->reply.locks};
}

/* Undoes the locks of one failed attempt, and no other locks. */
static void undo_locks(struct fence_turn *turn, const struct fence_request *request,
                       struct fence_master_answer *answer)
{
    assert(request->kind == FENCE_REQUEST_UNDO);
    answer->reply.kind = FENCE_REPLY_NO;
    for (unsigned k = 0; k < fence_request_locks(request); k++) {
        const struct fence_request_lock member = fence_request_lock_at(request, k);
        struct fence_stored_lock lock;
        turn->store->lock(turn->context, member.resource, &lock);
        if (!fence_stored_lock_is_attempts(&lock, request))
            continue;
        drop_and_tell(turn, member.resource, request->lock_id);
        answer->reply.kind = FENCE_REPLY_YES;
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static void inspect_row(struct fence_turn *turn, const struct fence_request *request,
                        struct fence_master_answer *answer)
{
    struct fence_stored_lock lock;
    turn->store->lock(turn->context, request->resource, &lock);
    if (lock.present)
        fence_master_answer_held(turn, &lock, answer);
    else
        answer->reply.kind = FENCE_REPLY_NO;
}

static void refuse_request(const struct fence_turn *turn, enum fence_refusal refusal,
                           struct fence_reply *reply)
{
    if (refusal != FENCE_REFUSAL_STALE)
        return;
    reply->kind = FENCE_REPLY_STALE;
    reply->view = &turn->marker.view;
}

static void answer_request(struct fence_turn *turn, const struct fence_request *request,
                           struct fence_master_answer *answer)
{
    switch (request->kind) {
    case FENCE_REQUEST_TAKE:
        fence_master_take(turn, request, answer);
        break;
    case FENCE_REQUEST_CONFIRM:
        confirm_locks(turn, request, answer);
        break;
    case FENCE_REQUEST_EXTEND:
    case FENCE_REQUEST_JOIN:
        fence_master_extend(turn, request, answer);
        break;
    case FENCE_REQUEST_RELEASE:
        release_lock(turn, request, answer);
        break;
    case FENCE_REQUEST_UNDO:
        undo_locks(turn, request, answer);
        break;
    case FENCE_REQUEST_INSPECT:
        inspect_row(turn, request, answer);
        break;
    case FENCE_REQUEST_COUNT:
        fence_master_count(turn, request, answer);
        break;
    case FENCE_REQUEST_BREAK:
        fence_master_break(turn, request, answer);
        break;
    }
}

void fence_master_do(struct fence_turn *turn, enum fence_refusal refusal,
                     const struct fence_request *request, struct fence_master_answer *answer)
{
    answer->reply = (struct fence_reply){
        .kind = FENCE_REPLY_REFUSED,
        .tag = request->tag,
        .locks = fence_request_locks(request),
    };
    answer->holder[0] = answer->owner[0] = '\0';
    if (refusal != FENCE_REFUSAL_NONE)
        refuse_request(turn, refusal, &answer->reply);
    else
        answer_request(turn, request, answer);
}
