#include "fence/call/client_left.h"

#include "fence/call/acquire.h"
#include "fence/call/cleanup.h"
#include "fence/call/seating.h"
#include "fence/call/waiting.h"
#include "fence/call/watch.h"
#include "fence/call/writer_gate.h"
#include "fence/protocol/seat.h"
#include "fence/state/clients.h"

#include <string.h>

void core_left(struct fence_core *core, uint64_t client)
{
    uint32_t index = core_clients_find(&core->clients, client);
    if (index == FENCE_NOBODY)
        return;
    struct call *call = &core->calls[index];
    if (call->kind == FENCE_CALL_WATCH)
        core_watch_abandon(core, call);
    else
        core_acquire_abandon(core, call);
}

void core_left_grant(struct fence_core *core, const struct fence_taken *declined)
{
    const struct fence_group *group = declined->group;
    char name[FENCE_RESOURCE_MAX + 1];
    core_undo(core, declined);
    core_queue_name(declined->resource, name);
    if (!group && core->granted_place != FENCE_NOBODY)
        core_kept_places_declined(&core->kept, core->granted_place, name, declined->lock_id);
    if (!group)
        core_released(core, declined->resource, declined->lock_id);
    if (group && fence_seat_read(group->locks[0].resource, strlen(group->locks[0].resource), NULL))
        core_gate_release(core, declined->resource, declined->lock_id);
    for (unsigned k = 0; group && k < group->count; k++)
        core_released(core, group->locks[k].resource, declined->lock_id);
}
