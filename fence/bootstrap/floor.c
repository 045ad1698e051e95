/* The token floor. */
#include "fence/bootstrap/survivors.h"

#include <assert.h>

bool fence_bootstrap_set_floor(struct fence_bootstrap *bootstrap, int64_t highest)
{
    assert((bootstrap->params.goes_on || bootstrap->params.closes) && highest >= 0);
    int64_t seen = bootstrap->params.seen;
    if (seen < highest)
        seen = highest;
    bootstrap->outcome.seen = seen;
    if (seen < 0 || seen > FENCE_FLOOR_SEEN_MAX)
        return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_FLOOR, 0);
    bootstrap->floor = seen + FENCE_FLOOR_MARGIN;
    return true;
}
