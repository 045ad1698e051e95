/* Inspect: one round that asks all masters, then the answer. */
#ifndef FENCE_CALL_INSPECT_H
#define FENCE_CALL_INSPECT_H

#include "fence/call/rounds.h"

/* @call is admitted, and its round begins. */
void core_inspect_admitted(struct fence_core *core, struct call *call);

/* The round that @call is in. */
extern const struct core_round_kind core_inspect_round;

#endif
