#include "server/loop/undelivered_grant.h"

#include <assert.h>
#include <stdio.h>

void server_declined_note(struct server_declined *declined, const struct fence_answer *answer)
{
    assert(answer->kind == FENCE_CALL_ACQUIRE && !answer->error);
    (void)snprintf(declined->resource, sizeof(declined->resource), "%s", answer->resource);
    (void)snprintf(declined->lock_id, sizeof(declined->lock_id), "%s", answer->lock_id);
    if (answer->acquire.group)
        declined->group = *answer->acquire.group;
    declined->any = true;
    declined->taken = (struct fence_taken){
        .resource = declined->resource,
        .group = answer->acquire.group ? &declined->group : NULL,
        .lock_id = declined->lock_id,
        .attempt = answer->acquire.attempt,
        .ttl_ms = answer->lease.ttl_ms + answer->lease.delay_ms,
        .masters = answer->acquire.sent,
    };
}
