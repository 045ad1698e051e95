#include "fence/state/output.h"

#include "fence/base/set.h"
#include "fence/state/tag.h"

#include <assert.h>
#include <string.h>

void core_copy_text(char *to, size_t size, const char *from)
{
    assert(size > 0);
    size_t len = from ? strlen(from) : 0;
    assert(len < size);
    memcpy(to, from ? from : "", len + 1);
}

uint64_t core_random(struct fence_core *core)
{
    /* SplitMix64 (Steele, Lea, Flood 2014) over the random bits that came with the event. */
    uint64_t z = core->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

struct fence_effect *core_add_effect(struct fence_core *core, enum fence_effect_kind kind)
{
    assert(core->effects->count < FENCE_EFFECTS_MAX);
    struct fence_effect *effect = &core->effects->items[core->effects->count++];
    effect->kind = kind;
    effect->masters = 0;
    return effect;
}

uint32_t core_extensions_max(const struct fence_core *core)
{
    return core->fleet.extensions_max != 0 ? core->fleet.extensions_max : core->config.extensions;
}

void core_next_round(struct fence_core *core, struct call *call)
{
    call->round.serial = ++core->rounds;
}

void core_send(struct fence_core *core, uint32_t set, const struct fence_request *request)
{
    assert(set < fence_set_of(core->fleet.n));
    set &= fence_fleet_active(&core->fleet);
    if (set == 0)
        return;
    core_trace(core, &(struct fence_trace){.kind = FENCE_TRACE_SENT,
                                           .resource = request->resource,
                                           .request = request->kind,
                                           .masters = set});
    struct fence_effect *effect = core_add_effect(core, FENCE_EFFECT_SEND);
    effect->masters = set;
    effect->request = *request;
    for (unsigned i = 0; i < core->fleet.n; i++)
        if (fence_set_has(set, i))
            fence_fleet_sent(&core->fleet, i, request->group ? request->group->count : 1,
                             core->now_us);
}

void core_ask(struct fence_core *core, const struct call *call, uint32_t set,
              const struct fence_request *request)
{
    assert(call->round.serial != 0 && call->state != CALL_FREE);
    struct fence_request completed = *request;
    completed.tag = core_tag(call->round.serial, false, core_index(core, call));
    completed.resource = call->resource;
    completed.lock_id = call->lock_id;
    completed.owner = call->owner;
    completed.slot = call->slot;
    core_send(core, set, &completed);
}

struct fence_answer *core_answer(struct fence_core *core, const struct call *call, int error)
{
    struct fence_answer *answer = &core_add_effect(core, FENCE_EFFECT_ANSWER)->answer;
    *answer = (struct fence_answer){
        FENCE_ANSWER_TO(call, error),
        .lock_id = call->lock_id,
        .lease = {.ttl_ms = call->ttl_ms,
                  .delay_ms = call->delay_ms,
                  .ttl_max_ms = core->fleet.ttl_max_ms,
                  .extensions_left = -1},
        .served_us = core->now_us - call->arrived_us,
        .waited = call->waited,
        .total = core->fleet.n,
    };
    if (call->kind == FENCE_CALL_RELEASE)
        answer->release.keep_ms = call->keep_ms;
    return answer;
}
