/* Calls under way: each has a slot from when it comes until it has its answer. */
#ifndef FENCE_CALL_CALLS_H
#define FENCE_CALL_CALLS_H

#include "fence/state/state.h"

/* A slot for @asked, of which one is free: not begun yet. */
struct call *core_open(struct fence_core *core, const struct fence_call *asked);

/* Answers went out: the slot is free. Its strings stay for the rest of the step. */
void core_finish(struct fence_core *core, struct call *call);

#endif
