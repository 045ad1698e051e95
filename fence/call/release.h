/* Release: one round, then the answer. */
#ifndef FENCE_CALL_RELEASE_H
#define FENCE_CALL_RELEASE_H

#include "fence/call/rounds.h"

/* @call is admitted, and its round begins. */
void core_release_admitted(struct fence_core *core, struct call *call);

/* The round that @call is in. */
extern const struct core_round_kind core_release_round;

#endif
