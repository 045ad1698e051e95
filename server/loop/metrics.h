/* The counts of each worker, readable by all workers. A worker counts what happens at once, and
 * publishes how busy it is at the end of a turn. The worker that answers adds up all counts.
 * Nothing is locked, so a sum mixes moments that are a turn apart. No decision may use it. */
#ifndef SERVER_LOOP_METRICS_H
#define SERVER_LOOP_METRICS_H

#include "api/v1/metrics.h"
#include "fence/protocol/message.h"
#include "server/loop/holds.h"

#include <stdalign.h>

enum {
    SERVER_METRICS_ALIGN = 64, /* separate cache lines: counting disturbs no other worker */
};

/* One worker's; zeroed to begin with. It counts, all read @counters. */
struct server_metrics {
    alignas(SERVER_METRICS_ALIGN) union api_worker_counters counters;
    struct server_holds holds; /* the worker's alone */
};

/* @workers of them; NULL if memory is out. To be freed with free(). */
struct server_metrics *server_metrics_new(unsigned workers);

/* A call of a client is about to be answered, at @now_us; the worker's thread. Not for a grant or
 * an extension whose client has gone. */
void server_metrics_answered(struct server_metrics *metrics, const struct fence_answer *answer,
                             uint64_t now_us);

/* Master @i answered @requests requests together after @round_trip_us; the worker's thread. */
void server_metrics_batch(struct server_metrics *metrics, unsigned i, unsigned requests,
                          uint64_t round_trip_us);

/* How many connections the worker with the fewest has. Any thread. */
uint64_t server_metrics_least_connections(const struct server_metrics metrics[], unsigned workers);

#endif
