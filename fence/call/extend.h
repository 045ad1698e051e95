/* Extend: one round, then the answer. If too few masters have the lock to extend it, but some
 * do, the call acquires it again (fence/call/reacquire.h), and a round follows. */
#ifndef FENCE_CALL_EXTEND_H
#define FENCE_CALL_EXTEND_H

#include "fence/call/rounds.h"

/* @call is admitted, and its round begins. */
void core_extend_admitted(struct fence_core *core, struct call *call);

/* The round that @call is in; and its attempt, where it acquires again. */
extern const struct core_round_kind core_extend_round;
extern const struct core_round_kind core_reacquire_round;

#endif
