/* Breaking a grant: two rounds, then the answer. The meanings are in fence/round/breaking.h. */
#ifndef FENCE_CALL_BREAK_H
#define FENCE_CALL_BREAK_H

#include "fence/call/rounds.h"

/* @call is admitted, and its first round begins. */
void core_break_admitted(struct fence_core *core, struct call *call);

/* The round that @call is in. */
extern const struct core_round_kind core_break_round;

#endif
