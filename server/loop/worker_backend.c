/* The backend of the API (api/v1/backend.h): what the API asks of the worker. */
#include "server/loop/worker_state.h"

#include <assert.h>

static void on_client_call(void *context, const struct fence_call *call)
{
    struct server_worker *worker = context;
    server_happened_call(&worker->listeners, call);
    server_driver_call(worker->driver, call);
}

static void on_list(void *context, const struct fence_listing_call *call)
{
    struct server_worker *worker = context;
    server_listings_call(worker->listings, call);
}

static void on_follow(void *context, const struct api_events_call *call)
{
    struct server_worker *worker = context;
    server_event_streams_follow(worker->event_streams, call);
}

static void fresh_lock_id(void *context, char ret_id[static FENCE_LOCK_ID_LEN + 1])
{
    struct server_worker *worker = context;
    server_random_lock_id(server_driver_random(worker->driver), ret_id);
}

static void show_masters(void *context,
                         struct api_master_status ret_masters[static FENCE_MASTERS_MAX])
{
    const struct server_worker *worker = context;
    server_driver_masters(worker->driver, ret_masters);
}

void server_worker_init_backend(struct server_worker *worker)
{
    assert(worker->config.workers <= SERVER_WORKERS_MAX && !worker->http);
    for (unsigned i = 0; i < worker->config.workers; i++)
        worker->counters[i] = &worker->config.metrics[i].counters;
    worker->backend = (struct api_backend){
        .context = worker,
        .call = on_client_call,
        .list = on_list,
        .follow = on_follow,
        .new_lock_id = fresh_lock_id,
        .masters = show_masters,
        .counters = worker->counters,
        .workers = worker->config.workers,
        .routes = worker->routes,
        .routes_count = SERVER_ROUTES,
        .version = worker->config.version,
    };
    server_routes(&worker->backend, worker->routes);
    worker->calls =
        (struct api_calls){worker->routes, SERVER_ROUTES, &worker->metrics->counters.of.calls};
}
