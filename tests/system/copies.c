#include "tests/system/copies.h"

#include "fence/base/set.h"
#include "fence/protocol/name.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/fleet.h"

#include <string.h>

enum {
    COPIES_WAIT_MS = 3000,
};

uint32_t copies_at(const char *resource)
{
    uint32_t set = 0;
    for (unsigned i = 0; i < fleet->n; i++)
        if (fleet->master[i].process &&
            redis_fleet_integer(fleet, i, "EXISTS pawl:lock:%s", resource) == 1)
            set |= fence_set_of(i);
    return set;
}

uint32_t copies_ring(const char *resource, unsigned count)
{
    uint32_t set = 0;
    const unsigned from = fence_slot(resource, strlen(resource));
    for (unsigned k = 0; k < count; k++)
        set |= fence_set_of((from + k) % fleet->n);
    return set;
}

unsigned copies_master(const char *resource, unsigned k)
{
    const uint32_t set = copies_at(resource);
    for (unsigned i = 0; i < fleet->n; i++)
        if (fence_set_has(set, i) && k-- == 0)
            return i;
    fail_msg("%s is on the masters of the set %x only", resource, (unsigned)set);
    return 0;
}

struct wanted {
    const char *resource;
    unsigned least;
    unsigned most;
};

static bool is_as_wanted(void *arg)
{
    const struct wanted *wanted = arg;
    const unsigned count = fence_set_count(copies_at(wanted->resource));
    return count >= wanted->least && count <= wanted->most;
}

void copies_wait(const char *resource, unsigned least, unsigned most)
{
    struct wanted wanted = {resource, least, most};
    if (!wait_until(is_as_wanted, &wanted, COPIES_WAIT_MS))
        fail_msg("%s is on the masters of the set %x, not on %u to %u", resource,
                 (unsigned)copies_at(resource), least, most);
}
