#include "storage/sqlite/breaking.h"

#include "storage/sqlite/lock.h"

void storage_break_tell(struct storage_state *state, const struct fence_request *request,
                        struct storage_answer *answer)
{
    char by[FENCE_OWNER_MAX + 1];
    if (answer->reply.kind == FENCE_REPLY_YES || answer->reply.kind == FENCE_REPLY_NO)
        return;
    int64_t token = storage_state_broken(state, request->resource, request->lock_id, by);
    if (token == 0 || token < request->token)
        return;
    answer->reply.kind = FENCE_REPLY_BROKEN;
    storage_state_copy(answer->owner, sizeof(answer->owner), by);
}

static void note_broken(struct storage_state *state, const struct fence_request *request)
{
    char by[FENCE_OWNER_MAX + 1];
    if (storage_state_broken(state, request->resource, request->lock_id, by) <= request->token)
        storage_state_put_broken(state, request, state->now_ms + request->ttl_ms);
}

/* Above the token no extension joins, and the next number is higher. A higher number of the lock id
 * is of a later grant. Where another lock id has a number that is not above the token, the server
 * may have taken the wrong one for the holder. Both are told, and stay. So does a tombstone: nobody
 * extends it. */
void storage_break(struct storage_state *state, const struct fence_request *request,
                   struct storage_answer *answer)
{
    struct storage_lock lock;
    storage_state_lock(state, request->resource, &lock);
    bool is_own = storage_lock_is_ids(&lock, request);
    bool is_later = lock.number > request->token;
    answer->reply.kind = FENCE_REPLY_SPENT;
    if (request->token >= FENCE_TOKEN_MAX)
        return;
    if (storage_state_counter(state, request->slot) <= request->token)
        storage_state_put_counter(state, request->slot, request->token + 1);
    note_broken(state, request);
    answer->reply.kind = FENCE_REPLY_YES;
    if (!lock.present || storage_lock_is_tombstone(&lock))
        return;
    if (is_own == is_later) {
        storage_lock_held(state, &lock, answer);
    } else if (is_own) {
        storage_state_drop_lock(state, request->resource);
        storage_state_notice(state, request->resource, request->lock_id);
    }
}
