/* Acquires of several resources: the state that they need beyond an acquire of one. A group stands
 * in no wait queue: a call that is first in one queue and not in another would block free
 * resources. So two groups of this server may meet at the masters, like groups of two servers.
 * Random delays separate them. */
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
    uint64_t slots[CORE_GROUP_SLOT_WORDS]; /* a bit for each slot of its resources; some resources
                                            * share a slot */
    uint32_t call;                         /* the call that owns the group */
    uint32_t place;                        /* index in the list of groups in use */
    unsigned blocked;                      /* index of the last lock that blocked the group */
    struct core_holder_hint seen;          /* the holder of that lock */
    struct fence_counter_votes votes[FENCE_GROUP_MAX];
    struct fence_group group;
};

struct core_groups {
    struct core_group_call *calls;
    uint32_t *used; /* the indexes of the groups in use, in no order */
    uint32_t used_count;
    struct fence_pool pool;
};

/* Makes room for @capacity groups. FENCE_ENOMEM. */
FENCE_CHECKED int core_groups_init(struct core_groups *groups, uint32_t capacity);
void core_groups_fini(struct core_groups *groups);

bool core_groups_full(const struct core_groups *groups);

/* Reports whether there is room for one more group that waits. A part of the room is reserved for
 * groups that do not wait. Without it, waiting groups could fill the room for as long as a wait may
 * take. */
bool core_groups_let_wait(const struct core_groups *groups);

/* Opens a group, with a copy of @group, for the call at index @call. Returns the index of the
 * group. Precondition: there is room. */
uint32_t core_groups_open(struct core_groups *groups, const struct fence_group *group,
                          uint32_t call);

/* Reports whether @resource, whose slot is @slot, is a resource of @call. The slot alone rules out
 * most other resources. */
bool core_groups_has(const struct core_group_call *call, uint16_t slot, const char *resource);

void core_groups_close(struct core_groups *groups, uint32_t index);

#endif
