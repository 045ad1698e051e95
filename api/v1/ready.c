#include "api/v1/ready.h"

#include "fence/protocol/lease.h"

unsigned api_count_full(const struct api_backend *backend)
{
    const struct fence_fleet *fleet = backend->fleet;
    unsigned full = 0;
    for (unsigned i = 0; i < fleet->n; i++)
        full += fleet->master[i].state == FENCE_MASTER_ACTIVE && backend->audit->master[i].full;
    return full;
}

bool api_is_ready(const struct api_backend *backend)
{
    const struct fence_fleet *fleet = backend->fleet;
    unsigned full = api_count_full(backend);
    return fence_fleet_active_count(fleet) - full >= fence_majority(fleet->n);
}

const char *api_ready_word(bool ready)
{
    return ready ? "ready" : "not-ready";
}
