/* A worker from within: what its parts share. Private to server/loop/worker*.c. */
#ifndef SERVER_LOOP_WORKER_STATE_H
#define SERVER_LOOP_WORKER_STATE_H

#include "api/v1/metrics.h"
#include "server/loop/audit_log.h"
#include "server/loop/driver.h"
#include "server/loop/event_source.h"
#include "server/loop/event_streams.h"
#include "server/loop/http_loop.h"
#include "server/loop/listing.h"
#include "server/loop/routes.h"
#include "server/loop/worker_config.h"

#include <stdatomic.h>

#include <uv.h>

enum {
    SERVER_WORKER_LABEL_MAX = 32,
};

enum worker_phase {
    WORKER_SERVING,
    WORKER_LEAVING,
    WORKER_DRAINING,
};

struct server_worker {
    struct server_worker_config config;
    char label[SERVER_WORKER_LABEL_MAX]; /* "worker 2: "; "" if there is only one */
    uv_loop_t loop;
    uv_async_t ordered;
    atomic_uint_least64_t turns;
    atomic_bool ready;         /* a majority votes */
    uint64_t holds_till_us;    /* until then clients are accepted only if the worker is ready; 0:
                                * all are accepted */
    uint64_t majority_from_us; /* when a majority first voted, while clients are held; 0: not yet */
    atomic_uint orders;        /* orders that the worker has not handled yet */
    enum worker_phase phase;
    bool handed_over; /* another process has its listeners */
    uv_timer_t phase_timer;
    struct api_backend backend;
    const union api_worker_counters *counters[SERVER_WORKERS_MAX]; /* the counts of all workers */
    struct api_routes routes[SERVER_ROUTES];
    struct api_calls calls;
    struct server_audit_log audit_log;
    struct server_event_source event_source;
    struct server_event_streams *event_streams;
    struct server_happened_listeners listeners; /* the listeners to lock events */
    struct server_metrics *metrics;             /* its own */
    struct api_auth *auth;                      /* NULL: there are no keys */
    struct api_http *http;
    struct server_http_loop http_loop;
    struct server_driver *driver;
    struct server_listings *listings;
    bool joined; /* http_loop has handles in the loop */
};

/* ---- worker_backend.c: what the API asks of the worker ------------------------------------ */

/* Before its HTTP server is made. The fleet follows with the driver. */
void server_worker_init_backend(struct server_worker *worker);

/* ---- worker_end.c: from serving to its end --------------------------------------------------- */

/* A stop was ordered; or another process has the listeners. */
void server_worker_leave(struct server_worker *worker);
void server_worker_give_up_listeners(struct server_worker *worker);

/* Does the end's part of each turn. Call it before the driver's turn. */
void server_worker_end_turn(struct server_worker *worker);

/* Reports whether no client is owed an answer any more. Call it after the driver's turn. */
bool server_worker_may_end(const struct server_worker *worker);

#endif
