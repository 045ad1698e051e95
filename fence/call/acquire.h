/* Acquire: attempts and pauses, until a grant or an error. */
#ifndef FENCE_CALL_ACQUIRE_H
#define FENCE_CALL_ACQUIRE_H

#include "fence/call/rounds.h"

/* The new @call joins its wait queue, or tries at once. @asked is the event's. */
void core_acquire_begin(struct fence_core *core, struct call *call, const struct fence_call *asked);

/* @call is admitted, and its next attempt begins. */
void core_acquire_admitted(struct fence_core *core, struct call *call);

/* The round of an attempt; and that of a survey before it. */
extern const struct core_round_kind core_acquire_round;
extern const struct core_round_kind core_acquire_survey;

/* In this order: the timer of @call, which is in no round, is due; its client has gone. */
void core_acquire_timer(struct fence_core *core, struct call *call);
void core_acquire_abandon(struct fence_core *core, struct call *call);

#endif
