#include "fence/master/next.h"

#include <assert.h>
#include <string.h>

void fence_master_freed(struct fence_turn *turn, const char *resource, const char *lock_id)
{
    const int64_t ticket = turn->store->notify(turn->context, resource, lock_id);
    if (ticket > 0)
        turn->store->put_next(turn->context, resource, ticket, turn->now_ms + FENCE_NEXT_MS);
}

static int64_t latest_number(const struct fence_turn *turn, uint16_t slot)
{
    const int64_t counter = turn->store->counter(turn->context, slot);
    return counter > turn->marker.floor ? counter : turn->marker.floor;
}

bool fence_master_has_ticket(const struct fence_request *request)
{
    return request->take.waits && !request->group && request->take.ticket != FENCE_TICKET_NONE;
}

bool fence_master_kept_for_another(struct fence_turn *turn, const struct fence_request *request,
                                   struct fence_master_answer *answer)
{
    assert(request->kind == FENCE_REQUEST_TAKE && fence_master_has_ticket(request));
    uint64_t until_ms = 0;
    const int64_t next = turn->store->next(turn->context, request->resource, &until_ms);
    if (next == 0 || until_ms - turn->now_ms > FENCE_NEXT_MS) /* the clock was set back */
        return false;
    if (request->take.ticket > 0 && request->take.ticket <= next) {
        turn->store->put_next(turn->context, request->resource, 0, 0);
        return false;
    }
    const int64_t number = latest_number(turn, request->slot);
    turn->store->wait(turn->context, request->resource, until_ms,
                      request->take.ticket > 0 ? request->take.ticket : number);
    memcpy(answer->holder, FENCE_TOMBSTONE, sizeof(FENCE_TOMBSTONE));
    answer->owner[0] = '\0';
    answer->reply.kind = FENCE_REPLY_HELD;
    answer->reply.number = number;
    answer->reply.remaining_ms = until_ms - turn->now_ms;
    return true;
}
