#include "api/v1/metrics.h"

#include "api/http/problem_answer.h"
#include "api/metrics/answer.h"
#include "api/metrics/connections.h"
#include "api/metrics/process.h"
#include "api/v1/ready.h"
#include "fence/protocol/lease.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MEMBER_MAX = 4, /* bytes of a member's number, terminated */
};

static_assert(sizeof(union api_worker_counters) == sizeof(struct api_worker_metrics),
              "a worker's metrics are counters alone");

struct member {
    char number[MEMBER_MAX];
};

static struct member master_label(unsigned i)
{
    struct member member;
    assert(i < FENCE_MASTERS_MAX);
    (void)snprintf(member.number, sizeof(member.number), "%u", (i + 1) % 1000);
    return member;
}

/* ---- locks ----------------------------------------------------------------------------------- */

static void write_grants(const struct api_worker_metrics *sum, struct api_metrics_text *text)
{
    static const char *const paths[API_GRANT_PATHS] = {
        [API_GRANT_FAST] = "fast",
        [API_GRANT_CONFIRMED] = "confirmed",
        [API_GRANT_FOUND] = "found",
    };
    api_metrics_family(text, API_METRIC_COUNTER, "pawl_grants_total",
                       "Grants by path. A 'fast' grant took one round to the masters. A "
                       "'confirmed' grant took two rounds. A 'found' grant was a retry that "
                       "found its lock.");
    for (unsigned path = 0; path < API_GRANT_PATHS; path++) {
        const struct api_labels labels = {{{"path", paths[path]}}};
        api_metrics_count(text, &labels, api_counter_get(&sum->grants[path]));
    }
}

static void write_extensions(const struct api_worker_metrics *sum, struct api_metrics_text *text)
{
    api_metrics_counter(text, "pawl_extensions_total", "Extended leases.",
                        api_counter_get(&sum->extensions));
    api_metrics_counter(text, "pawl_regrants_total",
                        "Extensions that returned a new grant with a new token.",
                        api_counter_get(&sum->regrants));
    api_metrics_counter(text, "pawl_extensions_exhausted_total",
                        "Extensions refused because the lock had reached its extension limit.",
                        api_counter_get(&sum->exhausted));
    api_metrics_counter(text, "pawl_locks_lost_total",
                        "Extensions refused because the lock was lost.",
                        api_counter_get(&sum->lost));
    api_metrics_counter(text, "pawl_locks_broken_total",
                        "Grants that an operator broke (force-released).",
                        api_counter_get(&sum->broken));
}

static void write_closed(const struct api_worker_metrics *sum, struct api_metrics_text *text)
{
    api_metrics_counter(
        text, "pawl_grants_delayed_total",
        "Grants with delay_ms. After the lease expires, the name stays closed for this time.",
        api_counter_get(&sum->delayed));
    api_metrics_counter(text, "pawl_releases_kept_total",
                        "Releases with keep_ms. After the release, the name stays closed for "
                        "this time.",
                        api_counter_get(&sum->kept));
}

static void write_times(const struct api_worker_metrics *sum, struct api_metrics_text *text)
{
    api_metrics_family(text, API_METRIC_HISTOGRAM, "pawl_acquire_duration_seconds",
                       "Time from an acquire to its grant, for acquires that did not wait.");
    api_metrics_histogram(text, NULL, &sum->acquire, API_SCALE_TIME);
    api_metrics_family(text, API_METRIC_HISTOGRAM, "pawl_wait_duration_seconds",
                       "Time from an acquire to its answer, for acquires that waited or that "
                       "retried after a conflict.");
    api_metrics_histogram(text, NULL, &sum->wait, API_SCALE_TIME);
    api_metrics_family(text, API_METRIC_HISTOGRAM, "pawl_hold_duration_seconds",
                       "Time from a grant to its release, if one worker handled both.");
    api_metrics_histogram(text, NULL, &sum->hold, API_SCALE_TIME);
}

static void write_attempts(const struct api_worker_metrics *sum, struct api_metrics_text *text)
{
    api_metrics_counter(text, "pawl_attempts_total",
                        "Attempts at the masters to acquire the locks that a call requests.",
                        api_counter_get(&sum->attempts));
    api_metrics_counter(text, "pawl_attempts_contended_total",
                        "Attempts that failed because several callers each got some of the "
                        "masters.",
                        api_counter_get(&sum->contended));
    api_metrics_counter(
        text, "pawl_attempts_confirmed_total",
        "Attempts with a second round, because the masters returned different tokens.",
        api_counter_get(&sum->confirms));
    api_metrics_counter(text, "pawl_hedges_total",
                        "Requests to an extra master because another master was late.",
                        api_counter_get(&sum->hedges));
    api_metrics_gauge(text, "pawl_cleanups_pending",
                      "Leftover locks: a master has not confirmed the removal yet.",
                      api_counter_get(&sum->cleanups));
}

