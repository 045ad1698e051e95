/* pawld as a service: the parts that a process has only once: the address, the signals, the exit
 * status. */
#include "api/tls/keys.h"
#include "server/loop/descriptors.h"
#include "server/loop/keys.h"
#include "server/loop/listeners.h"
#include "server/pawld/listeners.h"
#include "server/pawld/password.h"
#include "server/pawld/pawld.h"
#include "server/pawld/predecessor.h"
#include "server/pawld/reload.h"
#include "server/pawld/successor.h"
#include "server/pawld/supervisor.h"
#include "server/pawld/workers.h"
#include "server/system/clock.h"
#include "server/system/log.h"
#include "server/system/options.h"
#include "storage/sqlite/store.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int watched[] = {SIGTERM, SIGINT, SIGHUP};

enum {
    SIGNALS = sizeof(watched) / sizeof(watched[0]),
    PAWLD_READY_MS = 10 * 1000,
};

struct service {
    const struct pawld_options *options;
    struct server_addresses addresses;
    struct api_tls *tls;      /* NULL: none */
    struct api_keyring *keys; /* NULL: every caller has all rights */
    struct server_passed passed;
    struct server_listeners listeners;
    bool listeners_are_lent; /* the sockets belong to a predecessor that still serves */
    struct pawld_workers workers;
    struct server_metrics *metrics; /* one for each worker */
    uv_signal_t signals[SIGNALS];
    struct pawld_reloads reloads;
    struct pawld_password password;   /* password of masters, where a file has it */
    struct server_line_writer *audit; /* NULL: no audit log */
    struct server_event_ring *events;
    struct pawld_supervisor supervisor;
    struct pawld_predecessor predecessor;
    struct pawld_sockets sockets; /* for a successor */
    struct pawld_successor successor;
    uint64_t ready_till_us; /* by then this process must be ready, or it leaves the predecessor
                             * alone */
    int status;             /* the exit status, if nothing else fails */
    bool stopping;
};

/* ---- signals --------------------------------------------------------------------------------- */

static void stop_workers(struct service *service)
{
    service->stopping = true;
    pawld_workers_each(&service->workers, server_worker_stop);
}

/* The first signal drains. A second signal ends the process without waiting. */
static void on_stop_signal(struct service *service)
{
    if (!service->stopping) {
        const struct server_worker_ends *ends = &service->options->ends;
        server_log(SERVER_LOG_INFO, "stopping");
        pawld_supervise_stopping(&service->supervisor, (uint64_t)ends->lead_ms + ends->drain_ms +
                                                           PAWLD_STUCK_S * UINT64_C(1000));
        stop_workers(service);
        return;
    }
    server_log(SERVER_LOG_INFO, "second stop signal: pawld does not wait for calls in progress");
    pawld_workers_each(&service->workers, server_worker_halt);
}

/* Another process will remove the files of sockets. */
static void disown_files(struct server_listeners *listeners)
{
    for (unsigned i = 0; i < listeners->count; i++)
        listeners->listener[i].is_file = false;
}

/* Closes the listeners. While two processes have the sockets, neither removes a file: a file that
 * remains does no harm (api/wire/socket_file.h). */
static void close_listeners_of(struct service *service)
{
    if (service->listeners_are_lent || service->successor.asked)
        disown_files(&service->listeners);
    server_listeners_close(&service->listeners);
}

/* Another pawld has the sockets, and serves or is about to. */
static void on_successor(void *context, int pid)
{
    struct service *service = context;
    server_log(SERVER_LOG_INFO, "process %d replaces this pawld", pid);
    disown_files(&service->listeners);
    pawld_workers_each(&service->workers, server_worker_hand_over);
}

/* From now on another process can replace this one. */
static void await_successor(struct service *service)
{
    assert(service->workers.made > 0 && service->options->hand_over);
    const struct server_worker_ends *ends = &service->options->ends;
    const struct pawld_successor_config config = {
        .loop = server_worker_loop(service->workers.worker[0]),
        .path = service->options->hand_over,
        .sockets = &service->sockets,
        .most_ms =
            2 * ends->drain_ms + PAWLD_STUCK_S * 1000, /* for clients to move, and to drain */
        .leave = on_successor,
        .context = service,
    };
    pawld_successor_await(&service->successor, &config);
}

/* Dismisses the predecessor when this process can do its work. If that takes too long, this process
 * ends. */
