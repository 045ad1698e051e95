#include "server/loop/worker.h"

#include "api/auth/auth.h"
#include "api/v1/counters.h"
#include "api/v1/listing.h"
#include "api/v1/locks.h"
#include "server/loop/descriptors.h"
#include "server/loop/worker_state.h"
#include "server/system/clock.h"
#include "server/system/log.h"
#include "server/system/options.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WHOLE_MS = 500,  /* how long to wait for the remaining masters, once a majority votes */
    HOLD_MS = 5000,  /* how long clients of passed sockets may have to wait at the start */
    CROWD_SLACK = 4, /* a worker with more connections than the least busy worker is not crowded
                      * up to so many more */
};

enum {
    ORDER_STOP = 1,
    ORDER_HALT = 2,
    ORDER_RELOAD = 4,
    ORDER_HAND_OVER = 8,
};

/* Returns this worker's share of a bound. Connections are distributed to the workers by chance, and
 * workers share no bound. So a worker may have to refuse a call while another worker has room. This
 * is the price of workers that share nothing. */
static uint32_t share(const struct server_worker *worker, uint32_t of_process)
{
    assert(worker->config.workers > 0);
    return (of_process + worker->config.workers - 1) / worker->config.workers;
}

/* ---- answers ------------------------------------------------------------------------------- */

static void on_script_call(void *context, unsigned i, unsigned requests, uint64_t round_trip_us)
{
    struct server_worker *worker = context;
    server_metrics_batch(worker->metrics, i, requests, round_trip_us);
}

/* Reports whether the answer counts even if its client has disconnected. A release has released the
 * lock, and a failed call granted nothing. After any other answer, no client would hold the grant
 * or know of the extension. */
static bool ends_all_the_same(const struct fence_answer *answer)
{
    return answer->kind != FENCE_CALL_EXTEND &&
           (answer->kind != FENCE_CALL_ACQUIRE || answer->error);
}

/* Checks only once whether the client is connected. A client may disconnect at any moment, so a
 * second check could give another result: the log would then report a grant that is undone. */
static bool on_answer(void *context, const struct fence_answer *answer)
{
    struct server_worker *worker = context;
    if (answer->origin == FENCE_ORIGIN_LISTING) {
        server_listings_answer(worker->listings, answer);
        return true;
    }
    server_http_loop_answered(&worker->http_loop);
    if (answer->kind == FENCE_CALL_COUNT) {
        api_counters_answer(answer);
        return true;
    }
    const bool left = api_request_client_left(api_request_of_client(answer->client));
    server_happened_answer(&worker->listeners, answer, left);
    const bool stands =
        server_happened_stands(api_request_of_client(answer->client), answer->resource);
    if (stands && (!left || ends_all_the_same(answer)))
        server_metrics_answered(worker->metrics, answer, server_driver_now_us(worker->driver));
    api_locks_answer(answer, left);
    return !left;
}

/* Counts first, since the metrics include refused requests. */
static void on_observed(void *context, const struct api_observed *observed)
{
    struct server_worker *worker = context;
    const struct api_observer calls = api_calls_observer(&worker->calls);
    if (calls.answered)
        calls.answered(calls.context, observed);
    server_audit_log_observed(&worker->audit_log, observed);
}

static void on_waits(void *context, uint64_t client, const char *resource)
{
    const struct server_worker *worker = context;
    server_happened_waits(&worker->listeners, client, resource);
}

