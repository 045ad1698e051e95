/* Inspect: one round that asks all masters, then the answer. */
#ifndef FENCE_CALL_INSPECT_H
#define FENCE_CALL_INSPECT_H

#include "fence/call/rounds.h"

/* @call is admitted, and its round begins. */
void core_inspect_admitted(struct fence_core *core, struct call *call);

/* All masters are asked about the lock of @call, an inspection or a watch, in a round that begins
 * now. And what that round does where master @i refuses the view that it was named. */
void core_inspect_look(struct fence_core *core, struct call *call);
bool core_inspect_view_refused(struct fence_core *core, struct call *call, unsigned i);

/* The round that @call is in. */
extern const struct core_round_kind core_inspect_round;

#endif
