#include "fence/protocol/group.h"

#include <string.h>

bool fence_group_has(const struct fence_group *group, const char *resource)
{
    for (unsigned k = 0; k < group->count; k++)
        if (strcmp(group->locks[k].resource, resource) == 0)
            return true;
    return false;
}
