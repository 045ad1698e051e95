/* Watch: an inspection that is answered once the lock is not as its client knows the lock.
 *
 * All watches of a name stand in one queue, and the first of the queue looks for all of them: one
 * look asks all masters once, however many calls watch. The first looks when the first watch
 * arrives and when a lease ends. The first looks, too, when this server grants, releases or breaks
 * the lock, or hears of a release. Other servers grant without a word. So the first looks again
 * FENCE_WATCH_US after the last look.
 *
 * A look counts for the calls that arrived before the look began. Each look compares the lock with
 * what the client knows, so no change is missed between two looks. */
#ifndef FENCE_CALL_WATCH_H
#define FENCE_CALL_WATCH_H

#include "fence/call/rounds.h"

/* The new @call joins the queue of its name; the first of a queue looks at once. */
void core_watch_begin(struct fence_core *core, struct call *call, const struct fence_call *asked);

/* @call is admitted, and looks. */
void core_watch_admitted(struct fence_core *core, struct call *call);

/* The timer of @call is due, which is in no look. */
void core_watch_timer(struct fence_core *core, struct call *call);

/* The client of @call has left. */
void core_watch_abandon(struct fence_core *core, struct call *call);

/* This server changed the lock of @resource, or heard of a change: the watches of that name look
 * soon. */
void core_watch_changed(struct fence_core *core, const char *resource);

/* The look that @call is in. */
extern const struct core_round_kind core_watch_round;

#endif