static bool on_serving_look(void *context, bool ready)
{
    struct service *service = context;
    if (service->predecessor.fd < 0 || ready) {
        await_successor(service);
        if (service->predecessor.fd >= 0)
            (void)pawld_predecessor_dismiss(&service->predecessor);
        service->listeners_are_lent = false;
        pawld_predecessor_close(&service->predecessor);
        return true;
    }
    if (server_clock_us() < service->ready_till_us)
        return false;
    server_log(SERVER_LOG_ERROR,
               "not ready after %d ms: this pawld exits, and the old pawld continues",
               PAWLD_READY_MS);
    pawld_predecessor_close(&service->predecessor);
    service->status = SERVER_EXIT_FAILED;
    pawld_workers_each(&service->workers,
                       server_worker_hand_over); /* another process has the sockets */
    pawld_workers_each(&service->workers, server_worker_stop);
    return true;
}

static void reload(struct service *service)
{
    pawld_supervise_reloading(&service->supervisor);
    (void)pawld_reload_all(&service->reloads);
    pawld_workers_each(&service->workers, server_worker_reload);
    pawld_supervise_reloaded(&service->supervisor);
}

static void on_reloaded(void *context, unsigned index)
{
    const struct service *service = context;
    pawld_reload_take(&service->reloads, index);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct service *service = handle->data;
    if (number == SIGHUP)
        reload(service);
    else
        on_stop_signal(service);
}

/* Reloads the keys. A request under way keeps its key, and a connection keeps its certificate. */
static bool load_keys(void *context)
{
    const struct service *service = context;
    return server_keys_reload(&service->options->http, service->keys);
}

static bool load_certificates(void *context)
{
    const struct service *service = context;
    return server_http_tls_reload(service->tls);
}

static bool load_password(void *context)
{
    struct service *service = context;
    return pawld_password_reload(&service->password, service->options->password_file);
}

static void take_password(void *context, unsigned index)
{
    struct service *service = context;
    assert(index < service->workers.made);
    char text[STORAGE_SECRET_MAX + 1];
    pawld_password_copy(&service->password, text);
    server_worker_password(service->workers.worker[index], text);
    explicit_bzero(text, sizeof(text));
}

/* logrotate(8) has moved the file away. */
static bool reopen_audit_log(void *context)
{
    const struct service *service = context;
    return server_line_writer_reopen(service->audit);
}

static void add_reloads(struct service *service)
{
    const struct pawld_reload audit_log = {
        .name = "audit log", .load = reopen_audit_log, .context = service};
    const struct pawld_reload keys = {.name = "keys", .load = load_keys, .context = service};
    const struct pawld_reload certificates = {
        .name = "certificates", .load = load_certificates, .context = service};
    const struct pawld_reload password = {.name = "password of the masters",
                                          .load = load_password,
                                          .take = take_password,
                                          .context = service};
    if (service->options->password_file && service->options->masters_count > 0)
        pawld_reload_add(&service->reloads, &password);
    if (service->audit)
        pawld_reload_add(&service->reloads, &audit_log);
    if (service->keys)
        pawld_reload_add(&service->reloads, &keys);
    if (service->tls)
        pawld_reload_add(&service->reloads, &certificates);
}

/* Runs in the loop on the main thread. The signal may have interrupted any thread. */
static void watch_signals(struct service *service)
{
    assert(service->workers.made > 0);
    uv_loop_t *loop = server_worker_loop(service->workers.worker[0]);
    int failed = 0;
    for (int i = 0; i < SIGNALS; i++) {
        failed |= uv_signal_init(loop, &service->signals[i]);
        failed |= uv_signal_start(&service->signals[i], on_signal, watched[i]);
        service->signals[i].data = service;
    }
    assert(!failed); /* they only fill in memory and install handlers */
}

static void forget_signals(struct service *service)
{
    for (int i = 0; i < SIGNALS; i++)
        uv_close((uv_handle_t *)&service->signals[i], NULL);
    (void)signal(SIGHUP, SIG_IGN); /* there is nothing to reload any more */
}

/* ---- the workers ----------------------------------------------------------------------------- */

static int make_workers(struct service *service)
{
    const struct pawld_options *options = service->options;
    const struct server_worker_config config = {
        .workers = options->workers,
        .listeners = &service->listeners,
        .http = &options->http,
        .keys = service->keys,
        .addresses = service->addresses,
        .takes_over = service->listeners_are_lent,
        .deadline_ms = options->deadline_ms,
        .probe_ms = options->probe_ms,
        .ask = options->ask,
        .connections_max = options->connections_max,
        .waiters_max = options->waiters_max,
        .counters_max = options->counters_max,
        .ttl_max_ms = options->ttl_max_ms,
        .extensions_max = options->extensions_max,
        .traces = options->log_level == SERVER_LOG_TRACE,
        .trace_lock = options->trace_lock,
        .metrics = service->metrics,
        .version = PAWL_VERSION,
        .audit = service->audit,
        .events = service->events,
        .ends = options->ends,
        .reloaded = on_reloaded,
        .reloaded_context = service,
    };
    return pawld_workers_make(&service->workers, &config, options->workers);
}

