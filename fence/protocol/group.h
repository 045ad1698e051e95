/* A group: several resources that one call acquires together, all or none. The locks of a group
 * share one lock id and one attempt. Each lock has its own token. */
#ifndef FENCE_PROTOCOL_GROUP_H
#define FENCE_PROTOCOL_GROUP_H

#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct fence_group {
    unsigned count; /* FENCE_GROUP_MIN .. FENCE_GROUP_MAX */
    struct fence_group_lock {
        int64_t token;                         /* 0 until the token is fixed */
        int64_t hint;                          /* see fence_request; 0: none */
        uint16_t slot;                         /* the counter of the resource */
        char resource[FENCE_RESOURCE_MAX + 1]; /* no two locks have the same */
    } locks[FENCE_GROUP_MAX];
};

/* Reports whether @resource belongs to @group. */
bool fence_group_has(const struct fence_group *group, const char *resource);

#endif
