#include "fence/state/groups.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int core_groups_init(struct core_groups *groups, uint32_t capacity)
{
    assert(capacity > 0);
    groups->calls = calloc(capacity, sizeof(*groups->calls));
    groups->used = calloc(capacity, sizeof(*groups->used));
    if (!fence_pool_init(&groups->pool, capacity) || !groups->calls || !groups->used) {
        core_groups_fini(groups);
        return FENCE_ENOMEM;
    }
    return 0;
}

void core_groups_fini(struct core_groups *groups)
{
    fence_pool_fini(&groups->pool);
    free(groups->calls);
    free(groups->used);
    *groups = (struct core_groups){0};
}

bool core_groups_full(const struct core_groups *groups)
{
    return fence_pool_full(&groups->pool);
}

bool core_groups_let_wait(const struct core_groups *groups)
{
    return groups->used_count <
           groups->pool.capacity - groups->pool.capacity / FENCE_GROUPS_KEPT_PART;
}

static bool has_slot(const struct core_group_call *call, uint16_t slot)
{
    unsigned bit = slot % CORE_GROUP_SLOT_BITS;
    return call->slots[bit / 64] >> (bit % 64) & 1;
}

static void note_slots(struct core_group_call *call)
{
    memset(call->slots, 0, sizeof(call->slots));
    for (unsigned k = 0; k < call->group.count; k++) {
        unsigned bit = call->group.locks[k].slot % CORE_GROUP_SLOT_BITS;
        call->slots[bit / 64] |= UINT64_C(1) << (bit % 64);
    }
}

bool core_groups_has(const struct core_group_call *call, uint16_t slot, const char *resource)
{
    return has_slot(call, slot) && fence_group_has(&call->group, resource);
}

uint32_t core_groups_open(struct core_groups *groups, const struct fence_group *group,
                          uint32_t call)
{
    assert(!core_groups_full(groups));
    assert(group->count >= 1 && group->count <= FENCE_GROUP_MAX);
    uint32_t index = fence_pool_take(&groups->pool);
    struct core_group_call *opened = &groups->calls[index];
    opened->call = call;
    opened->place = groups->used_count;
    opened->blocked = 0;
    core_holder_hint_clear(&opened->seen);
    opened->group.count = group->count;
    memcpy(opened->group.locks, group->locks, group->count * sizeof(group->locks[0]));
    note_slots(opened);
    groups->used[groups->used_count++] = index;
    return index;
}

void core_groups_close(struct core_groups *groups, uint32_t index)
{
    assert(groups->used_count > 0);
    struct core_group_call *closed = &groups->calls[index];
    uint32_t last = groups->used[--groups->used_count];
    groups->used[closed->place] = last;
    groups->calls[last].place = closed->place;
    fence_pool_give(&groups->pool, index);
}
