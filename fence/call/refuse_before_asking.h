/* Calls that the core turns away at once, before they get a slot: too many calls or waiters, no
 * fleet yet, a lease that the fleet does not allow. A call that waits for masters is admission's
 * (fence/call/admit.h). */
#ifndef FENCE_CALL_REFUSE_BEFORE_ASKING_H
#define FENCE_CALL_REFUSE_BEFORE_ASKING_H

#include "fence/state/state.h"

/* Asserts what the caller of the core has checked: names, lock ids, bounds. */
void core_check_asked(const struct fence_call *call);

/* The error of a call that is turned away; 0: it gets a slot. */
FENCE_CHECKED int core_refusal(const struct fence_core *core, const struct fence_call *call);

/* Answers @call with @error. It has no slot: the strings of the answer are the event's own. */
void core_refuse(struct fence_core *core, const struct fence_call *call, int error);

#endif
