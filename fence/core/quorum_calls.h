/* Extend, release and inspect: one round, then the answer. */
#ifndef FENCE_CORE_QUORUM_CALLS_H
#define FENCE_CORE_QUORUM_CALLS_H

#include "fence/core/state.h"

/* @call, new, asks at once, or when it may. */
void fence_core_quorum_call_begin(struct fence_core *core, struct call *call);

/* It may ask now. */
void fence_core_quorum_call_admitted(struct fence_core *core, struct call *call);

/* Master @i replied; its timer came. */
void fence_core_quorum_call_reply(struct fence_core *core, struct call *call, unsigned i,
                                  const struct fence_reply *reply);
void fence_core_quorum_call_timer(struct fence_core *core, struct call *call);

#endif
