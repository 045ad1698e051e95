/* pawl-ledger: accounts in one SQLite file, guarded by fencing tokens, served over HTTP. One
 * thread, one loop; every call is a short transaction and is answered before the next call
 * begins. */
#include "api/auth/auth.h"
#include "api/tls/keys.h"
#include "server/ledger/metrics.h"
#include "server/loop/descriptors.h"
#include "server/loop/http_loop.h"
#include "server/loop/http_options.h"
#include "server/loop/keys.h"
#include "server/loop/listeners.h"
#include "server/loop/routes.h"
#include "server/system/log.h"
#include "server/system/options.h"

#include <argp.h>
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

const char *argp_program_version = "pawl-ledger " PAWL_VERSION;

/* ---- options --------------------------------------------------------------------------------- */

struct options {
    struct server_http_options http;
    const char *db;
    bool unguarded;
    bool routes; /* only print the routes */
};

enum {
    OPTION_DB = 0x100, /* beyond characters: there are no short options */
    OPTION_UNGUARDED,
    OPTION_ROUTES,
};

static const struct argp_option option_list[] = {
    {"db", OPTION_DB, "FILE", 0, "The database (default pawl-ledger.db)", 0},
    {"unguarded", OPTION_UNGUARDED, NULL, 0,
     "Do not check tokens, so that stale holders overwrite newer writes. Use this option only to "
     "demonstrate the guard",
     0},
    {"routes", OPTION_ROUTES, NULL, 0,
     "Print the method, the path and the required right of each route, and exit", 0},
    {0},
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        server_options_init(state);
        state->child_inputs[0] = &options->http;
        return 0;
    case OPTION_DB:
        if (text[0] == '\0')
            return server_options_error("--db needs the name of a file");
        options->db = text;
        return 0;
    case OPTION_UNGUARDED:
        options->unguarded = true;
        return 0;
    case OPTION_ROUTES:
        options->routes = true;
        return 0;
    case ARGP_KEY_END:
        return server_keys_check_listens(&options->http) ? SERVER_OPTIONS_TOLD : 0;
    case ARGP_KEY_ARG:
        return server_options_error("takes options only, not '%s'", text);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&server_http_argp, 0, NULL, 0}, {0}};

static const struct argp parser = {
    .options = option_list,
    .parser = parse_option,
    .children = children,
    .doc = "Serves accounts whose writes are guarded by fencing tokens, from one SQLite file.",
};

/* ---- the program ----------------------------------------------------------------------------- */

enum {
    STOP_SIGNALS = 2
};

static const int stop_signals[STOP_SIGNALS] = {SIGTERM, SIGINT};

struct program {
    const struct options *options;
    struct ledger ledger;
    struct ledger_metrics metrics;
    struct api_tls *tls; /* NULL: none */
    struct server_listeners listeners;
    uv_loop_t loop;
    uv_signal_t stop_signals[STOP_SIGNALS];
    uv_signal_t reload_signal;
    struct server_http_loop http_loop;
    struct api_keyring *keys; /* NULL: every caller has all rights */
    struct api_auth *auth;
};

static void on_ledger_signal(uv_signal_t *handle, int number)
{
    (void)number;
    uv_stop(handle->loop);
}

static void on_ledger_reload(uv_signal_t *handle, int number)
{
    const struct program *program = handle->data;
    (void)number;
    if (program->keys && server_keys_reload(&program->options->http, program->keys))
        server_log(SERVER_LOG_INFO, "reloaded: keys");
    if (program->tls && server_http_tls_reload(program->tls))
        server_log(SERVER_LOG_INFO, "reloaded: certificates");
}

static void watch_stop_signals(struct program *program)
{
    for (int i = 0; i < STOP_SIGNALS; i++) {
        int failed = uv_signal_init(&program->loop, &program->stop_signals[i]) |
                     uv_signal_start(&program->stop_signals[i], on_ledger_signal, stop_signals[i]);
        assert(!failed);
    }
    int failed = uv_signal_init(&program->loop, &program->reload_signal) |
                 uv_signal_start(&program->reload_signal, on_ledger_reload, SIGHUP);
    assert(!failed);
    program->reload_signal.data = program;
}

static void close_loop(struct program *program)
{
    for (int i = 0; i < STOP_SIGNALS; i++)
        uv_close((uv_handle_t *)&program->stop_signals[i], NULL);
    uv_close((uv_handle_t *)&program->reload_signal, NULL);
    int pending = uv_run(&program->loop, UV_RUN_DEFAULT); /* runs the close callbacks */
    assert(!pending);
    int busy = uv_loop_close(&program->loop);
    assert(!busy);
}

