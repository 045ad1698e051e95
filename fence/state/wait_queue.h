/* Wait queues: one for each resource that calls of this server want to acquire. Only the first of a
 * queue asks the masters for that resource. The others stand behind it in the order of their ranks,
 * which rise with their arrival. A call whose place was kept has the rank of its first arrival
 * (fence/state/kept_places.h). A queue exists while a call stands in it, and keeps the hint that
 * its first learnt last. */
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
    uint32_t askers;      /* those in it that do not wait; the caller counts them */
    uint32_t own_ids;     /* and those with a lock id of the client's own */
    uint32_t seats;       /* the knowledge about the seats of @resource (fence/state/seats.h);
                           * FENCE_NOBODY:       it has none. The caller's */
    int64_t first_number; /* the first number of a holder that was learnt, ... */
    int64_t number;       /* ... and the highest; 0: none was. The caller's */
    struct core_holder_hint seen;
    char resource[FENCE_RESOURCE_MAX + 1];
};

struct core_wait_queues {
    uint32_t capacity;        /* number of places, and so of queues */
    uint64_t seed[2];         /* clients choose names */
    struct fence_pool pool;   /* of queues, */
    struct fence_table table; /* indexes them by their resources */
    struct core_wait_queue *queues;
    struct core_wait_place {
        uint32_t queue;
        uint32_t before;
        uint32_t after;
        uint64_t rank;
    } * places;
};

/* For callers numbered 0 .. @capacity - 1, a power of two. FENCE_ENOMEM. */
FENCE_CHECKED int core_wait_queues_init(struct core_wait_queues *queues, uint32_t capacity,
                                        uint64_t seed);
void core_wait_queues_fini(struct core_wait_queues *queues);

/* Call @who, who stands in no queue, joins that of @resource, behind all callers whose rank is no
 * higher than @rank. Returns that queue. O(1) for a rank that is the lowest or the highest; else as
 * far as the nearer end of the queue. */
struct core_wait_queue *core_wait_queues_join(struct core_wait_queues *queues, uint32_t who,
                                              const char *resource, uint64_t rank);

/* Call @who leaves its queue. Returns the new first call, or FENCE_NOBODY if @who was not first
 * or the queue is empty. */
uint32_t core_wait_queues_leave(struct core_wait_queues *queues, uint32_t who);

/* The call before @who, or FENCE_NOBODY if it is the first; and behind it, if it is the last. */
uint32_t core_wait_queues_before(const struct core_wait_queues *queues, uint32_t who);
uint32_t core_wait_queues_behind(const struct core_wait_queues *queues, uint32_t who);

/* The queue that @who stands in, and that of @resource; NULL if there is none. */
struct core_wait_queue *core_wait_queues_of(const struct core_wait_queues *queues, uint32_t who);
struct core_wait_queue *core_wait_queues_find(const struct core_wait_queues *queues,
                                              const char *resource);

#endif
