/* Where an acquire stands while others have the lock: in the line for its resource, or, if it wants
 * several, by itself. How long it pauses, and what wakes it. */
#ifndef FENCE_CORE_WAITING_H
#define FENCE_CORE_WAITING_H

#include "fence/core/state.h"

/* @call, new, goes to the end of the line for its resource, or stands by itself with @group. True
 * if it may try at once. */
bool fence_core_stand(struct fence_core *core, struct call *call, const struct fence_group *group);

/* @call has its answer. Whoever stood behind it is first now. */
void fence_core_leave(struct fence_core *core, struct call *call);

/* What was seen of its resource, or of the one that was in its way; and whether another than its
 * own lock id is known to hold it. */
struct fence_holder_hint *fence_core_hint(const struct fence_core *core, const struct call *call);
bool fence_core_knows_held(const struct fence_core *core, const struct call *call);

/* Its own lock id is known to hold it: the client asks again, and those before it wait for itself.
 */
bool fence_core_holds_itself(const struct fence_core *core, const struct call *call);

/* Whether others stand before @call in its line. It may ask while it holds the resource itself. */
bool fence_core_stands_behind(const struct fence_core *core, const struct call *call);

/* @call, the first of a line, learnt who holds the resource: that answers those behind it who only
 * ask, and who ask again for what they hold themselves. Those who ask came since the last time that
 * somebody learnt it, so they are at the end. */
void fence_core_answer_queue(struct fence_core *core, const struct call *call);

/* Until @due_us, or until its wait is over. */
void fence_core_pause_until(struct fence_core *core, struct call *call, uint64_t due_us);

/* A waiter looks soon when it has become the first, so that the masters know that somebody waits.
 * Then it is told when the lock is free; it looks at the end of the lease, and now and then, since
 * it may not have been told. At random, so that servers come apart. */
uint64_t fence_core_next_look_us(struct fence_core *core, struct call *call);

/* The holder with @lock_id gave up @resource. */
void fence_core_freed(struct fence_core *core, const char *resource, const char *lock_id);

#endif
