/* Places of waiters, by lock id. A waiter may leave the queue of its resource without a grant: its
 * wait ended, a proxy cut its connection, or too few masters answered. Its place, and its ticket
 * for the other servers, are kept for FENCE_PLACE_KEPT_US. A call that comes within that time, for
 * the same resource, with the same lock id and the same key, stands where the waiter stood.
 *
 * The server tells the place to the other servers of its fleet, so the call may come to another
 * one. Its waiter may come there before the word does. Then it moves forward in the queue.
 *
 * A kept place is a rank and no member of a queue, so no call waits for a waiter that is away.
 * Places are bounded with the waiters: where both together exceed the bound, the place that was
 * left first is dropped. A grant ends a place: any caller that comes again after it goes to the
 * end.
 *
 * Resource, lock id and key are compared by their keyed hash, which no attacker can aim at. A
 * collision would give a waiter another place in the queue, and no lock. */
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
    uint64_t rank;     /* in the queue: a lower one stands before a higher one */
    int64_t ticket;    /* ticket of the first waiter (fence/master/next.h); 0: it is not known */
    uint64_t until_us; /* for a place whose waiters are all away: when it is dropped */
    uint32_t present;  /* waiters that stand in the queue */
    bool granted;      /* to one of them */
    uint32_t older;    /* places whose waiters are away, by when the last waiter left */
    uint32_t newer;
};

struct core_kept_places {
    uint64_t seed; /* clients choose names and lock ids */
    struct fence_pool pool;
    struct fence_table table; /* by @lock */
    struct core_kept_place *places;
    uint32_t oldest; /* among the places whose waiters are away */
    uint32_t newest;
    uint32_t away;
};

/* The place: the strings of a call. */
struct core_place_owner {
    const char *resource;
    const char *lock_id;
    const char *owner; /* fence/protocol/owner.h; its key counts, its label does not */
};

/* For @capacity places, a power of two. FENCE_ENOMEM. */
FENCE_CHECKED int core_kept_places_init(struct core_kept_places *kept, uint32_t capacity,
                                        uint64_t seed);
void core_kept_places_fini(struct core_kept_places *kept);

/* A waiter of @owner comes. Returns its place: the one that is kept for it, or else a new one with
 * @rank. The place has one waiter more until core_kept_places_leave(). At most @away_max places
 * whose waiters are away remain. Precondition: with these and the waiters that are present there is
 * room for one more. */
uint32_t core_kept_places_come(struct core_kept_places *kept, const struct core_place_owner *owner,
                               uint64_t rank, uint64_t now_us, uint32_t away_max);

static inline uint64_t core_kept_places_rank(const struct core_kept_places *kept, uint32_t place)
{
    return kept->places[place].rank;
}

/* The ticket that @place has; it gets @ticket if it has none. Returns it; 0: none is known. */
int64_t core_kept_places_ticket(struct core_kept_places *kept, uint32_t place, int64_t ticket);

/* A waiter of @place leaves its queue, @granted its lock or not. True: the place is kept for it
 * from now on. */
bool core_kept_places_leave(struct core_kept_places *kept, uint32_t place, bool granted,
                            uint64_t now_us);

/* Another server tells that a waiter of @owner left, with @rank and @ticket: its place is kept
 * here, too. Returns the place if its waiter has come here already, else FENCE_NOBODY. A place
 * never moves back. @away_max, at least 1, as for core_kept_places_come(). */
uint32_t core_kept_places_told(struct core_kept_places *kept, const struct core_place_owner *owner,
                               uint64_t rank, int64_t ticket, uint64_t now_us, uint32_t away_max);

/* The client of the latest grant had gone, and its lock, @lock_id of @resource, is undone.
 * @place, which its waiter left, is kept as if nothing had been granted. */
void core_kept_places_declined(struct core_kept_places *kept, uint32_t place, const char *resource,
                               const char *lock_id);

/* Drops the places that were left first, until the waiters of at most @away_max are away. */
void core_kept_places_bound(struct core_kept_places *kept, uint32_t away_max);

#endif
