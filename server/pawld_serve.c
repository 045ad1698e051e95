/* pawld at work: HTTP in front, the driver behind, one loop around both. */
#include "api/locks.h"
#include "api/service.h"
#include "server/descriptors.h"
#include "server/driver.h"
#include "server/http_loop.h"
#include "server/log.h"
#include "server/options.h"
#include "server/pawld.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

enum {
    STOP_SIGNALS = 2,
    DRAIN_MS = 1000, /* for calls under way to be answered, once told to stop */
};

struct service {
    uv_loop_t loop;
    uv_signal_t stop_signals[STOP_SIGNALS];
    uv_timer_t drain;
    struct api_backend backend;
    struct api_http *http;
    struct server_http_loop http_loop;
    struct server_driver *driver;
    bool stopping;
};

/* ---- what the API asks for ------------------------------------------------------------------- */

static void backend_call(void *context, const struct fence_call *call)
{
    struct service *service = context;
    server_driver_call(service->driver, call);
}

static const struct fence_fleet *backend_fleet(void *context)
{
    struct service *service = context;
    return server_driver_fleet(service->driver);
}

static const char *backend_address(void *context, unsigned i)
{
    struct service *service = context;
    return server_driver_address(service->driver, i);
}

static const char *backend_detail(void *context, unsigned i)
{
    struct service *service = context;
    return server_driver_detail(service->driver, i);
}

static uint64_t backend_round_trip(void *context, unsigned i)
{
    struct service *service = context;
    return server_driver_round_trip_us(service->driver, i);
}

static bool backend_back(void *context, unsigned i, uint64_t *ret_us)
{
    struct service *service = context;
    return server_driver_back_us(service->driver, i, ret_us);
}

static const struct fence_audit *backend_audit(void *context)
{
    struct service *service = context;
    return server_driver_audit(service->driver);
}

static void backend_lock_id(void *context, char ret_id[static FENCE_LOCK_ID_LEN + 1])
{
    struct service *service = context;
    server_random_lock_id(server_driver_random(service->driver), ret_id);
}

static bool on_answer(void *context, const struct fence_answer *answer)
{
    struct service *service = context;
    server_http_loop_answered(&service->http_loop);
    return api_locks_answer(answer);
}

static void on_left(void *context, uint64_t client)
{
    struct service *service = context;
    server_driver_left(service->driver, client);
}

/* ---- stopping -------------------------------------------------------------------------------- */

static void on_drain_over(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

static void on_stop_signal(uv_signal_t *handle, int number)
{
    struct service *service = handle->data;
    (void)number;
    if (service->stopping)
        return;
    service->stopping = true;
    server_log(SERVER_LOG_INFO, "stopping");
    api_http_quiesce(service->http);
    uv_timer_start(&service->drain, on_drain_over, DRAIN_MS, 0);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void before_sleep(void *context)
{
    struct service *service = context;
    server_driver_turn(service->driver);
    if (service->stopping && server_driver_calls(service->driver) == 0)
        uv_stop(&service->loop);
}

static void add_handles(struct service *service)
{
    static const int signals[STOP_SIGNALS] = {SIGTERM, SIGINT};
    int failed = uv_timer_init(&service->loop, &service->drain);
    for (int i = 0; i < STOP_SIGNALS; i++) {
        failed |= uv_signal_init(&service->loop, &service->stop_signals[i]);
        failed |= uv_signal_start(&service->stop_signals[i], on_stop_signal, signals[i]);
        service->stop_signals[i].data = service;
    }
    assert(!failed); /* they only fill in memory and install handlers */
}

static void close_handles(struct service *service)
{
    uv_close((uv_handle_t *)&service->drain, NULL);
    for (int i = 0; i < STOP_SIGNALS; i++)
        uv_close((uv_handle_t *)&service->stop_signals[i], NULL);
    uv_run(&service->loop, UV_RUN_DEFAULT); /* closes what was asked to close */
    int busy = uv_loop_close(&service->loop);
    assert(!busy);
}

static int run(struct service *service, const struct pawld_options *options)
{
    const struct server_driver_config config = {
        .loop = &service->loop,
        .masters = options->masters,
        .n = options->masters_count,
        .waiters = options->waiters_max,
        .answer = on_answer,
        .context = service,
    };
    int error = server_driver_new(&config, &service->driver);
    if (!error)
        error = server_http_loop_init(&service->http_loop, &service->loop, service->http);
    if (error) {
        server_log(SERVER_LOG_ERROR, "cannot start: %s", fence_strerror(error));
        return SERVER_EXIT_FAILED;
    }
    server_http_loop_before_sleep(&service->http_loop, before_sleep, service);
    server_http_announce(options->listen, service->http);
    uv_run(&service->loop, UV_RUN_DEFAULT);
    server_http_loop_fini(&service->http_loop);
    return SERVER_EXIT_DONE;
}

static int start_listening(struct service *service, const struct pawld_options *options,
                           const struct api_routes *routes, size_t routes_count)
{
    unsigned connections = server_descriptors_for_clients();
    const struct api_http_config config = {
        .listen = options->listen,
        .routes = routes,
        .routes_count = routes_count,
        .connections = connections < API_HTTP_CONNECTIONS ? connections : API_HTTP_CONNECTIONS,
        .log = server_http_log,
        .left = on_left,
        .left_context = service,
    };
    int error = api_http_new(&config, &service->http);
    if (error == FENCE_EINVAL) {
        (void)server_options_error("--listen takes a numeric address with a port, such as "
                                   "127.0.0.1:7380, not '%s'",
                                   options->listen);
        return SERVER_EXIT_USAGE;
    }
    if (error) {
        server_log(SERVER_LOG_ERROR, "cannot listen on %s: %s", options->listen,
                   error == FENCE_EIO ? strerror(errno) : fence_strerror(error));
        return SERVER_EXIT_FAILED;
    }
    return SERVER_EXIT_DONE;
}

int pawld_serve(const struct pawld_options *options)
{
    struct service service = {
        .backend =
            {
                .call = backend_call,
                .fleet = backend_fleet,
                .master_address = backend_address,
                .master_detail = backend_detail,
                .master_round_trip_us = backend_round_trip,
                .master_back_us = backend_back,
                .audit = backend_audit,
                .new_lock_id = backend_lock_id,
            },
    };
    service.backend.context = &service;
    const struct api_routes routes[] = {
        api_locks_routes(&service.backend),
        api_service_routes(&service.backend),
    };
    int status = start_listening(&service, options, routes, sizeof(routes) / sizeof(routes[0]));
    if (status != SERVER_EXIT_DONE)
        return status;
    if (uv_loop_init(&service.loop) != 0) {
        server_log(SERVER_LOG_ERROR, "cannot make an event loop");
        api_http_free(service.http);
        return SERVER_EXIT_FAILED;
    }
    add_handles(&service);
    status = run(&service, options);
    api_http_free(service.http);
    server_driver_free(service.driver);
    close_handles(&service);
    return status;
}