/* Runs all workers until they are stopped. */
static int run_workers(struct service *service)
{
    const int status = pawld_workers_start(&service->workers);
    if (status == SERVER_EXIT_DONE)
        server_listeners_announce(&service->listeners);
    else
        stop_workers(service);
    pawld_workers_run(&service->workers);
    return status;
}

/* Checks the terms of the fleet: they were set at its start and cannot change now. */
static int check_terms(const struct pawld_options *options,
                       const struct storage_sqlite_store *store)
{
    uint32_t has_ms = storage_sqlite_store_file(store)->ttl_max_ms;
    uint32_t has = storage_sqlite_store_file(store)->extensions_max;
    if (has_ms == 0) /* the file belongs to no fleet yet */
        return SERVER_EXIT_DONE;
    if (has == 0)
        has = FENCE_EXTENSIONS_MAX;
    if (options->ttl_max_ms != 0 && options->ttl_max_ms != has_ms)
        (void)server_options_error("--max-ttl-ms %u: the longest lease of the fleet in %s is %u "
                                   "ms, set when the fleet was created. Remove the option",
                                   (unsigned)options->ttl_max_ms, options->data, (unsigned)has_ms);
    else if (options->extensions_max != 0 && options->extensions_max != has)
        (void)server_options_error(
            "--max-extensions %u: a grant of the fleet in %s can be extended %u times, set when "
            "the fleet was created. Remove the option",
            (unsigned)options->extensions_max, options->data, (unsigned)has);
    else
        return SERVER_EXIT_DONE;
    return SERVER_EXIT_USAGE;
}

/* Opens the masters. A file that never belonged to a fleet becomes one: it cannot have lost
 * data. */
static int open_addresses(struct service *service)
{
    struct server_addresses *addresses = &service->addresses;
    int status = pawld_addresses_open(service->options, false, addresses);
    if (status || !addresses->store)
        return status;
    server_log(SERVER_LOG_INFO, "serving from %s, without Redis masters",
               storage_sqlite_store_file(addresses->store)->path);
    if (storage_sqlite_store_file(addresses->store)->is_new)
        return pawld_make_fleet(addresses, service->options);
    return check_terms(service->options, addresses->store);
}

/* Opens the listeners, and copies their sockets for a process that will replace this one. */
static int prepare_listeners(struct service *service)
{
    const struct pawld_options *options = service->options;
    int status = SERVER_EXIT_DONE;
    if (service->listeners.count == 0) /* no predecessor gave its listeners */
        status = pawld_listeners_open(options, service->tls, &service->passed, &service->listeners);
    if (status == SERVER_EXIT_DONE)
        status = server_keys_check_listeners(&options->http, &service->listeners);
    if (status == SERVER_EXIT_DONE && options->hand_over &&
        pawld_sockets_keep(&service->listeners, &service->sockets) != 0) {
        server_log(SERVER_LOG_ERROR, "cannot keep sockets for a successor: %s", strerror(errno));
        status = SERVER_EXIT_FAILED;
    }
    return status;
}

static int prepare_metrics(struct service *service)
{
    service->metrics = server_metrics_new(service->options->workers);
    if (service->metrics)
        return SERVER_EXIT_DONE;
    server_log(SERVER_LOG_ERROR, "cannot start: %s", fence_strerror(FENCE_ENOMEM));
    return SERVER_EXIT_FAILED;
}

static int refuse_audit_log(const struct service *service, int error)
{
    server_log(SERVER_LOG_ERROR, "cannot write the audit log %s: %s", service->options->audit_log,
               error == FENCE_EIO ? strerror(errno) : fence_strerror(error));
    return SERVER_EXIT_FAILED;
}

/* Opens the audit log before a predecessor is dismissed or a folder is made: so an unwritable log
 * is reported first. */
static int open_audit_log(struct service *service)
{
    const char *path = service->options->audit_log;
    const int error = path ? server_line_writer_new(path, "audit log", &service->audit) : 0;
    return error ? refuse_audit_log(service, error) : SERVER_EXIT_DONE;
}

