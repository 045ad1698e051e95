/* A group: several resources that are acquired together, all or none. They have one lock id and one
 * attempt, and each has its own token. */
#ifndef FENCE_PROTOCOL_GROUP_H
#define FENCE_PROTOCOL_GROUP_H

#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct fence_group {
    unsigned count; /* FENCE_GROUP_MIN .. FENCE_GROUP_MAX */
    struct fence_group_lock {
        int64_t token;                         /* once it is fixed; 0 before */
        int64_t hint;                          /* see fence_request; 0: none */
        uint16_t slot;                         /* the counter of the resource */
        char resource[FENCE_RESOURCE_MAX + 1]; /* each another */
    } locks[FENCE_GROUP_MAX];
};

/* Reports whether @resource is one of @group's. */
bool fence_group_has(const struct fence_group *group, const char *resource);

#endif
