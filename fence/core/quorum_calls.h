/* Extend, release and inspect: one round, then the answer. */
#ifndef FENCE_CORE_QUORUM_CALLS_H
#define FENCE_CORE_QUORUM_CALLS_H

#include "fence/core/state.h"

/* The new @call asks the masters, at once or when it is admitted. */
void core_quorum_call_begin(struct fence_core *core, struct call *call);

/* @call is admitted, and its round begins. */
void core_quorum_call_admitted(struct fence_core *core, struct call *call);

/* Master @i replied; or the timer of @call is due. */
void core_quorum_call_reply(struct fence_core *core, struct call *call, unsigned i,
                            const struct fence_reply *reply);
void core_quorum_call_timer(struct fence_core *core, struct call *call);

#endif
