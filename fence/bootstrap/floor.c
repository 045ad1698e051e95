/* The token floor. */
#include "fence/bootstrap/survivors.h"

#include <assert.h>

/* The fleet that is followed was surveyed while it granted nothing, and a majority of it remembered
 * all its tokens. So the margin is for tokens that only an operator's number may miss. */
static bool needs_margin(const struct fence_bootstrap_params *params)
{
    return params->is_known || !(params->closes || params->from[0] != '\0');
}

bool fence_bootstrap_set_floor(struct fence_bootstrap *bootstrap, int64_t highest)
{
    assert((bootstrap->params.goes_on || bootstrap->params.closes) && highest >= 0);
    int64_t seen = bootstrap->params.seen;
    if (seen < highest)
        seen = highest;
    bootstrap->outcome.seen = seen;
    const bool fits = seen >= 0 && seen <= FENCE_FLOOR_SEEN_MAX;
    if (!fits && (needs_margin(&bootstrap->params) || seen < 0 || seen >= FENCE_TOKEN_MAX))
        return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_FLOOR, 0);
    bootstrap->floor = fits ? seen + FENCE_FLOOR_MARGIN : seen;
    return true;
}
