/* An extension that acquires the lock again, under its own lock id.
 *
 * After one of a lock's masters was replaced, the others may have given numbers above the token for
 * other resources of the slot. Then no master can join, and too few masters extend. The lock is
 * still there, so it is acquired as a retry of the client would: what is found counts, and what is
 * free is taken. If a majority has imported copies alone, only the copies are asked for. Then the
 * lock is extended. The token rises, since nothing proves that no other caller held the lock in
 * between: the answer is a new grant. */
#ifndef FENCE_CALL_REACQUIRE_H
#define FENCE_CALL_REACQUIRE_H

#include "fence/state/state.h"

/* The extension @call writes the lock with @owner and the delay in @owner. Masters that lack the
 * lock get the text that the other masters have. An extension by more than the fleet has room for
 * makes the delay shorter. */
void core_extend_as(const struct fence_core *core, struct call *call, const char *owner);

/* Reports whether the round of the extension @call, which came to no end, calls for that. */
bool core_reacquire_helps(const struct call *call);

/* The extension @call acquires again. */
void core_reacquire_begin(struct fence_core *core, struct call *call);

/* Acts on what is certain of the attempt. True: the lock is had again, and the round of @call
 * restarts, under its new token. */
bool core_reacquire_over(struct fence_core *core, struct call *call);

#endif
