/* Counts how requests were answered: each request once, by its call and its outcome, or as one that
 * reached no call. An observer (api/http/observer.h) of the loop that owns the counters. */
#ifndef API_METRICS_CALLS_H
#define API_METRICS_CALLS_H

#include "api/http/observer.h"
#include "api/metrics/text.h"

enum {
    API_CALLS_MAX = 32, /* routes of one program */
};

/* Made of counters alone. All zero to begin with. */
struct api_call_counters {
    struct api_counter answered[API_CALLS_MAX]
                               [API_OUTCOMES]; /* indexed by route, in the order of tables */
    struct api_histogram took[API_CALLS_MAX];
    struct api_counter refused[API_OUTCOMES]; /* requests that reached no route */
};

/* Which routes are counted where; borrowed. */
struct api_calls {
    const struct api_routes *tables;
    size_t count; /* number of tables; together they have at most API_CALLS_MAX routes */
    struct api_call_counters *counters;
};

/* Counts for @calls, which is borrowed. */
struct api_observer api_calls_observer(struct api_calls *calls);

/* How often the route named @call came to @outcome; 0 where there is no such route. */
uint64_t api_calls_count(const struct api_calls *calls, const char *call, enum api_outcome outcome);

/* Writes the families of @counters, which may be a sum over several loops with the same tables. */
void api_calls_write(const struct api_routes *tables, size_t count,
                     const struct api_call_counters *counters, struct api_metrics_text *text);

#endif
