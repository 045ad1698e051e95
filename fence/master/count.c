#include "fence/master/count.h"

#include "fence/base/minmax.h"

#include <assert.h>

/* A hint shows that another master has the counter. Then even a read creates the counter here, and
 * the bound on the number of names does not apply. */
void fence_master_count(struct fence_turn *turn, const struct fence_request *request,
                        struct fence_master_answer *answer)
{
    assert(request->kind == FENCE_REQUEST_COUNT);
    struct fence_reply *reply = &answer->reply;
    int64_t counter = turn->store->named(turn->context, request->resource);
    int64_t base =
        fence_max_signed(fence_max_signed(counter, turn->marker.floor), request->counter.hint);
    if (counter == 0 && request->counter.values == 0 && request->counter.hint == 0) {
        /* The name may have counted before the floor was set. */
        reply->kind = turn->marker.floor > 0 ? FENCE_REPLY_NUMBER : FENCE_REPLY_NO;
        reply->number = turn->marker.floor;
    } else if (counter == 0 && request->counter.hint == 0 &&
               turn->store->names(turn->context) >= request->counter.names_max) {
        reply->kind = FENCE_REPLY_FULL;
    } else if (base > FENCE_TOKEN_MAX - (int64_t)request->counter.values) {
        reply->kind = FENCE_REPLY_SPENT;
    } else {
        reply->kind = FENCE_REPLY_NUMBER;
        reply->number = base + request->counter.values;
        if (reply->number != counter)
            turn->store->put_named(turn->context, request->resource, reply->number);
    }
}
