/* Breaking a grant: two rounds, then the answer. What they mean: fence/quorum/breaking.h. */
#ifndef FENCE_CORE_BREAKING_H
#define FENCE_CORE_BREAKING_H

#include "fence/core/state.h"

/* The new @call asks the masters, at once or when it is admitted. */
void core_break_begin(struct fence_core *core, struct call *call);

/* @call is admitted, and its first round begins. */
void core_break_admitted(struct fence_core *core, struct call *call);

/* Master @i replied; or the timer of @call is due. */
void core_break_reply(struct fence_core *core, struct call *call, unsigned i,
                      const struct fence_reply *reply);
void core_break_timer(struct fence_core *core, struct call *call);

#endif
