#include "fence/call/admit.h"

#include "fence/call/call_move.h"

#include <assert.h>

static enum core_class class_of(const struct call *call)
{
    if (call->kind == FENCE_CALL_EXTEND || call->kind == FENCE_CALL_RELEASE ||
        call->kind == FENCE_CALL_BREAK)
        return CORE_CLASS_HOLDER;
    return call->group != FENCE_NOBODY ? CORE_CLASS_GROUP : CORE_CLASS_SINGLE;
}

bool core_has_room(const struct fence_core *core, enum core_class class)
{
    return fence_fleet_owed(&core->fleet, class == CORE_CLASS_GROUP) < core->admission.limit[class];
}

static bool is_next(const struct fence_core *core, enum core_class class)
{
    return core_admission_first(&core->admission, class) != FENCE_NOBODY &&
           core_has_room(core, class);
}

bool core_admit(struct fence_core *core, struct call *call)
{
    assert(call->state != CALL_ADMITTING);
    enum core_class class = class_of(call);
    if (core_admission_first(&core->admission, class) == FENCE_NOBODY && core_has_room(core, class))
        return true;
    core_trace_call(core, FENCE_TRACE_ADMITTING, call, 0, 0);
    core_call_move(call, CALL_ADMITTING);
    core_admission_join(&core->admission, class, core_index(core, call));
    core_wake_at(core, call,
                 call->wait_until_us ? call->wait_until_us : core->now_us + FENCE_ADMISSION_US);
    return false;
}

void core_admit_leave(struct fence_core *core, struct call *call)
{
    assert(call->state == CALL_ADMITTING);
    core_admission_leave(&core->admission, class_of(call), core_index(core, call));
}

bool core_admit_due(const struct fence_core *core)
{
    for (unsigned class = 0; class < CORE_CLASSES; class ++)
        if (is_next(core, class))
            return true;
    return false;
}

struct call *core_admit_next(struct fence_core *core)
{
    unsigned class = 0;
    while (class < CORE_CLASSES && !is_next(core, class))
        class ++;
    assert(class < CORE_CLASSES);
    struct call *call = &core->calls[core_admission_first(&core->admission, class)];
    core_admit_leave(core, call);
    return call;
}
