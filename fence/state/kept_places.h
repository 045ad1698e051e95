/* Places of waiters, by lock id. A waiter may leave the queue of its resource without a grant: its
 * wait ended, a proxy cut its connection, or too few masters answered. Its place, and its ticket
 * for other servers, are kept for FENCE_PLACE_KEPT_US. If a call with the same resource, lock id
 * and key arrives within that time, it gets the place of the waiter.
 *
 * The server sends the place to the other servers of its fleet, so the call may arrive at another
 * server. If the call arrives before the place does, it moves forward in the queue when the place
 * arrives.
 *
 * A kept place is a rank and not a member of a queue, so no call waits for an absent waiter. Places
 * and waiters have one common bound: beyond it, the place that was left first is dropped. A grant
 * ends a place: a caller that returns after a grant goes to the end.
 *
 * Resource, lock id and key are compared by their keyed hash, so an attacker cannot aim at a
 * collision. A collision would give a waiter another place in the queue, but no lock. */
#ifndef FENCE_STATE_KEPT_PLACES_H
#define FENCE_STATE_KEPT_PLACES_H

#include "fence/base/pool.h"
#include "fence/base/table.h"
#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stdint.h>

struct core_kept_place {
    uint64_t lock;     /* hash of the resource and the lock id */
    uint64_t key;      /* hash of the id of the caller's key */
    uint64_t rank;     /* rank in the queue: a lower rank stands before a higher one */
    int64_t ticket;    /* ticket of the first waiter (fence/master/next.h); 0: it is not known */
    uint64_t until_us; /* if all its waiters are absent: when the place is dropped */
    uint32_t present;  /* waiters that stand in the queue */
    bool granted;      /* one of its waiters has a grant */
    uint32_t older;    /* the list of places with absent waiters, in the order in which the last
                        * waiter left */
    uint32_t newer;
};

struct core_kept_places {
    uint64_t seed; /* clients choose names and lock ids, so hashes are keyed */
    struct fence_pool pool;
    struct fence_table table; /* by @lock */
    struct core_kept_place *places;
    uint32_t oldest; /* the oldest of the places whose waiters are absent */
    uint32_t newest;
    uint32_t away;
};

/* The owner of a place: the strings of a call. */
struct core_place_owner {
    const char *resource;
    const char *lock_id;
    const char *owner; /* fence/protocol/owner.h; its key counts, its label does not */
};

/* Makes room for @capacity places, a power of two. FENCE_ENOMEM. */
FENCE_CHECKED int core_kept_places_init(struct core_kept_places *kept, uint32_t capacity,
                                        uint64_t seed);
void core_kept_places_fini(struct core_kept_places *kept);

/* Adds a waiter of @owner. Returns its place: the place that is kept for it, or a new one with
 * @rank. The waiter counts until core_kept_places_leave(). At most @away_max places with absent
 * waiters remain. Precondition: there is room for one more beside these places and the present
 * waiters. */
uint32_t core_kept_places_come(struct core_kept_places *kept, const struct core_place_owner *owner,
                               uint64_t rank, uint64_t now_us, uint32_t away_max);

static inline uint64_t core_kept_places_rank(const struct core_kept_places *kept, uint32_t place)
{
    return kept->places[place].rank;
}

/* Returns the ticket of @place; 0: none is known. If @place has no ticket yet, it gets @ticket. */
int64_t core_kept_places_ticket(struct core_kept_places *kept, uint32_t place, int64_t ticket);

/* Removes a waiter of @place, which leaves its queue with (@granted) or without its lock. Returns
 * true if the place is now kept for the waiter. */
bool core_kept_places_leave(struct core_kept_places *kept, uint32_t place, bool granted,
                            uint64_t now_us);

/* Another server reports that a waiter of @owner left, with @rank and @ticket: its place is kept
 * here, too. Returns the place if its waiter has already arrived here, else FENCE_NOBODY. A place
 * never moves back. @away_max is at least 1, and as for core_kept_places_come(). */
uint32_t core_kept_places_told(struct core_kept_places *kept, const struct core_place_owner *owner,
                               uint64_t rank, int64_t ticket, uint64_t now_us, uint32_t away_max);

/* The client of the latest grant had disconnected, so its lock, @lock_id of @resource, is undone.
 * @place, which its waiter left, is kept as if there had been no grant. */
void core_kept_places_declined(struct core_kept_places *kept, uint32_t place, const char *resource,
                               const char *lock_id);

/* Drops the places that were left first, until at most @away_max places have absent waiters. */
void core_kept_places_bound(struct core_kept_places *kept, uint32_t away_max);

#endif
