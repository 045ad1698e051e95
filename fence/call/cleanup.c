#include "fence/call/cleanup.h"

#include "fence/state/output.h"
#include "fence/state/tag.h"

#include <assert.h>

static uint64_t cleanup_tag(const struct fence_core *core, uint32_t index)
{
    return core_tag(core->cleanups.cleanups[index].serial, true, index);
}

static uint32_t open_cleanup(struct fence_core *core, const struct fence_taken *taken,
                             const char *resource)
{
    struct core_cleanup owed = {
        .attempt = taken->attempt,
        .expires_us = core->now_us + taken->ttl_ms * UINT64_C(1000) + FENCE_CLEANUP_SLACK_US,
        .owed = taken->masters,
        .told = taken->masters & fence_fleet_active(&core->fleet),
        .generation = core->fleet.generation,
    };
    core_copy_text(owed.resource, sizeof(owed.resource), resource);
    core_copy_text(owed.lock_id, sizeof(owed.lock_id), taken->lock_id);
    return core_cleanups_open(&core->cleanups, &owed, core->now_us);
}

/* Returns the first. If the table is full, the clean-up is sent without being kept. */
static uint32_t open_cleanups(struct fence_core *core, const struct fence_taken *taken)
{
    if (!taken->group)
        return open_cleanup(core, taken, taken->resource);
    uint32_t first = open_cleanup(core, taken, taken->group->locks[0].resource);
    uint32_t last = first;
    for (unsigned k = 1; k < taken->group->count && last != CORE_NO_CLEANUP; k++) {
        uint32_t next = open_cleanup(core, taken, taken->group->locks[k].resource);
        if (next != CORE_NO_CLEANUP)
            core_cleanups_join(&core->cleanups, last, next);
        last = next;
    }
    return first;
}

void core_undo(struct fence_core *core, const struct fence_taken *taken)
{
    assert(taken->masters != 0);
    uint32_t first = open_cleanups(core, taken);
    struct fence_request request = {
        .kind = FENCE_REQUEST_UNDO,
        .tag = first != CORE_NO_CLEANUP ? cleanup_tag(core, first) : 0,
        .resource = taken->resource,
        .lock_id = taken->lock_id,
        .owner = "",
        .attempt = taken->attempt,
        .group = taken->group,
    };
    core_send(core, taken->masters, &request);
}

void core_undo_reply(struct fence_core *core, unsigned i, uint32_t index, uint64_t serial,
                     enum fence_reply_kind kind)
{
    assert(i < core->fleet.n);
    /* A refusal means that nothing was done. A lost reply may mean the same. */
    bool done = kind != FENCE_REPLY_LOST && kind != FENCE_REPLY_REFUSED &&
                kind != FENCE_REPLY_STALE && !fence_obstacles_has(kind);
    bool outdated = kind == FENCE_REPLY_STALE && index < core->cleanups.pool.capacity &&
                    core->cleanups.cleanups[index].generation != core->fleet.generation;
    if (!done)
        core_cleanups_lose(&core->cleanups, index, serial, i);
    if (outdated)
        core_cleanups_tell_again(&core->cleanups); /* under the view learnt from it */
    if (done)
        core_cleanups_settle(&core->cleanups, index, serial, i);
}

/* Sends clean-ups one by one, also if they were first sent as a group. */
void core_undo_again(struct fence_core *core)
{
    uint32_t set = 0;
    struct core_cleanup *cleanup =
        core_cleanups_next(&core->cleanups, fence_fleet_active(&core->fleet), core->now_us, &set);
    if (!cleanup)
        return;
    cleanup->generation = core->fleet.generation;
    struct fence_request request = {
        .kind = FENCE_REQUEST_UNDO,
        .tag = cleanup_tag(core, (uint32_t)(cleanup - core->cleanups.cleanups)),
        .resource = cleanup->resource,
        .lock_id = cleanup->lock_id,
        .owner = "",
        .attempt = cleanup->attempt,
    };
    core_send(core, set, &request);
}
