#include "fence/core/admit.h"

#include "fence/core/call_move.h"

#include <assert.h>

static enum fence_class class_of(const struct call *call)
{
    if (call->kind == FENCE_CALL_EXTEND || call->kind == FENCE_CALL_RELEASE)
        return FENCE_CLASS_HOLDER;
    return call->group != FENCE_NOBODY ? FENCE_CLASS_GROUP : FENCE_CLASS_SINGLE;
}

bool fence_core_has_room(const struct fence_core *core, enum fence_class class)
{
    return fence_fleet_owed(&core->fleet, class == FENCE_CLASS_GROUP) <
           core->admission.limit[class];
}

static bool is_next(const struct fence_core *core, enum fence_class class)
{
    return fence_admission_first(&core->admission, class) != FENCE_NOBODY &&
           fence_core_has_room(core, class);
}

bool fence_core_admit(struct fence_core *core, struct call *call)
{
    enum fence_class class = class_of(call);
    if (fence_admission_first(&core->admission, class) == FENCE_NOBODY &&
        fence_core_has_room(core, class))
        return true;
    fence_core_call_move(call, CALL_ADMITTING);
    fence_admission_join(&core->admission, class, fence_core_index(core, call));
    fence_core_wake_at(
        core, call, call->wait_until_us ? call->wait_until_us : core->now_us + FENCE_ADMISSION_US);
    return false;
}

void fence_core_admit_leave(struct fence_core *core, struct call *call)
{
    assert(call->state == CALL_ADMITTING);
    fence_admission_leave(&core->admission, class_of(call), fence_core_index(core, call));
}

bool fence_core_admit_due(const struct fence_core *core)
{
    for (unsigned class = 0; class < FENCE_CLASSES; class ++)
        if (is_next(core, class))
            return true;
    return false;
}

struct call *fence_core_admit_next(struct fence_core *core)
{
    unsigned class = 0;
    while (class < FENCE_CLASSES && !is_next(core, class))
        class ++;
    assert(class < FENCE_CLASSES);
    struct call *call = &core->calls[fence_admission_first(&core->admission, class)];
    fence_core_admit_leave(core, call);
    return call;
}
