/* The counts of each worker, readable by all workers. A worker counts events at once, and publishes
 * how busy it is at the end of a turn. The worker that answers a request for metrics adds up all
 * counts. No lock is used, so a sum mixes moments that are a turn apart. No decision may use it. */
#ifndef SERVER_LOOP_METRICS_H
#define SERVER_LOOP_METRICS_H

#include "api/v1/metrics.h"
#include "fence/protocol/message.h"
#include "server/loop/holds.h"

#include <stdalign.h>

enum {
    SERVER_METRICS_ALIGN = 64, /* separate cache lines: counting disturbs no other worker */
};

/* The metrics of one worker; zeroed to begin with. The worker counts, and all workers read
 * @counters. */
struct server_metrics {
    alignas(SERVER_METRICS_ALIGN) union api_worker_counters counters;
    struct server_holds holds; /* used by this worker alone */
};

/* Returns the metrics of @workers workers; NULL if there is no memory. Free it with free(). */
struct server_metrics *server_metrics_new(unsigned workers);

/* Counts a call of a client that is about to be answered, at @now_us; the worker's thread. Do not
 * call it for a grant or an extension whose client has disconnected. */
void server_metrics_answered(struct server_metrics *metrics, const struct fence_answer *answer,
                             uint64_t now_us);

/* Master @i answered @requests requests together after @round_trip_us; the worker's thread. */
void server_metrics_batch(struct server_metrics *metrics, unsigned i, unsigned requests,
                          uint64_t round_trip_us);

/* Returns the number of connections of the worker with the fewest. Any thread. */
uint64_t server_metrics_least_connections(const struct server_metrics metrics[], unsigned workers);

#endif
