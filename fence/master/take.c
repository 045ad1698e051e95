#include "fence/master/take.h"

#include "fence/master/lock.h"
#include "fence/master/next.h"

#include <assert.h>

/* Reports whether @request is an idempotent retry: the client repeats an acquire with its own lock
 * id. A lock under that id is the client's lock, by any attempt. */
static bool is_found(const struct fence_stored_lock *lock, const struct fence_request *request)
{
    return request->idempotent && fence_stored_lock_is_ids(lock, request) &&
           !fence_stored_lock_is_attempts(lock, request);
}

/* Reports the same for a lock in its delay: the lease is over, so this is a new grant. */
static bool lease_is_over(const struct fence_turn *turn, const struct fence_stored_lock *lock,
                          const struct fence_request *request)
{
    return is_found(lock, request) && fence_stored_lock_lease_ms(turn, lock) == 0;
}

static bool is_in_the_way(const struct fence_stored_lock *lock, const struct fence_request *request)
{
    return lock->present && !fence_stored_lock_is_attempts(lock, request) &&
           !is_found(lock, request);
}

/* If the lock was there in its delay, no attempt may undo it: a clean-up must not free the name. */
static bool lock_anew(struct fence_turn *turn, const struct fence_request *request,
                      const struct fence_request_lock *member, bool was_there, int64_t *ret_number)
{
    struct fence_stored_lock lock = fence_stored_lock_new(turn, request);
    lock.adopted = was_there;
    if (!fence_master_next_number(turn, member->slot, member->hint, &lock.number))
        return false;
    turn->store->put_lock(turn->context, member->resource, &lock);
    *ret_number = lock.number;
    return true;
}

/* A lock that was found grants only the rest of its lease. */
static void limit(const struct fence_turn *turn, const struct fence_stored_lock *lock,
                  struct fence_reply *reply)
{
    uint64_t left_ms = fence_stored_lock_lease_ms(turn, lock);
    left_ms = left_ms > 0 ? left_ms : 1;
    if (reply->remaining_ms == 0 || reply->remaining_ms > left_ms)
        reply->remaining_ms = left_ms;
}

/* Takes a lock that is already there under the id. An imported lock is counted again, and belongs
 * to this master from here on; its lease stays. If a retry found the lock, no attempt may undo it
 * any more. */
static bool take_again(struct fence_turn *turn, const struct fence_request_lock *member, bool found,
                       struct fence_stored_lock *lock, struct fence_reply *reply,
                       int64_t *ret_number)
{
    assert(lock->present);
    bool changes = lock->imported || (found && !lock->adopted);
    if (lock->imported || found)
        limit(turn, lock, reply);
    if (lock->imported && !fence_master_next_number(turn, member->slot, 0, &lock->number))
        return false;
    lock->imported = false;
    lock->adopted = lock->adopted || found;
    if (changes)
        turn->store->put_lock(turn->context, member->resource, lock);
    *ret_number = lock->number;
    return true;
}

/* Returns false if the counter is used up; then nothing was done. */
static bool take_one(struct fence_turn *turn, const struct fence_request *request,
                     const struct fence_request_lock *member, struct fence_reply *reply,
                     int64_t *ret_number)
{
    struct fence_stored_lock lock;
    turn->store->lock(turn->context, member->resource, &lock);
    const bool anew = !lock.present || lease_is_over(turn, &lock, request);
    const bool found = !anew && is_found(&lock, request);
    reply->found = reply->found && found;
    return !anew ? take_again(turn, member, found, &lock, reply, ret_number)
                 : lock_anew(turn, request, member, lock.present, ret_number);
}

/* A waiter that arrives now gets the number of the current holder as its ticket. */
static int64_t ticket_of(const struct fence_request *request, const struct fence_stored_lock *lock)
{
    if (!fence_master_has_ticket(request))
        return 0;
    return request->take.ticket > 0 ? request->take.ticket : lock->number;
}

static bool stands_in_the_way(struct fence_turn *turn, const struct fence_request *request,
                              unsigned k, struct fence_master_answer *answer)
{
    const struct fence_request_lock member = fence_request_lock_at(request, k);
    struct fence_stored_lock lock;
    turn->store->lock(turn->context, member.resource, &lock);
    if (!lock.present && fence_master_has_ticket(request))
        return fence_master_kept_for_another(turn, request, answer);
    if (!is_in_the_way(&lock, request))
        return false;
    if (request->take.waits)
        turn->store->wait(turn->context, member.resource, lock.expires_ms,
                          ticket_of(request, &lock));
    fence_master_answer_held(turn, &lock, answer);
    answer->reply.blocked = k;
    return true;
}

/* Reports whether a held gate turns @request away: its lock id does not have the lock yet. */
static bool is_turned_away(struct fence_turn *turn, const struct fence_request *request,
                           struct fence_master_answer *answer)
{
    struct fence_stored_lock lock;
    assert(request->group && request->group->count == 2);
    turn->store->lock(turn->context, request->group->locks[0].resource, &lock);
    const bool own = fence_stored_lock_is_attempts(&lock, request) || is_found(&lock, request);
    return !own && stands_in_the_way(turn, request, 1, answer);
}

/* Takes all locks or none. Exception: if a counter is used up, the locks that were taken before it
 * stay. */
void fence_master_take(struct fence_turn *turn, const struct fence_request *request,
                       struct fence_master_answer *answer)
{
    assert(request->kind == FENCE_REQUEST_TAKE && (!request->group || answer->numbers));
    const unsigned count = fence_request_locks(request) - (request->take.gated ? 1 : 0);
    struct fence_reply *reply = &answer->reply;
    if (request->take.gated && is_turned_away(turn, request, answer))
        return;
    for (unsigned k = 0; k < count; k++)
        if (stands_in_the_way(turn, request, k, answer))
            return;
    reply->kind = FENCE_REPLY_NUMBER;
    reply->found = true;
    for (unsigned k = 0; k < count; k++) {
        const struct fence_request_lock member = fence_request_lock_at(request, k);
        int64_t *number = request->group ? &answer->numbers[k] : &reply->number;
        if (take_one(turn, request, &member, reply, number))
            continue;
        reply->kind = FENCE_REPLY_SPENT;
        reply->blocked = k;
        reply->found = false;
        reply->remaining_ms = 0;
        return;
    }
    if (request->take.gated)
        answer->numbers[1] = answer->numbers[0]; /* the reply has one number for each lock of a
                                                  * group */
    if (request->group) {
        reply->numbers = answer->numbers;
        reply->number = answer->numbers[0];
    }
}
