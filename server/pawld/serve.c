/* pawld at work: its workers side by side, and what a process has only once: the address,
 * the signals, the exit status. */
#include "api/tls/keys.h"
#include "server/loop/descriptors.h"
#include "server/loop/doors.h"
#include "server/loop/keys.h"
#include "server/loop/worker.h"
#include "server/pawld/pawld.h"
#include "server/system/log.h"
#include "server/system/options.h"
#include "storage/sqlite/store.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STOP_SIGNALS = 2,
};

struct service {
    const struct pawld_options *options;
    struct server_places places;
    struct api_tls *tls;      /* NULL: none */
    struct api_keyring *keys; /* NULL: everybody may call everything */
    struct server_doors doors;
    unsigned made; /* workers */
    struct server_worker *workers[SERVER_WORKERS_MAX];
    struct server_metrics *metrics;          /* one for each worker */
    uv_thread_t threads[SERVER_WORKERS_MAX]; /* the first worker needs none: it has the main one */
    uv_signal_t stop_signals[STOP_SIGNALS];
    uv_signal_t reload_signal;
    bool stopping;
};

/* ---- stopping -------------------------------------------------------------------------------- */

static void stop_workers(struct service *service)
{
    service->stopping = true;
    for (unsigned i = 0; i < service->made; i++)
        server_worker_stop(service->workers[i]);
}

static void on_stop_signal(uv_signal_t *handle, int number)
{
    struct service *service = handle->data;
    (void)number;
    if (service->stopping)
        return;
    server_log(SERVER_LOG_INFO, "stopping");
    stop_workers(service);
}

/* Connections that stand keep what they have. */
static void on_reload_signal(uv_signal_t *handle, int number)
{
    const struct service *service = handle->data;
    (void)number;
    if (server_http_tls_reload(service->tls))
        server_log(SERVER_LOG_INFO, "reloaded: certificates");
}

/* Runs in the loop on the main thread. The signal may have interrupted any thread. */
static void watch_signals(struct service *service)
{
    static const int signals[STOP_SIGNALS] = {SIGTERM, SIGINT};
    uv_loop_t *loop = server_worker_loop(service->workers[0]);
    int failed = 0;
    for (int i = 0; i < STOP_SIGNALS; i++) {
        failed |= uv_signal_init(loop, &service->stop_signals[i]);
        failed |= uv_signal_start(&service->stop_signals[i], on_stop_signal, signals[i]);
        service->stop_signals[i].data = service;
    }
    failed |= uv_signal_init(loop, &service->reload_signal);
    failed |= uv_signal_start(&service->reload_signal, on_reload_signal, SIGHUP);
    service->reload_signal.data = service;
    assert(!failed); /* they only fill in memory and install handlers */
}

static void forget_signals(struct service *service)
{
    for (int i = 0; i < STOP_SIGNALS; i++)
        uv_close((uv_handle_t *)&service->stop_signals[i], NULL);
    uv_close((uv_handle_t *)&service->reload_signal, NULL);
}

/* ---- the workers ----------------------------------------------------------------------------- */

static int make_workers(struct service *service)
{
    const struct pawld_options *options = service->options;
    int status = 0;
    for (; service->made < options->workers && !status; service->made += !status) {
        const struct server_worker_config config = {
            .index = service->made,
            .workers = options->workers,
            .doors = &service->doors,
            .http = &options->http,
            .keys = service->keys,
            .places = service->places,
            .deadline_ms = options->deadline_ms,
            .probe_ms = options->probe_ms,
            .ask = options->ask,
            .connections_max = options->connections_max,
            .waiters_max = options->waiters_max,
            .counters_max = options->counters_max,
            .metrics = service->metrics,
            .version = PAWL_VERSION,
        };
        status = server_worker_new(&config, &service->workers[service->made]);
    }
    return status;
}

static void free_workers(struct service *service)
{
    for (unsigned i = 0; i < service->made; i++)
        server_worker_free(service->workers[i]);
}

static void run_worker(void *worker)
{
    server_worker_run(worker);
}

