#include "server/loop/declined.h"

#include <assert.h>
#include <stdio.h>

void server_declined_note(struct server_declined *declined, const struct fence_answer *answer)
{
    assert(answer->kind == FENCE_CALL_ACQUIRE && !answer->error);
    (void)snprintf(declined->resource, sizeof(declined->resource), "%s", answer->resource);
    (void)snprintf(declined->lock_id, sizeof(declined->lock_id), "%s", answer->lock_id);
    if (answer->group)
        declined->group = *answer->group;
    declined->any = true;
    declined->taken = (struct fence_taken){
        .resource = declined->resource,
        .group = answer->group ? &declined->group : NULL,
        .lock_id = declined->lock_id,
        .attempt = answer->attempt,
        .ttl_ms = answer->ttl_ms + answer->delay_ms,
        .masters = answer->sent,
    };
}
