/* Wait queues: one for each resource that calls of this server want to acquire. Only the first call
 * of a queue asks the masters for that resource. The other calls stand behind it in the order of
 * their ranks, which rise with their arrival. A call whose place was kept has the rank of its first
 * arrival (fence/state/kept_places.h). A queue exists while a call stands in it. It keeps the last
 * hint that its first call learnt. */
#ifndef FENCE_STATE_WAIT_QUEUE_H
#define FENCE_STATE_WAIT_QUEUE_H

#include "fence/base/pool.h"
#include "fence/base/table.h"
#include "fence/protocol/error.h"
#include "fence/state/holder_hint.h"

#include <stdint.h>

struct core_wait_queue {
    uint32_t first;
    uint32_t last;
    uint32_t length;
    uint32_t askers;      /* calls in the queue that do not wait; the caller counts them */
    uint32_t own_ids;     /* calls in the queue with a client's own lock id; the caller counts
                           * them */
    uint32_t seats;       /* index of the facts about the seats of @resource
                           * (fence/state/seats.h); FENCE_NOBODY: there are none. Set by the
                           * caller */
    int64_t first_number; /* the first number of a holder that the caller learnt; 0: none */
    int64_t number;       /* the highest number of a holder that the caller learnt; 0: none */
    struct core_holder_hint seen;
    char resource[FENCE_RESOURCE_MAX + 1];
};

struct core_wait_queues {
    uint32_t capacity;        /* number of places, and so of queues */
    uint64_t seed[2];         /* clients choose names, so the hash is keyed */
    struct fence_pool pool;   /* of @queues */
    struct fence_table table; /* indexes @queues by resource */
    struct core_wait_queue *queues;
    struct core_wait_place {
        uint32_t queue;
        uint32_t before;
        uint32_t after;
        uint64_t rank;
    } * places;
};

/* Makes queues for callers numbered 0 .. @capacity - 1. Precondition: @capacity is a power of two.
 * FENCE_ENOMEM. */
FENCE_CHECKED int core_wait_queues_init(struct core_wait_queues *queues, uint32_t capacity,
                                        uint64_t seed);
void core_wait_queues_fini(struct core_wait_queues *queues);

/* Adds call @who, which stands in no queue, to the queue of @resource: behind all calls whose rank
 * is at most @rank. Returns that queue. O(1) for the lowest or the highest rank; otherwise the
 * search begins at the nearer end of the queue. */
struct core_wait_queue *core_wait_queues_join(struct core_wait_queues *queues, uint32_t who,
                                              const char *resource, uint64_t rank);

/* Removes call @who from its queue. Returns the new first call; FENCE_NOBODY if @who was not first
 * or the queue is empty. */
uint32_t core_wait_queues_leave(struct core_wait_queues *queues, uint32_t who);

/* Return the call before @who, and the call behind @who; FENCE_NOBODY: there is none. */
uint32_t core_wait_queues_before(const struct core_wait_queues *queues, uint32_t who);
uint32_t core_wait_queues_behind(const struct core_wait_queues *queues, uint32_t who);

/* Return the queue of call @who, and the queue of @resource; NULL: there is none. */
struct core_wait_queue *core_wait_queues_of(const struct core_wait_queues *queues, uint32_t who);
struct core_wait_queue *core_wait_queues_find(const struct core_wait_queues *queues,
                                              const char *resource);

#endif
