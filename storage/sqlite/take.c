#include "storage/sqlite/take.h"

#include "storage/sqlite/lock.h"

/* An idempotent retry: the client repeats an acquire with its own lock id. A lock under that id is
 * its lock, of any attempt. */
static bool is_found(const struct storage_lock *lock, const struct fence_request *request)
{
    return request->idempotent && storage_lock_is_ids(lock, request) &&
           !storage_lock_is_attempts(lock, request);
}

static bool is_in_the_way(const struct storage_lock *lock, const struct fence_request *request)
{
    return lock->present && !storage_lock_is_attempts(lock, request) && !is_found(lock, request);
}

static bool lock_anew(struct storage_state *state, const struct fence_request *request,
                      const struct storage_member *member, int64_t *ret_number)
{
    struct storage_lock lock = storage_lock_new(state, request);
    if (!storage_lock_count(state, member->slot, member->hint, &lock.number))
        return false;
    storage_state_put_lock(state, member->resource, &lock);
    *ret_number = lock.number;
    return true;
}

/* What was found grants no more than what is left of its lease. */
static void limit(const struct storage_state *state, const struct storage_lock *lock,
                  struct fence_reply *reply)
{
    uint64_t left_ms = lock->expires_ms - state->now_ms; /* at least 1 */
    if (reply->remaining_ms == 0 || reply->remaining_ms > left_ms)
        reply->remaining_ms = left_ms;
}

/* A lock that is there under the id. One that was imported is counted anew, and is this master's
 * from here on; its lease stays. One that a retry found is no attempt's to undo any more. */
static bool take_again(struct storage_state *state, const struct storage_member *member, bool found,
                       struct storage_lock *lock, struct fence_reply *reply, int64_t *ret_number)
{
    bool changes = lock->imported || (found && !lock->adopted);
    if (lock->imported || found)
        limit(state, lock, reply);
    if (lock->imported && !storage_lock_count(state, member->slot, 0, &lock->number))
        return false;
    lock->imported = false;
    lock->adopted = lock->adopted || found;
    if (changes)
        storage_state_put_lock(state, member->resource, lock);
    *ret_number = lock->number;
    return true;
}

/* False where the counter is used up: then nothing was done. */
static bool take_one(struct storage_state *state, const struct fence_request *request,
                     const struct storage_member *member, struct fence_reply *reply,
                     int64_t *ret_number)
{
    struct storage_lock lock;
    storage_state_lock(state, member->resource, &lock);
    bool found = is_found(&lock, request);
    reply->found = reply->found && found;
    return lock.present ? take_again(state, member, found, &lock, reply, ret_number)
                        : lock_anew(state, request, member, ret_number);
}

static bool stands_in_the_way(struct storage_state *state, const struct fence_request *request,
                              unsigned k, struct storage_answer *answer)
{
    const struct storage_member member = storage_request_member(request, k);
    struct storage_lock lock;
    storage_state_lock(state, member.resource, &lock);
    if (!is_in_the_way(&lock, request))
        return false;
    if (request->waits)
        storage_state_wait(state, member.resource, lock.expires_ms);
    storage_lock_held(state, &lock, answer);
    answer->reply.blocked = k;
    return true;
}

/* All or none, unless a counter is used up: what was taken before it stays. */
void storage_take(struct storage_state *state, const struct fence_request *request,
                  struct storage_answer *answer)
{
    const unsigned count = storage_request_count(request);
    struct fence_reply *reply = &answer->reply;
    for (unsigned k = 0; k < count; k++)
        if (stands_in_the_way(state, request, k, answer))
            return;
    reply->kind = FENCE_REPLY_NUMBER;
    reply->found = true;
    for (unsigned k = 0; k < count; k++) {
        const struct storage_member member = storage_request_member(request, k);
        int64_t *number = request->group ? &answer->numbers[k] : &reply->number;
        if (take_one(state, request, &member, reply, number))
            continue;
        reply->kind = FENCE_REPLY_SPENT;
        reply->blocked = k;
        reply->found = false;
        reply->remaining_ms = 0;
        return;
    }
    if (request->group) {
        reply->numbers = answer->numbers;
        reply->number = answer->numbers[0];
    }
}
