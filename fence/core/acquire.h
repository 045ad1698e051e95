/* Acquire: through attempts and pauses, to a grant or a reason. */
#ifndef FENCE_CORE_ACQUIRE_H
#define FENCE_CORE_ACQUIRE_H

#include "fence/core/state.h"

/* @call, new, stands in line or asks at once. @group is the event's, NULL for one resource. */
void fence_core_acquire_begin(struct fence_core *core, struct call *call,
                              const struct fence_group *group);

/* It may ask now: the next attempt begins. */
void fence_core_acquire_admitted(struct fence_core *core, struct call *call);

/* Master @i replied to the attempt; its timer came; its client has gone. */
void fence_core_acquire_reply(struct fence_core *core, struct call *call, unsigned i,
                              const struct fence_reply *reply);
void fence_core_acquire_timer(struct fence_core *core, struct call *call);
void fence_core_acquire_abandon(struct fence_core *core, struct call *call);

#endif
