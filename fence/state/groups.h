/* Acquires of several resources: what they need beyond an acquire of one. They stand in no wait
 * queue. A call that is first in one queue and not in another would keep others from what is free.
 * So two of this server's groups may meet at the masters, like those of two servers. Random delays
 * keep them apart. */
#ifndef FENCE_STATE_GROUPS_H
#define FENCE_STATE_GROUPS_H

#include "fence/base/pool.h"
#include "fence/protocol/error.h"
#include "fence/round/attempt.h"
#include "fence/state/holder_hint.h"

enum {
    CORE_GROUP_SLOT_BITS = 1024,
    CORE_GROUP_SLOT_WORDS = CORE_GROUP_SLOT_BITS / 64,
};

struct core_group_call {
    uint64_t
        slots[CORE_GROUP_SLOT_WORDS]; /* a bit for each slot of its resources, some share one */
    uint32_t call;                    /* its owner */
    uint32_t place;                   /* in the list of those in use */
    unsigned blocked;                 /* the index of the lock that was in the way last */
    struct core_holder_hint seen;     /* the holder of that lock */
    struct fence_counter_votes votes[FENCE_GROUP_MAX];
    struct fence_group group;
};

struct core_groups {
    struct core_group_call *calls;
    uint32_t *used; /* the indexes of those in use, in no order */
    uint32_t used_count;
    struct fence_pool pool;
};

/* Room for @capacity of them. FENCE_ENOMEM. */
FENCE_CHECKED int core_groups_init(struct core_groups *groups, uint32_t capacity);
void core_groups_fini(struct core_groups *groups);

bool core_groups_full(const struct core_groups *groups);

/* Reports whether one more that waits may come. A part of the room is kept for groups that do not
 * wait. Else groups that wait could fill it for as long as a wait may take. */
bool core_groups_let_wait(const struct core_groups *groups);

/* A fresh one, with a copy of @group, for the call at index @call; there is room. Returns its
 * index. */
uint32_t core_groups_open(struct core_groups *groups, const struct fence_group *group,
                          uint32_t call);

/* Reports whether @resource, whose slot is @slot, is one of those of @call. Most that are not are
 * told apart by their slot. */
bool core_groups_has(const struct core_group_call *call, uint16_t slot, const char *resource);

void core_groups_close(struct core_groups *groups, uint32_t index);

#endif
