#include "storage/sqlite/locks.h"

#include "storage/sqlite/breaking.h"
#include "storage/sqlite/count.h"
#include "storage/sqlite/extend.h"
#include "storage/sqlite/lock.h"
#include "storage/sqlite/take.h"

/* ---- confirming ------------------------------------------------------------------------------ */

/* The attempt alone is not enough. A late copy of TAKE may have locked again under it, after
 * another holder's turn. Then its number is higher than the token. */
static bool agrees(const struct storage_lock *lock, const struct fence_request *request,
                   int64_t token)
{
    bool adopted = request->idempotent && storage_lock_is_ids(lock, request) && lock->adopted;
    return (adopted || storage_lock_is_attempts(lock, request)) && lock->number <= token;
}

static void raise_to_token(struct storage_state *state, const struct storage_member *member)
{
    struct storage_lock lock;
    storage_state_lock(state, member->resource, &lock);
    if (storage_state_counter(state, member->slot) < member->token)
        storage_state_put_counter(state, member->slot, member->token);
    if (lock.number < member->token) {
        lock.number = member->token;
        storage_state_put_lock(state, member->resource, &lock);
    }
}

/* All or none. */
static void confirm_locks(struct storage_state *state, const struct fence_request *request,
                          struct storage_answer *answer)
{
    struct storage_lock lock;
    answer->reply.kind = FENCE_REPLY_NO;
    for (unsigned k = 0; k < storage_request_count(request); k++) {
        const struct storage_member member = storage_request_member(request, k);
        storage_state_lock(state, member.resource, &lock);
        if (!agrees(&lock, request, member.token))
            return;
    }
    for (unsigned k = 0; k < storage_request_count(request); k++) {
        const struct storage_member member = storage_request_member(request, k);
        raise_to_token(state, &member);
    }
    answer->reply.kind = FENCE_REPLY_YES;
}

/* ---- giving up ------------------------------------------------------------------------------- */

static void drop_and_tell(struct storage_state *state, const char *resource, const char *lock_id)
{
    storage_state_drop_lock(state, resource);
    storage_state_notice(state, resource, lock_id);
}

static void release_lock(struct storage_state *state, const struct fence_request *request,
                         struct storage_answer *answer)
{
    struct storage_lock lock;
    storage_state_lock(state, request->resource, &lock);
    if (!storage_lock_is_ids(&lock, request)) {
        answer->reply.kind =
            storage_lock_is_tombstone(&lock) ? FENCE_REPLY_UNCOUNTED : FENCE_REPLY_NO;
        return;
    }
    drop_and_tell(state, request->resource, request->lock_id);
    answer->reply.kind = FENCE_REPLY_YES;
    answer->reply.adopted = lock.adopted || lock.extensions > 0 || lock.imported;
}

/* The clean-up of a failed attempt takes back that attempt only. */
static void undo_locks(struct storage_state *state, const struct fence_request *request,
                       struct storage_answer *answer)
{
    answer->reply.kind = FENCE_REPLY_NO;
    for (unsigned k = 0; k < storage_request_count(request); k++) {
        const struct storage_member member = storage_request_member(request, k);
        struct storage_lock lock;
        storage_state_lock(state, member.resource, &lock);
        if (!storage_lock_is_attempts(&lock, request))
            continue;
        drop_and_tell(state, member.resource, request->lock_id);
        answer->reply.kind = FENCE_REPLY_YES;
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static void inspect_row(struct storage_state *state, const struct fence_request *request,
                        struct storage_answer *answer)
{
    struct storage_lock lock;
    storage_state_lock(state, request->resource, &lock);
    if (lock.present)
        storage_lock_held(state, &lock, answer);
    else
        answer->reply.kind = FENCE_REPLY_NO;
}

void storage_locks_do(struct storage_state *state, const struct fence_request *request,
                      struct storage_answer *answer)
{
    answer->reply = (struct fence_reply){
        .kind = FENCE_REPLY_REFUSED,
        .tag = request->tag,
        .locks = storage_request_count(request),
    };
    answer->holder[0] = answer->owner[0] = '\0';
    switch (request->kind) {
    case FENCE_REQUEST_TAKE:
        storage_take(state, request, answer);
        break;
    case FENCE_REQUEST_CONFIRM:
        confirm_locks(state, request, answer);
        break;
    case FENCE_REQUEST_EXTEND:
    case FENCE_REQUEST_JOIN:
        storage_extend(state, request, answer);
        break;
    case FENCE_REQUEST_RELEASE:
        release_lock(state, request, answer);
        break;
    case FENCE_REQUEST_UNDO:
        undo_locks(state, request, answer);
        break;
    case FENCE_REQUEST_INSPECT:
        inspect_row(state, request, answer);
        break;
    case FENCE_REQUEST_COUNT:
        storage_count(state, request, answer);
        break;
    case FENCE_REQUEST_BREAK:
        storage_break(state, request, answer);
        break;
    }
}
