#include "api/metrics/calls.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- counting -------------------------------------------------------------------------------- */

static unsigned index_of_route(const struct api_calls *calls, const struct api_route *route)
{
    size_t before = 0;
    for (size_t i = 0; i < calls->count; i++) {
        const struct api_routes *table = &calls->tables[i];
        if (route >= table->items && route < table->items + table->count) {
            before += (size_t)(route - table->items);
            break;
        }
        before += table->count;
    }
    assert(before < API_CALLS_MAX);
    return (unsigned)before;
}

static void count_answer(void *context, const struct api_observed *observed)
{
    const struct api_calls *calls = context;
    struct api_call_counters *counters = calls->counters;
    assert(observed->outcome < API_OUTCOMES);
    if (observed->route == NULL) {
        api_counter_add(&counters->refused[observed->outcome], 1);
        return;
    }
    const unsigned call = index_of_route(calls, observed->route);
    api_counter_add(&counters->answered[call][observed->outcome], 1);
    api_histogram_add(&counters->took[call], API_SCALE_TIME, observed->took_us);
}

struct api_observer api_calls_observer(struct api_calls *calls)
{
    return (struct api_observer){count_answer, calls};
}

uint64_t api_calls_count(const struct api_calls *calls, const char *call, enum api_outcome outcome)
{
    unsigned index = 0;
    assert(outcome < API_OUTCOMES);
    for (size_t i = 0; i < calls->count; i++)
        for (size_t k = 0; k < calls->tables[i].count; k++, index++)
            if (strcmp(calls->tables[i].items[k].call, call) == 0)
                return api_counter_get(&calls->counters->answered[index][outcome]);
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The count under each name: if several problems share a name, at the first of them. */
struct totals {
    enum api_outcome named[API_OUTCOMES]; /* the first of the same name */
    uint64_t count[API_OUTCOMES];
};

static void find_names(struct totals *totals)
{
    for (enum api_outcome outcome = 0; outcome < API_OUTCOMES; outcome++)
        totals->named[outcome] = api_outcome_named_alike(outcome);
}

static void add_up(struct totals *totals, const struct api_counter each[static API_OUTCOMES])
{
    memset(totals->count, 0, sizeof(totals->count));
    for (enum api_outcome outcome = 0; outcome < API_OUTCOMES; outcome++)
        totals->count[totals->named[outcome]] += api_counter_get(&each[outcome]);
}

/* A result that never occurred has no sample: otherwise each call would have a sample for each
 * problem. */
static void write_results(const struct api_route *route, const struct totals *totals,
                          struct api_metrics_text *text)
{
    for (enum api_outcome outcome = 0; outcome < API_OUTCOMES; outcome++) {
        const struct api_labels labels = {
            {{"call", route->call}, {"result", api_outcome_name(outcome)}}};
        if (totals->count[outcome] > 0)
            api_metrics_count(text, &labels, totals->count[outcome]);
    }
}

static void write_took(const struct api_route *route, const struct api_histogram *took,
                       struct api_metrics_text *text)
{
    const struct api_labels labels = {{{"call", route->call}}};
    api_metrics_histogram(text, &labels, took, API_SCALE_TIME);
}

static void write_refused(const struct totals *totals, struct api_metrics_text *text)
{
    char status[8];
    api_metrics_family(text, API_METRIC_COUNTER, "pawl_requests_refused_total",
                       "Requests rejected before a call began, by status and problem.");
    for (enum api_outcome outcome = 0; outcome < API_OUTCOMES; outcome++) {
        (void)snprintf(status, sizeof(status), "%u", api_outcome_status(outcome));
        const struct api_labels labels = {
            {{"status", status}, {"result", api_outcome_name(outcome)}}};
        if (totals->count[outcome] > 0)
            api_metrics_count(text, &labels, totals->count[outcome]);
    }
}

/* Calls that reached a handler, and calls that did not. */
static uint64_t count_everywhere(const struct api_call_counters *counters, enum api_outcome outcome)
{
    uint64_t count = api_counter_get(&counters->refused[outcome]);
    for (unsigned call = 0; call < API_CALLS_MAX; call++)
        count += api_counter_get(&counters->answered[call][outcome]);
    return count;
}

/* These samples exist before the first refusal, for alerts. */
static void write_keys_refused(const struct api_call_counters *counters,
                               struct api_metrics_text *text)
{
    static const enum api_problem problems[] = {API_PROBLEM_KEY_REQUIRED, API_PROBLEM_NOT_ALLOWED};
    api_metrics_family(text, API_METRIC_COUNTER, "pawl_keys_refused_total",
                       "Requests rejected because of their key. These requests also count as "
                       "calls or as refused requests.");
    for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
        const enum api_outcome outcome = api_outcome_of_problem(problems[i]);
        const struct api_labels labels = {{{"result", api_outcome_name(outcome)}}};
        api_metrics_count(text, &labels, count_everywhere(counters, outcome));
    }
}

void api_calls_write(const struct api_routes *tables, size_t count,
                     const struct api_call_counters *counters, struct api_metrics_text *text)
{
    unsigned call = 0;
    struct totals totals;
    find_names(&totals);
    api_metrics_family(text, API_METRIC_COUNTER, "pawl_calls_total",
                       "Answered calls, by call and result.");
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < tables[i].count; k++) {
            assert(call < API_CALLS_MAX);
            add_up(&totals, counters->answered[call++]);
            write_results(&tables[i].items[k], &totals, text);
        }
    call = 0;
    api_metrics_family(text, API_METRIC_HISTOGRAM, "pawl_call_duration_seconds",
                       "Time from the request head to the answer, including any wait for a lock.");
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < tables[i].count; k++)
            write_took(&tables[i].items[k], &counters->took[call++], text);
    add_up(&totals, counters->refused);
    write_refused(&totals, text);
    write_keys_refused(counters, text);
}