/* ---- the service ----------------------------------------------------------------------------- */

static void write_load(const struct api_worker_metrics *sum, struct api_metrics_text *text)
{
    api_metrics_gauge(text, "pawl_calls_in_progress", "Calls in progress.",
                      api_counter_get(&sum->calls_now));
    api_metrics_gauge(text, "pawl_calls_max", "Maximum number of calls in progress.",
                      api_counter_get(&sum->calls_max));
    api_metrics_gauge(text, "pawl_waiters", "Calls that wait for a lock or watch a lock.",
                      api_counter_get(&sum->waiting));
    api_metrics_gauge(text, "pawl_waiters_max",
                      "Maximum number of calls that wait for a lock or watch a lock.",
                      api_counter_get(&sum->waiting_max));
    api_metrics_gauge(text, "pawl_requests_parked",
                      "HTTP requests that wait for a lock or for the masters.",
                      api_counter_get(&sum->parked));
}

static void write_events(const struct api_worker_metrics *sum, struct api_metrics_text *text)
{
    api_metrics_gauge(text, "pawl_event_readers", "Open event streams.",
                      api_counter_get(&sum->event_readers));
    api_metrics_gauge(text, "pawl_event_readers_max", "Maximum number of open event streams.",
                      api_counter_get(&sum->event_readers_max));
    api_metrics_counter(text, "pawl_event_readers_cut_total",
                        "Event streams closed because the client did not read.",
                        api_counter_get(&sum->event_readers_cut));
    api_metrics_counter(text, "pawl_events_missed_total",
                        "Events that a client missed, and that a 'gap' event replaced.",
                        api_counter_get(&sum->events_missed));
}

static void write_connections(const struct api_worker_metrics *sum, struct api_metrics_text *text)
{
    const struct api_connection_figures figures = {
        .open_now = api_counter_get(&sum->connections),
        .most = api_counter_get(&sum->connections_max),
        .accepted = api_counter_get(&sum->accepted),
        .evicted = api_counter_get(&sum->evicted),
    };
    api_metrics_connections(&figures, text);
}

/* ---- masters --------------------------------------------------------------------------------- */

static void write_fleet(const struct api_backend *backend, struct api_metrics_text *text)
{
    const struct fence_fleet *fleet = backend->fleet;
    api_metrics_gauge(text, "pawl_ready", "1 if pawld can grant a lock now, else 0.",
                      api_is_ready(backend));
    api_metrics_gauge(text, "pawl_masters", "Number of masters in the fleet.", fleet->n);
    api_metrics_gauge(text, "pawl_masters_majority", "Number of masters that a grant needs.",
                      fence_majority(fleet->n));
    api_metrics_gauge(text, "pawl_masters_active", "Number of masters that vote.",
                      fence_fleet_active_count(fleet));
    api_metrics_gauge(text, "pawl_masters_full",
                      "Number of voting masters that have no memory left for another lock.",
                      api_count_full(backend));
}

static void write_state(const struct fence_fleet *fleet, unsigned i, struct api_metrics_text *text)
{
    const struct member member = master_label(i);
    for (enum fence_master_state state = FENCE_MASTER_DOWN; state <= FENCE_MASTER_ACTIVE; state++) {
        const struct api_labels labels = {
            {{"member", member.number}, {"state", fence_master_state_name(state)}}};
        api_metrics_count(text, &labels, fleet->master[i].state == state);
    }
}

static void write_reason(const struct fence_fleet *fleet, unsigned i, struct api_metrics_text *text)
{
    const struct member member = master_label(i);
    const enum fence_reason reason = fence_fleet_told(fleet, i);
    const struct api_labels labels = {
        {{"member", member.number},
         {"reason", fence_reason_words(reason, &fleet->master[i].facts)->name}}};
    if (reason != FENCE_REASON_NONE)
        api_metrics_count(text, &labels, 1);
}

static void write_states(const struct fence_fleet *fleet, struct api_metrics_text *text)
{
    api_metrics_family(text, API_METRIC_GAUGE, "pawl_master_state",
                       "1 for the current state of the master, 0 for the other states.");
    for (unsigned i = 0; i < fleet->n; i++)
        write_state(fleet, i, text);
    api_metrics_family(text, API_METRIC_GAUGE, "pawl_master_reason",
                       "1 for the reason why the master has no vote. A master that votes has no "
                       "sample.");
    for (unsigned i = 0; i < fleet->n; i++)
        write_reason(fleet, i, text);
}

