/* Extend, release and inspect: one round, then the answer. */
#ifndef FENCE_CORE_QUORUM_CALLS_H
#define FENCE_CORE_QUORUM_CALLS_H

#include "fence/core/rounds.h"

/* @call is admitted, and its round begins. */
void core_quorum_call_admitted(struct fence_core *core, struct call *call);

/* The round of an extension, the attempt of one that acquires again, and the round of a release or
 * an inspection, which keep to no view. */
extern const struct core_round_kind core_extend_round;
extern const struct core_round_kind core_reacquire_round;
extern const struct core_round_kind core_plain_round;

#endif
