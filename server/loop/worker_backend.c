/* What the API asks of a worker (api/v1/backend.h), and the routes that lead to it. */
#include "server/loop/worker_state.h"

#include <assert.h>

static void backend_call(void *context, const struct fence_call *call)
{
    struct server_worker *worker = context;
    server_audit_log_call(&worker->audit_log, call);
    server_driver_call(worker->driver, call);
}

static void backend_list(void *context, const struct fence_listing_call *call)
{
    struct server_worker *worker = context;
    server_listings_call(worker->listings, call);
}

static const struct fence_fleet *backend_fleet(void *context)
{
    struct server_worker *worker = context;
    return server_driver_fleet(worker->driver);
}

static const char *backend_address(void *context, unsigned i)
{
    struct server_worker *worker = context;
    return server_driver_address(worker->driver, i);
}

static const char *backend_detail(void *context, unsigned i)
{
    struct server_worker *worker = context;
    return server_driver_detail(worker->driver, i);
}

static uint64_t backend_round_trip(void *context, unsigned i)
{
    struct server_worker *worker = context;
    return server_driver_round_trip_us(worker->driver, i);
}

static bool backend_back(void *context, unsigned i, uint64_t *ret_us)
{
    struct server_worker *worker = context;
    return server_driver_eligible_us(worker->driver, i, ret_us);
}

static const struct fence_audit *backend_audit(void *context)
{
    struct server_worker *worker = context;
    return server_driver_audit(worker->driver);
}

static void backend_metrics(void *context, struct api_metrics *ret_metrics)
{
    const struct server_worker *worker = context;
    server_metrics_sum(worker->config.metrics, worker->config.workers, ret_metrics);
}

static const union api_worker_counters *backend_counters(void *context, unsigned i)
{
    const struct server_worker *worker = context;
    assert(i < worker->config.workers);
    return &worker->config.metrics[i].counters;
}

static void backend_lock_id(void *context, char ret_id[static FENCE_LOCK_ID_LEN + 1])
{
    struct server_worker *worker = context;
    server_random_lock_id(server_driver_random(worker->driver), ret_id);
}

void server_worker_backend_init(struct server_worker *worker)
{
    worker->backend = (struct api_backend){
        .context = worker,
        .call = backend_call,
        .list = backend_list,
        .fleet = backend_fleet,
        .master_address = backend_address,
        .master_detail = backend_detail,
        .master_round_trip_us = backend_round_trip,
        .master_eligible_us = backend_back,
        .audit = backend_audit,
        .metrics = backend_metrics,
        .counters = backend_counters,
        .routes = worker->routes,
        .routes_count = SERVER_ROUTES,
        .version = worker->config.version,
        .new_lock_id = backend_lock_id,
    };
    server_routes(&worker->backend, worker->routes);
    worker->calls =
        (struct api_calls){worker->routes, SERVER_ROUTES, &worker->metrics->counters.of.calls};
}
