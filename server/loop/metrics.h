/* How busy each worker is, for all of them to see. A worker publishes its metrics at the end of a
 * turn. The worker that is asked adds up those of all. Nothing is locked, so a sum is of moments
 * that lie a turn apart, and nothing may be decided by it. */
#ifndef SERVER_LOOP_METRICS_H
#define SERVER_LOOP_METRICS_H

#include "api/v1/backend.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

enum {
    SERVER_METRICS_ALIGN = 64, /* a cache line each: publishing disturbs no other worker */
};

/* One worker's; zeroed to begin with. It publishes, all read. */
struct server_metrics {
    alignas(SERVER_METRICS_ALIGN) atomic_uint_least64_t calls;
    atomic_uint_least64_t waiting;
    atomic_uint_least64_t connections;
    atomic_uint_least64_t grants;
    atomic_uint_least64_t hedges;
};

/* Publishes what one worker counted; its @now->workers is not looked at. The worker's thread. */
void server_metrics_publish(struct server_metrics *metrics, const struct api_metrics *now);

/* The sum over @workers of @metrics. Any thread. */
void server_metrics_sum(const struct server_metrics metrics[], unsigned workers,
                        struct api_metrics *ret_sum);

/* How many connections the worker with the fewest has. */
uint64_t server_metrics_least_connections(const struct server_metrics metrics[], unsigned workers);

#endif
