/* Acquires that wait. An acquire of one resource stands in the wait queue of that resource. An
 * acquire of several stands alone. This file says how long each pauses and what wakes it. */
#ifndef FENCE_CALL_WAITING_H
#define FENCE_CALL_WAITING_H

#include "fence/state/state.h"

/* The new @call, for @asked, joins the queue of its resource: at the end, or at the place that is
 * kept for its lock id. An acquire of several stands alone. True if it may try at once. A call that
 * was the first before it goes on with an attempt under way, and then stands behind it. */
bool core_stand(struct fence_core *core, struct call *call, const struct fence_call *asked);

/* @call has its answer and leaves its queue, @granted its lock or not. The next call in it is first
 * now. */
void core_leave(struct fence_core *core, struct call *call, bool granted);

/* @call, the first of its queue or not, leaves it for another one, or for none. It stays among the
 * calls that wait, and its slot is its own. */
void core_step_out(struct fence_core *core, struct call *call);

/* The hint for the resource of @call; of several, for the one that was in the way last; of seats,
 * for the one that it asks for. And whether another lock id is known to hold it; of seats, whether
 * others hold all. */
struct core_holder_hint *core_hint(const struct fence_core *core, const struct call *call);
bool core_knows_held(const struct fence_core *core, const struct call *call);

/* The hint for the lock whose lease ends first, among the locks that suit @call. */
const struct core_holder_hint *core_first_to_end(const struct fence_core *core,
                                                 const struct call *call);

/* Reports whether @call's own lock id is known to hold it. The client repeats its request then, and
 * the calls before it in the queue wait for this very holder. */
bool core_holds_itself(const struct fence_core *core, const struct call *call);

/* Reports whether other calls stand before @call in its queue; of seats, before it for each seat.
 */
bool core_stands_behind(const struct fence_core *core, const struct call *call);

/* @call, the first of its queue, learnt who holds the resource. That answers the calls behind it
 * that do not wait, and wakes repeated requests of the holder itself. Both came after the last such
 * answer, so they are at the end of the queue. */
void core_answer_queue(struct fence_core *core, const struct call *call);

/* Wakes readers that stand behind the first of the queue of @call, as many as there are seats for
 * besides. */
void core_wake_readers(struct fence_core *core, const struct call *call);

/* @call, an acquire, waits from now on, if it did not before. */
void core_waits(const struct fence_core *core, struct call *call);

/* @call pauses until @due_us, or until its wait is over. */
void core_pause_until(struct fence_core *core, struct call *call, uint64_t due_us);

/* When the first of a queue asks the masters next. A new first asks soon, so that the masters know
 * that somebody waits. Later it is told of a release. It also asks at the end of the lease, and now
 * and then, since that message may be lost. Random delays keep servers apart. */
uint64_t core_next_look_us(struct fence_core *core, struct call *call);

/* The ticket of @call among the waiters of all servers (fence/master/next.h); 0: it has none yet;
 * FENCE_TICKET_NONE: it wants several resources, or one of several seats. */
int64_t core_ticket(const struct fence_core *core, const struct call *call);

/* @call learnt that a holder of its resource has @number. */
void core_learn_number(struct fence_core *core, const struct call *call, int64_t number);

/* A server of the fleet tells of a waiter that left. */
void core_place_told(struct fence_core *core, const struct fence_place *told);

/* The holder with @lock_id released @resource. */
void core_released(struct fence_core *core, const char *resource, const char *lock_id);

#endif