static void on_listed(void *context, const struct fence_listing_answer *listing)
{
    struct server_worker *worker = context;
    server_http_loop_answered(&worker->http_loop);
    api_listing_answer(listing);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void on_client_left(void *context, uint64_t client)
{
    struct server_worker *worker = context;
    server_driver_left(worker->driver, client);
}

/* Returns the limit of event streams. A stream has no end, so at most a quarter of the connections
 * are streams. */
static unsigned event_readers_max(const struct server_worker *worker)
{
    const unsigned most = api_http_capacity(worker->http) / 4;
    const unsigned readers = share(worker, SERVER_EVENTS_READERS);
    if (most < 1)
        return 1;
    return readers < most ? readers : most;
}

/* Publishes the bounds once: they do not change. */
static void publish_bounds(struct server_worker *worker)
{
    struct api_worker_metrics *of = &worker->metrics->counters.of;
    api_counter_set(&of->calls_max, share(worker, SERVER_CALLS));
    api_counter_set(&of->waiting_max, share(worker, worker->config.waiters_max));
    api_counter_set(&of->connections_max, api_http_capacity(worker->http));
    api_counter_set(&of->event_readers_max, event_readers_max(worker));
}

/* Reports whether this worker has too many connections. If workers accept from one socket, workers
 * with fewer connections accept first. */
static bool is_crowded(void *context)
{
    const struct server_worker *worker = context;
    return api_http_connections(worker->http) >
           server_metrics_least_connections(worker->config.metrics, worker->config.workers) +
               CROWD_SLACK;
}

static void publish(struct server_worker *worker)
{
    const struct fence_counts *counts = server_driver_counts(worker->driver);
    const struct fence_fleet *fleet = server_driver_fleet(worker->driver);
    struct api_worker_metrics *of = &worker->metrics->counters.of;
    api_counter_set(&of->calls_now, server_driver_calls(worker->driver));
    api_counter_set(&of->waiting, server_driver_waiting(worker->driver));
    api_counter_set(&of->cleanups, server_driver_cleanups(worker->driver));
    api_counter_set(&of->connections, api_http_connections(worker->http));
    api_counter_set(&of->parked, api_http_parked(worker->http));
    api_counter_set(&of->accepted, api_http_accepted(worker->http));
    api_counter_set(&of->evicted, api_http_evicted(worker->http));
    api_counter_set(&of->attempts, counts->attempts);
    api_counter_set(&of->contended, counts->contended);
    api_counter_set(&of->confirms, counts->confirms);
    api_counter_set(&of->hedges, counts->hedges);
    for (unsigned i = 0; i < fleet->n; i++) {
        api_counter_set(&of->rejoins[i], counts->rejoins[i]);
        api_counter_set(&of->in_flight[i], fleet->master[i].in_flight);
    }
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Reports whether a majority votes, and all other masters vote or have had some time to do so.
 * While a master is not connected, this process misses the release of a lock that another process
 * took there, and waits for the rest of its lease. */
static bool is_ready(struct server_worker *worker)
{
    const struct fence_fleet *fleet = server_driver_fleet(worker->driver);
    if (!fence_fleet_ready(fleet))
        return false;
    if (worker->holds_till_us == 0 ||
        (unsigned)__builtin_popcount(fence_fleet_active(fleet)) == fleet->n)
        return true;
    if (worker->majority_from_us == 0)
        worker->majority_from_us = server_clock_us();
    return server_clock_us() >= worker->majority_from_us + WHOLE_MS * UINT64_C(1000);
}

/* Accepts the clients of passed sockets. Another process may have opened the sockets before this
 * process began. Their clients wait in the queues until this process is ready. No client gets "not
 * ready". */
static void let_in(struct server_worker *worker)
{
    const bool ready = is_ready(worker);
    atomic_store_explicit(&worker->ready, ready, memory_order_relaxed);
    if (worker->holds_till_us == 0 || (!ready && server_clock_us() < worker->holds_till_us))
        return;
    server_log(SERVER_LOG_DEBUG, "%saccepts clients, %s", worker->label,
               ready ? "ready" : "not ready");
    worker->holds_till_us = 0;
    api_http_let_in(worker->http);
    server_http_loop_answered(&worker->http_loop); /* the waiters get a turn at once */
}

static void before_worker_sleeps(void *context)
{
    struct server_worker *worker = context;
    atomic_fetch_add_explicit(&worker->turns, 1, memory_order_relaxed);
    let_in(worker);
    server_audit_log_turn(&worker->audit_log);
    server_driver_tell_waits(worker->driver, server_event_source_turn(&worker->event_source));
    server_worker_end_turn(worker);
    server_driver_turn(worker->driver);
    publish(worker);
    if (server_worker_may_end(worker))
        uv_stop(&worker->loop);
}

static void on_ordered(uv_async_t *async)
{
    struct server_worker *worker = async->data;
    const unsigned orders = atomic_exchange(&worker->orders, 0);
    if (orders & ORDER_RELOAD && worker->config.reloaded)
        worker->config.reloaded(worker->config.reloaded_context, worker->config.index);
    if (orders & ORDER_RELOAD) /* the keys of streams may allow less now: each client reconnects
                                * with its key */
        server_event_streams_end(worker->event_streams);
    if (orders & ORDER_HAND_OVER)
        server_worker_give_up_listeners(worker);
    if (orders & ORDER_STOP)
        server_worker_leave(worker);
    if (orders & ORDER_HALT)
        uv_stop(&worker->loop);
}

/* ---- setting up ------------------------------------------------------------------------------ */

static int start_auth(struct server_worker *worker)
{
    if (!worker->config.keys || api_auth_new(worker->config.keys, &worker->auth) == 0)
        return 0;
    server_log(SERVER_LOG_ERROR, "%scannot start: out of memory", worker->label);
    return SERVER_EXIT_FAILED;
}

static int start_http(struct server_worker *worker)
{
    struct server_listeners *listeners = worker->config.listeners;
    struct api_door own[API_DOORS_MAX];
    server_listeners_of(listeners, worker->config.index, own);
    struct api_http_config config = {
        .doors = own,
        .doors_count = listeners->count,
        .holds = listeners->waited_at,
        .routes = worker->routes,
        .routes_count = SERVER_ROUTES,
        .access = api_auth_access(worker->auth),
        .connections =
            server_descriptors_for_clients(worker->config.workers, worker->config.connections_max),
        .log = server_http_log,
        .log_context = worker->label,
        .left = on_client_left,
        .left_context = worker,
        .observer = {.answered = on_observed, .context = worker},
        .crowded = is_crowded,
        .crowded_context = worker,
    };
    server_http_options_apply(worker->config.http, &config);
    int error = api_http_new(&config, &worker->http);
    if (error) {
        server_log(SERVER_LOG_ERROR, "%scannot serve HTTP: %s", worker->label,
                   fence_strerror(error));
        return SERVER_EXIT_FAILED;
    }
    if (listeners->waited_at)
        worker->holds_till_us = worker->config.takes_over
                                    ? UINT64_MAX /* the predecessor still accepts clients */
                                    : server_clock_us() + HOLD_MS * UINT64_C(1000);
    server_listeners_given(listeners, worker->config.index);
    return 0;
}

static int start_listings(struct server_worker *worker)
{
    const struct server_listings_config config = {
        .loop = &worker->loop,
        .driver = worker->driver,
        .answer = on_listed,
        .context = worker,
    };
    return server_listings_new(&config, &worker->listings);
}

static int start_events(struct server_worker *worker)
{
    worker->event_source = (struct server_event_source){
        .ring = worker->config.events,
        .backend = &worker->backend,
        .tells_fleet = worker->config.index == 0,
    };
    server_event_source_name(&worker->event_source, api_http_port(worker->http));
    worker->listeners.each[0] = server_audit_log_listening(&worker->audit_log);
    worker->listeners.each[1] = server_event_source_listening(&worker->event_source);
    const struct server_event_streams_config config = {
        .loop = &worker->loop,
        .ring = worker->config.events,
        .http_loop = &worker->http_loop,
        .metrics = &worker->metrics->counters.of,
        .backend = &worker->backend,
        .server = worker->event_source.server,
        .readers = event_readers_max(worker),
    };
    return server_event_streams_new(&config, &worker->event_streams);
}

static int start_driver(struct server_worker *worker)
{
    assert(worker->http);                         /* the turns of the HTTP server are part of the
                                                   * loop */
    const bool first = worker->config.index == 0; /* one of several workers reports it */
    const struct server_driver_config config = {
        .loop = &worker->loop,
        .addresses = worker->config.addresses,
        .deadline_ms = worker->config.deadline_ms,
        .probe_ms = worker->config.probe_ms,
        .ask = worker->config.ask,
        .calls = share(worker, SERVER_CALLS),
        .waiters = share(worker, worker->config.waiters_max),
        .counters = worker->config.counters_max,
        .ttl_max_ms = first ? worker->config.ttl_max_ms : 0,
        .extensions_max = first ? worker->config.extensions_max : 0,
        .traces = worker->config.traces,
        .trace_lock = worker->config.trace_lock,
        .label = worker->label,
        .tells_audit = first,
        .answer = on_answer,
        .batch = on_script_call,
        .waits = on_waits,
        .context = worker,
    };
    int error = server_driver_new(&config, &worker->driver);
    if (!error)
        error = start_listings(worker);
    if (!error)
        error = start_events(worker);
    if (!error)
        error = server_http_loop_init(&worker->http_loop, &worker->loop, worker->http);
    if (error) {
        server_log(SERVER_LOG_ERROR, "%scannot start: %s", worker->label, fence_strerror(error));
        return SERVER_EXIT_FAILED;
    }
    worker->joined = true;
    worker->backend.fleet = server_driver_fleet(worker->driver);
    worker->backend.audit = server_driver_audit(worker->driver);
    worker->audit_log = (struct server_audit_log){
        .writer = worker->config.audit,
        .random = server_driver_random(worker->driver),
        .worker = worker->config.index + 1,
    };
    publish_bounds(worker);
    server_http_loop_before_sleep(&worker->http_loop, before_worker_sleeps, worker);
    return 0;
}

/* Makes the loop, and the handles that tell it to end. */
static int start_loop(struct server_worker *worker)
{
    if (uv_loop_init(&worker->loop) != 0)
        return FENCE_EIO;
    int failed = uv_async_init(&worker->loop, &worker->ordered, on_ordered) |
                 uv_timer_init(&worker->loop, &worker->phase_timer);
    assert(!failed); /* the loop exists and has the memory */
    worker->ordered.data = worker;
    worker->phase_timer.data = worker;
    return 0;
}

int server_worker_new(const struct server_worker_config *config, struct server_worker **ret_worker)
{
    struct server_worker *worker = calloc(1, sizeof(*worker));
    if (!worker || start_loop(worker) != 0) {
        server_log(SERVER_LOG_ERROR, "cannot make an event loop");
        free(worker);
        return SERVER_EXIT_FAILED;
    }
    worker->config = *config;
    worker->metrics = &config->metrics[config->index];
    if (config->workers > 1)
        (void)snprintf(worker->label, sizeof(worker->label), "worker %u: ", config->index + 1);
    server_worker_init_backend(worker);
    int status = start_auth(worker);
    if (!status)
        status = start_http(worker);
    if (!status)
        status = start_driver(worker);
    if (status) {
        server_worker_free(worker);
        return status;
    }
    *ret_worker = worker;
    return 0;
}

/* ---- the owner's side ------------------------------------------------------------------------ */

static void leave_http(struct server_worker *worker)
{
    if (worker->event_streams)
        server_event_streams_stop(worker->event_streams);
    if (worker->joined)
        server_http_loop_fini(&worker->http_loop);
    worker->joined = false;
    api_http_free(worker->http);
    worker->http = NULL;
    api_auth_free(worker->auth);
    worker->auth = NULL;
}

void server_worker_run(struct server_worker *worker)
{
    uv_run(&worker->loop, UV_RUN_DEFAULT);
    atomic_store(&worker->turns, SERVER_TURNS_ENDED);
    server_audit_log_end(&worker->audit_log);
    leave_http(worker); /* done here, so that all workers answer their waiting calls at the same
                         * time */
}

static void order(struct server_worker *worker, unsigned orders)
{
    atomic_fetch_or(&worker->orders, orders);
    uv_async_send(&worker->ordered);
}

void server_worker_stop(struct server_worker *worker)
{
    order(worker, ORDER_STOP);
}

void server_worker_hand_over(struct server_worker *worker)
{
    order(worker, ORDER_HAND_OVER);
}

void server_worker_halt(struct server_worker *worker)
{
    order(worker, ORDER_HALT);
}

void server_worker_reload(struct server_worker *worker)
{
    order(worker, ORDER_RELOAD);
}

void server_worker_look(struct server_worker *worker)
{
    order(worker, 0);
}

void server_worker_free(struct server_worker *worker)
{
    if (!worker)
        return;
    leave_http(worker);
    server_event_streams_free(worker->event_streams);
    server_event_source_fini(&worker->event_source);
    server_listings_free(worker->listings);
    server_driver_free(worker->driver);
    uv_close((uv_handle_t *)&worker->ordered, NULL);
    uv_close((uv_handle_t *)&worker->phase_timer, NULL);
    uv_run(&worker->loop, UV_RUN_DEFAULT); /* runs the close callbacks */
    int busy = uv_loop_close(&worker->loop);
    assert(!busy);
    free(worker);
}

bool server_worker_ready(const struct server_worker *worker)
{
    return atomic_load_explicit(&worker->ready, memory_order_relaxed);
}

uint64_t server_worker_turns(const struct server_worker *worker)
{
    return atomic_load_explicit(&worker->turns, memory_order_relaxed);
}

uv_loop_t *server_worker_loop(struct server_worker *worker)
{
    return &worker->loop;
}
