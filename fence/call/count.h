/* Calls about named counters. Those of this server about one counter stand in a queue. The first of
 * it asks the masters, for itself and for all behind it: one round counts for up to
 * FENCE_COUNT_CALLS_MAX of them, and each gets a part of the values. So they never cross each
 * other. Calls of other servers may cross them (fence/round/counter_call.h). */
#ifndef FENCE_CALL_COUNT_H
#define FENCE_CALL_COUNT_H

#include "fence/call/rounds.h"

/* The new @call stands in the queue of its counter, and asks if it is the first. */
void core_count_begin(struct fence_core *core, struct call *call, const struct fence_call *asked);

/* @call, the first of its queue, is admitted, and its round begins. */
void core_count_admitted(struct fence_core *core, struct call *call);

/* The round that @call is in. */
extern const struct core_round_kind core_count_round;

/* The timer of @call, which is in no round, is due. */
void core_count_timer(struct fence_core *core, struct call *call);

#endif
