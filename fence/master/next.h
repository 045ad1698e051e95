/* The order in which waiters of all servers take a free lock.
 *
 * Each waiter has a ticket: the highest number of a holder that its server knew when the waiter
 * arrived. Numbers rise with each grant. So if one waiter arrived before another by more than a
 * grant, it has the lower ticket, even at another server. The first waiter of each server sends its
 * ticket when it finds the lock held, and a master keeps the lowest ticket. When the lock is
 * released, the master keeps the free lock for that ticket for FENCE_NEXT_MS. During that time a
 * waiter with a higher ticket, or without one, finds the lock held by no holder. A waiter with that
 * ticket or a lower one takes the lock, and ends the time.
 *
 * Tickets affect the order only. A master that loses tickets, or believes wrong ones, grants no
 * lock twice. A waiter that has disconnected keeps a lock from other waiters for FENCE_NEXT_MS,
 * once. A call that does not wait, an acquire of several resources, and an acquire of any of
 * several seats have no ticket, and are not held back. (A waiter for a seat may be served by
 * another seat, and its ticket would stay at this one.) */
#ifndef FENCE_MASTER_NEXT_H
#define FENCE_MASTER_NEXT_H

#include "fence/master/answer.h"
#include "fence/master/store.h"

/* The lock of @resource under @lock_id was released, deleted or broken: notifies its waiters. */
void fence_master_freed(struct fence_turn *turn, const char *resource, const char *lock_id);

/* Reports whether @request is a TAKE that has a ticket, or gets one. */
bool fence_master_has_ticket(const struct fence_request *request);

/* Reports whether the free lock that @request wants is kept for another waiter; @answer is then the
 * reply. If not, the lock is no longer kept for any waiter. Precondition: @request has a ticket. */
bool fence_master_kept_for_another(struct fence_turn *turn, const struct fence_request *request,
                                   struct fence_master_answer *answer);

#endif