/* Serves until a stop signal. Returns the exit status. */
static int serve(struct program *program, struct api_http *http)
{
    if (uv_loop_init(&program->loop) != 0) {
        server_log(SERVER_LOG_ERROR, "cannot make an event loop");
        return SERVER_EXIT_FAILED;
    }
    int status = SERVER_EXIT_FAILED;
    watch_stop_signals(program);
    if (server_http_loop_init(&program->http_loop, &program->loop, http) == 0) {
        server_listeners_announce(&program->listeners);
        uv_run(&program->loop, UV_RUN_DEFAULT);
        server_log(SERVER_LOG_INFO, "stopping");
        api_http_quiesce(http);
        server_http_loop_fini(&program->http_loop);
        status = SERVER_EXIT_DONE;
    } else {
        server_log(SERVER_LOG_ERROR, "cannot poll the HTTP server");
    }
    close_loop(program);
    return status;
}

/* Returns the exit status; SERVER_EXIT_DONE sets *@ret_http. */
static int start_ledger_http(const struct options *options, struct program *program,
                             struct api_http **ret_http)
{
    static char no_label[] = "";
    struct api_door own[API_DOORS_MAX];
    struct server_listeners *listeners = &program->listeners;
    int status = server_http_tls_open(&options->http.tls, &program->tls);
    if (status)
        return status;
    status = server_listeners_open(&options->http.listens, program->tls, 1, listeners);
    if (status)
        return status;
    status = server_keys_check_listeners(&options->http, listeners);
    if (status) {
        server_listeners_close(listeners);
        return status;
    }
    server_listeners_of(listeners, 0, own);
    struct api_http_config config = {
        .doors = own,
        .doors_count = listeners->count,
        .routes = program->metrics.tables,
        .routes_count = LEDGER_TABLES,
        .access = api_auth_access(program->auth),
        .observer = api_calls_observer(&program->metrics.calls),
        .connections = server_descriptors_for_clients(1, API_HTTP_CONNECTIONS),
        .log = server_http_log,
        .log_context = no_label,
    };
    server_http_options_apply(&options->http, &config);
    int error = api_http_new(&config, ret_http);
    if (error) {
        server_log(SERVER_LOG_ERROR, "cannot serve HTTP: %s", fence_strerror(error));
        server_listeners_close(listeners);
        return SERVER_EXIT_FAILED;
    }
    server_listeners_given(listeners, 0);
    program->metrics.http = *ret_http;
    return SERVER_EXIT_DONE;
}

static int open_keys(struct program *program, const struct options *options)
{
    int status = server_keys_open(&options->http, &program->keys);
    if (status != SERVER_EXIT_DONE || !program->keys)
        return status;
    if (api_auth_new(program->keys, &program->auth) == 0)
        return SERVER_EXIT_DONE;
    server_log(SERVER_LOG_ERROR, "cannot start: out of memory");
    return SERVER_EXIT_FAILED;
}

static int open_ledger(const struct options *options, struct ledger *ledger)
{
    if (options->unguarded)
        server_log(SERVER_LOG_WARNING,
                   "UNGUARDED: fencing tokens are NOT checked, and stale holders WILL overwrite "
                   "newer writes. Do not use this file for data that you need");
    if (ledger_init(ledger, options->db, !options->unguarded) != 0) {
        server_log(SERVER_LOG_ERROR, "cannot open the database %s: %s", options->db, ledger->error);
        return SERVER_EXIT_FAILED;
    }
    return SERVER_EXIT_DONE;
}

int main(int argc, char **argv)
{
    struct options options = {
        .http.listens = {.address = {"127.0.0.1:7381"}, .address_count = 1},
        .db = "pawl-ledger.db",
    };
    server_options_streams();
    server_options_signals();
    if (server_options_parse(&parser, argc, argv, 0, &options) != 0)
        return SERVER_EXIT_USAGE;

    /* The address comes first, so that a mistake in it creates no file. No request is served before
     * the loop runs, and by then the routes have the ledger. */
    struct program program = {.options = &options};
    if (server_descriptors_check(1, API_HTTP_CONNECTIONS) != 0)
        return SERVER_EXIT_FAILED;
    ledger_metrics_init(&program.metrics, &program.ledger, PAWL_VERSION);
    struct api_http *http = NULL;
    if (options.routes) {
        server_routes_print(program.metrics.tables, LEDGER_TABLES);
        return SERVER_EXIT_DONE;
    }
    int status = open_keys(&program, &options);
    if (status == SERVER_EXIT_DONE)
        status = start_ledger_http(&options, &program, &http);
    if (status == SERVER_EXIT_DONE) {
        status = open_ledger(&options, &program.ledger);
        if (status == SERVER_EXIT_DONE)
            status = serve(&program, http);
        api_http_free(http);
        server_listeners_close(&program.listeners);
        ledger_fini(&program.ledger);
    }
    api_tls_free(program.tls);
    api_auth_free(program.auth);
    api_keyring_free(program.keys);
    return status;
}
