#include "server/loop/metrics.h"

static void publish_count(atomic_uint_least64_t *to, uint64_t value)
{
    atomic_store_explicit(to, value, memory_order_relaxed);
}

static uint64_t get(const atomic_uint_least64_t *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

void server_metrics_publish(struct server_metrics *metrics, const struct api_metrics *now)
{
    publish_count(&metrics->calls, now->calls);
    publish_count(&metrics->waiting, now->waiting);
    publish_count(&metrics->connections, now->connections);
    publish_count(&metrics->grants, now->grants);
    publish_count(&metrics->hedges, now->hedges);
}

void server_metrics_sum(const struct server_metrics metrics[], unsigned workers,
                        struct api_metrics *ret_sum)
{
    struct api_metrics sum = {.workers = workers};
    for (unsigned i = 0; i < workers; i++) {
        sum.calls += get(&metrics[i].calls);
        sum.waiting += get(&metrics[i].waiting);
        sum.connections += get(&metrics[i].connections);
        sum.grants += get(&metrics[i].grants);
        sum.hedges += get(&metrics[i].hedges);
    }
    *ret_sum = sum;
}

uint64_t server_metrics_least_connections(const struct server_metrics metrics[], unsigned workers)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < workers; i++) {
        const uint64_t connections = get(&metrics[i].connections);
        least = connections < least ? connections : least;
    }
    return least;
}
