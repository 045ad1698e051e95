#include "server/loop/metrics.h"

static void put(atomic_uint_least64_t *to, uint64_t value)
{
    atomic_store_explicit(to, value, memory_order_relaxed);
}

static uint64_t get(const atomic_uint_least64_t *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

void server_figures_publish(struct server_figures *figures, const struct api_figures *now)
{
    put(&figures->calls, now->calls);
    put(&figures->waiting, now->waiting);
    put(&figures->connections, now->connections);
    put(&figures->grants, now->grants);
}

void server_figures_sum(const struct server_figures figures[], unsigned workers,
                        struct api_figures *ret_sum)
{
    struct api_figures sum = {.workers = workers};
    for (unsigned i = 0; i < workers; i++) {
        sum.calls += get(&figures[i].calls);
        sum.waiting += get(&figures[i].waiting);
        sum.connections += get(&figures[i].connections);
        sum.grants += get(&figures[i].grants);
    }
    *ret_sum = sum;
}
