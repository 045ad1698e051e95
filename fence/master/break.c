#include "fence/master/break.h"

#include "fence/master/lock.h"
#include "fence/master/next.h"

#include <assert.h>

void fence_master_tell_broken(struct fence_turn *turn, const struct fence_request *request,
                              struct fence_master_answer *answer)
{
    assert(request->kind == FENCE_REQUEST_EXTEND || request->kind == FENCE_REQUEST_JOIN);
    char by[FENCE_OWNER_MAX + 1];
    if (answer->reply.kind == FENCE_REPLY_YES || answer->reply.kind == FENCE_REPLY_NO)
        return;
    int64_t token = turn->store->broken(turn->context, request->resource, request->lock_id, by);
    if (token == 0 || token < request->token)
        return;
    answer->reply.kind = FENCE_REPLY_BROKEN;
    fence_stored_copy(answer->owner, sizeof(answer->owner), by);
}

static void note_broken(struct fence_turn *turn, const struct fence_request *request)
{
    char by[FENCE_OWNER_MAX + 1];
    if (turn->store->broken(turn->context, request->resource, request->lock_id, by) <=
        request->token)
        turn->store->put_broken(turn->context, request, turn->now_ms + request->ttl_ms);
}

/* Raises the counter above the token, so that no extension joins and the next number is higher. If
 * the lock id has a higher number, that number is of a later grant. If another lock id has a number
 * that is not above the token, the server may have taken the wrong lock id for the holder. In both
 * cases the reply reports the lock, and the lock stays. A tombstone stays, too: no holder extends
 * it. */
void fence_master_break(struct fence_turn *turn, const struct fence_request *request,
                        struct fence_master_answer *answer)
{
    assert(request->kind == FENCE_REQUEST_BREAK);
    struct fence_stored_lock lock;
    turn->store->lock(turn->context, request->resource, &lock);
    bool is_own = fence_stored_lock_is_ids(&lock, request);
    bool is_later = lock.number > request->token;
    const int64_t counter = turn->store->counter(turn->context, request->slot);
    answer->reply.kind = FENCE_REPLY_SPENT;
    if (request->token >= FENCE_TOKEN_MAX)
        return;
    if (counter <= request->token)
        turn->store->put_counter(turn->context, request->slot, request->token + 1);
    note_broken(turn, request);
    answer->reply.kind = FENCE_REPLY_YES;
    if (!lock.present || fence_stored_lock_is_tombstone(&lock))
        return;
    if (is_own == is_later) {
        fence_master_answer_held(turn, &lock, answer);
    } else if (is_own) {
        turn->store->drop_lock(turn->context, request->resource);
        fence_master_freed(turn, request->resource, request->lock_id);
    }
}
