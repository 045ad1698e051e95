/* Which waiter of all servers takes a free lock first.
 *
 * Each waiter has a ticket: the highest number of a holder that its server knew of as the waiter
 * came. Numbers rise with each grant. So a waiter that came before another one by more than a grant
 * has the lower ticket, also at another server. The first waiter of each server tells its ticket
 * when it finds the lock held, and a master keeps the lowest. When the lock is released, the master
 * keeps the free lock for that ticket for FENCE_NEXT_MS. A waiter with a higher ticket, or without
 * one, finds the lock held by no holder for the rest of that time. A waiter with that ticket or a
 * lower one takes the lock, and ends the time.
 *
 * This is about order alone. A master that forgets tickets, or believes wrong ones, grants no lock
 * twice. A waiter that is gone keeps a lock from others for FENCE_NEXT_MS, once. A call that does
 * not wait, an acquire of several, and one of any of several seats have no ticket, and are not held
 * back. (A waiter for a seat may be served by another seat, and its ticket would stay at this one.)
 */
#ifndef FENCE_MASTER_NEXT_H
#define FENCE_MASTER_NEXT_H

#include "fence/master/answer.h"
#include "fence/master/store.h"

/* The lock of @resource was released, deleted or broken, under @lock_id: tells who waits. */
void fence_master_freed(struct fence_turn *turn, const char *resource, const char *lock_id);

/* Reports whether @request is a TAKE that has a ticket, or gets one. */
bool fence_master_has_ticket(const struct fence_request *request);

/* Reports whether the free lock that @request, which has a ticket, wants is kept for another
 * waiter. Then @answer is the reply. If not, the lock is kept for no waiter any more. */
bool fence_master_kept_for_another(struct fence_turn *turn, const struct fence_request *request,
                                   struct fence_master_answer *answer);

#endif