/* All of them at once, until they are stopped; the first one here. */
static int run_workers(struct service *service)
{
    int status = SERVER_EXIT_DONE;
    unsigned started = 1;
    for (; started < service->made; started++) {
        int error =
            uv_thread_create(&service->threads[started], run_worker, service->workers[started]);
        if (error) {
            server_log(SERVER_LOG_ERROR, "cannot start worker %u: %s", started + 1,
                       uv_strerror(error));
            status = SERVER_EXIT_FAILED;
            stop_workers(service);
            break;
        }
    }
    if (status == SERVER_EXIT_DONE)
        server_doors_announce(&service->doors);
    server_worker_run(service->workers[0]);
    for (unsigned i = 1; i < started; i++)
        uv_thread_join(&service->threads[i]);
    return status;
}

/* What was set when a fleet was made cannot be another now. */
static int check_terms(const struct pawld_options *options,
                       const struct storage_sqlite_store *store)
{
    uint32_t has_ms = storage_sqlite_store_ttl_max_ms(store);
    uint32_t has = storage_sqlite_store_extensions_max(store);
    if (has_ms == 0) /* it is of no fleet yet */
        return SERVER_EXIT_DONE;
    if (has == 0)
        has = FENCE_EXTENSIONS_MAX;
    if (options->ttl_max_ms != 0 && options->ttl_max_ms != has_ms)
        (void)server_options_error(
            "--max-ttl-ms %u: the longest lease of the fleet in %s is %u ms, and "
            "was set when it was made. Leave the option out",
            (unsigned)options->ttl_max_ms, options->data, (unsigned)has_ms);
    else if (options->extensions_max != 0 && options->extensions_max != has)
        (void)server_options_error(
            "--max-extensions %u: a grant of the fleet in %s may be extended "
            "%u times, which was set when it was made. Leave the option out",
            (unsigned)options->extensions_max, options->data, (unsigned)has);
    else
        return SERVER_EXIT_DONE;
    return SERVER_EXIT_USAGE;
}

/* A file that was never a fleet's becomes one: there is nothing that it could have forgotten. */
static int open_places(struct service *service)
{
    struct server_places *places = &service->places;
    int status = pawld_places_open(service->options, false, places);
    if (status || !places->store)
        return status;
    server_log(SERVER_LOG_INFO, "serving from %s, without other masters",
               storage_sqlite_store_path(places->store));
    if (storage_sqlite_store_is_new(places->store))
        return pawld_make_fleet(places, service->options);
    return check_terms(service->options, places->store);
}

static int serve_places(struct service *service)
{
    const struct pawld_options *options = service->options;
    int status =
        server_doors_open(&options->http.listens, service->tls, options->workers, &service->doors);
    if (status)
        return status;
    status = server_keys_check_doors(&options->http, &service->doors);
    service->metrics = server_metrics_new(options->workers);
    if (status == SERVER_EXIT_DONE && !service->metrics) {
        server_log(SERVER_LOG_ERROR, "cannot start: %s", fence_strerror(FENCE_ENOMEM));
        status = SERVER_EXIT_FAILED;
    }
    if (status == SERVER_EXIT_DONE)
        status = make_workers(service);
    if (status == SERVER_EXIT_DONE) {
        watch_signals(service);
        status = run_workers(service);
        forget_signals(service);
    }
    free_workers(service);
    server_doors_close(&service->doors);
    free(service->metrics);
    return status;
}

int pawld_serve(const struct pawld_options *options)
{
    struct service service = {.options = options};
    server_descriptors_check(options->workers, options->connections_max);
    int status = server_keys_open(&options->http, &service.keys);
    if (status == SERVER_EXIT_DONE)
        status = server_http_tls_open(&options->http.tls, &service.tls);
    if (status == SERVER_EXIT_DONE)
        status = open_places(&service);
    if (status == SERVER_EXIT_DONE)
        status = serve_places(&service);
    api_tls_free(service.tls);
    storage_sqlite_store_close(service.places.store);
    api_keyring_free(service.keys);
    return status;
}