/* Makes the file of the audit log once nothing else can refuse the start: a refused start leaves no
 * empty file. */
static int make_audit_log(struct service *service)
{
    const int error = service->audit ? server_line_writer_make(service->audit) : 0;
    return error ? refuse_audit_log(service, error) : SERVER_EXIT_DONE;
}

static int prepare_events(struct service *service)
{
    if (server_event_ring_new(&service->events) == 0)
        return SERVER_EXIT_DONE;
    server_log(SERVER_LOG_ERROR, "cannot start: out of memory");
    return SERVER_EXIT_FAILED;
}

static int serve_addresses(struct service *service)
{
    int status = prepare_metrics(service);
    if (status == SERVER_EXIT_DONE)
        status = prepare_events(service);
    if (status == SERVER_EXIT_DONE)
        status = make_workers(service);
    if (status == SERVER_EXIT_DONE)
        status = make_audit_log(service);
    if (status == SERVER_EXIT_DONE) {
        watch_signals(service);
        if (service->options->hand_over)
            service->supervisor.serving = on_serving_look;
        service->ready_till_us = server_clock_us() + PAWLD_READY_MS * UINT64_C(1000);
        service->supervisor.context = service;
        pawld_supervise(&service->supervisor, service->workers.worker, service->workers.made);
        status = run_workers(service);
        if (status == SERVER_EXIT_DONE)
            status = service->status;
        pawld_supervise_end(&service->supervisor);
        pawld_successor_end(&service->successor);
        forget_signals(service);
    }
    pawld_workers_free(&service->workers);
    free(service->metrics);
    return status;
}

/* Asks a running pawld for its sockets. With a file, waits until that pawld has ended. */
static int find_predecessor(struct service *service)
{
    const struct pawld_options *options = service->options;
    struct pawld_predecessor *predecessor = &service->predecessor;
    if (!options->hand_over)
        return SERVER_EXIT_DONE;
    int status = pawld_predecessor_find(options->hand_over, options->workers, service->tls,
                                        predecessor, &service->listeners);
    if (status || predecessor->fd < 0)
        return status;
    server_log(SERVER_LOG_INFO, "replacing the pawld at %s", options->hand_over);
    service->supervisor.took_place = true;
    service->listeners_are_lent = true;
    if (!options->data)
        return SERVER_EXIT_DONE;
    if (pawld_predecessor_dismiss(predecessor) && !pawld_predecessor_wait(predecessor))
        return SERVER_EXIT_FAILED;
    service->listeners_are_lent = false;
    pawld_predecessor_close(predecessor);
    return SERVER_EXIT_DONE;
}

int pawld_serve(const struct pawld_options *options)
{
    struct service service = {
        .options = options,
        .predecessor.fd = -1,
        .successor = {.listen_fd = -1, .fd = -1},
    };
    server_log_configure(options->log_form, options->log_level);
    (void)signal(SIGHUP, SIG_IGN); /* until signals are watched; all files are read fresh anyway */
    if (server_passed_sockets(&service.passed) != 0 ||
        server_descriptors_check(options->workers, options->connections_max) != 0)
        return SERVER_EXIT_FAILED;
    pawld_supervisor_open(&service.supervisor);
    pawld_password_init(&service.password);
    int status = server_keys_open(&options->http, &service.keys);
    if (status == SERVER_EXIT_DONE)
        status = server_http_tls_open(&options->http.tls, &service.tls);
    if (status == SERVER_EXIT_DONE)
        status = open_audit_log(&service);
    add_reloads(&service);
    if (status == SERVER_EXIT_DONE)
        status = find_predecessor(&service);
    if (status == SERVER_EXIT_DONE)
        status = prepare_listeners(&service); /* before a new folder is made: it would stay */
    if (status == SERVER_EXIT_DONE)
        status = open_addresses(&service);
    if (status == SERVER_EXIT_DONE)
        status = serve_addresses(&service);
    close_listeners_of(&service);
    pawld_sockets_drop(&service.sockets);
    api_tls_free(service.tls);
    storage_sqlite_store_close(service.addresses.store);
    api_keyring_free(service.keys);
    pawld_predecessor_close(&service.predecessor);
    pawld_successor_close(&service.successor); /* its end shows that the file is closed */
    server_line_writer_free(service.audit);    /* its reader may be stuck */
    server_event_ring_free(service.events);
    pawld_supervisor_close(&service.supervisor);
    pawld_password_fini(&service.password);
    return status;
}