static void write_last_round_trips(const struct api_backend *backend, unsigned n,
                                   struct api_metrics_text *text)
{
    struct api_master_status masters[FENCE_MASTERS_MAX];
    backend->masters(backend->context, masters);
    api_metrics_family(text, API_METRIC_GAUGE, "pawl_master_round_trip_seconds",
                       "Round trip of the last call or probe. No sample exists before the first "
                       "round trip.");
    for (unsigned i = 0; i < n; i++) {
        const struct member member = master_label(i);
        const struct api_labels labels = {{{"member", member.number}}};
        if (masters[i].round_trip_us > 0)
            api_metrics_seconds(text, &labels, masters[i].round_trip_us);
    }
}

/* A family with a sample for each master. */
static void write_each(struct api_metrics_text *text, enum api_metric_type type, const char *name,
                       const char *help, const struct api_counter *each, unsigned n)
{
    api_metrics_family(text, type, name, help);
    for (unsigned i = 0; i < n; i++) {
        const struct member member = master_label(i);
        const struct api_labels labels = {{{"member", member.number}}};
        api_metrics_count(text, &labels, api_counter_get(&each[i]));
    }
}

static void write_script_calls(const struct api_worker_metrics *sum, unsigned n,
                               struct api_metrics_text *text)
{
    api_metrics_family(text, API_METRIC_HISTOGRAM, "pawl_script_call_duration_seconds",
                       "Round trip of a script call, by master.");
    for (unsigned i = 0; i < n; i++) {
        const struct member member = master_label(i);
        const struct api_labels labels = {{{"member", member.number}}};
        api_metrics_histogram(text, &labels, &sum->round_trip[i], API_SCALE_TIME);
    }
    api_metrics_family(text, API_METRIC_HISTOGRAM, "pawl_script_call_requests",
                       "Number of requests in one script call.");
    api_metrics_histogram(text, NULL, &sum->requests, API_SCALE_SIZE);
}

static void write_all_of_masters(const struct api_backend *backend,
                                 const struct api_worker_metrics *sum,
                                 struct api_metrics_text *text)
{
    const struct fence_fleet *fleet = backend->fleet;
    write_fleet(backend, text);
    write_states(fleet, text);
    write_last_round_trips(backend, fleet->n, text);
    write_each(text, API_METRIC_GAUGE, "pawl_master_requests_in_flight",
               "Requests that the master has not answered yet.", sum->in_flight, fleet->n);
    write_each(text, API_METRIC_COUNTER, "pawl_master_rejoins_total",
               "Rejoins that this process completed, by master.", sum->rejoins, fleet->n);
    write_script_calls(sum, fleet->n, text);
}

/* ---- the route ------------------------------------------------------------------------------- */

void api_metrics_write(const struct api_backend *backend, const union api_worker_counters *sum,
                       struct api_metrics_text *text)
{
    api_calls_write(backend->routes, backend->routes_count, &sum->of.calls, text);
    write_grants(&sum->of, text);
    write_extensions(&sum->of, text);
    write_closed(&sum->of, text);
    write_times(&sum->of, text);
    write_attempts(&sum->of, text);
    write_load(&sum->of, text);
    write_events(&sum->of, text);
    write_connections(&sum->of, text);
    write_all_of_masters(backend, &sum->of, text);
}

static void sum_workers(const struct api_backend *backend, union api_worker_counters *sum)
{
    const size_t count = sizeof(sum->each) / sizeof(sum->each[0]);
    for (unsigned worker = 0; worker < backend->workers; worker++)
        api_counters_sum(sum->each, backend->counters[worker]->each, count);
}

/* The scrape itself is not in its own result: it is counted when it is answered. */
static void show_metrics(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    struct api_metrics_text text;
    union api_worker_counters *sum = calloc(1, sizeof(*sum));
    char *buffer = malloc(API_METRICS_TEXT_MAX);
    if (sum == NULL || buffer == NULL) {
        api_problem_answer(request, API_PROBLEM_NO_MEMORY);
        goto out;
    }
    sum_workers(backend, sum);
    api_metrics_begin(&text, buffer, API_METRICS_TEXT_MAX);
    api_metrics_write(backend, sum, &text);
    api_metrics_gauge(&text, "pawl_workers", "Number of workers.", backend->workers);
    api_process_write(backend->version, &text);
    api_metrics_answer(request, &text);
out:
    free(buffer);
    free(sum);
}

struct api_routes api_metrics_routes(struct api_backend *backend)
{
    static const struct api_route routes[] = {
        {API_GET, "/metrics", show_metrics, API_TAKES_NOTHING, API_RIGHT_READ, "metrics",
         API_COSTLY},
    };
    return (struct api_routes){routes, sizeof(routes) / sizeof(routes[0]), backend};
}
