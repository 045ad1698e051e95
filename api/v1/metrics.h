/* GET /metrics: the counts of all workers, added up, and the known facts about the masters, in the
 * text format of Prometheus. server/METRICS.md has all names. */
#ifndef API_V1_METRICS_H
#define API_V1_METRICS_H

#include "api/metrics/calls.h"
#include "api/v1/backend.h"
#include "fence/protocol/limits.h"

/* How a grant came about. */
enum api_grant_path {
    API_GRANT_FAST,      /* the masters that were asked gave one number: one round */
    API_GRANT_CONFIRMED, /* they gave different ones: a second round */
    API_GRANT_FOUND,     /* the masters already had the lock under its id */
    API_GRANT_PATHS,     /* how many there are */
};

/* The counters of one worker. All zero to begin with, and made of counters alone. */
struct api_worker_metrics {
    struct api_call_counters calls;

    /* Counted as it happens. */
    struct api_counter grants[API_GRANT_PATHS];          /* that a client took */
    struct api_counter extensions, regrants;             /* under the old token, and a new one */
    struct api_counter exhausted, lost;                  /* answers to an extension */
    struct api_counter broken;                           /* grants that an operator broke */
    struct api_counter delayed;                          /* grants with a delay */
    struct api_counter kept;                             /* releases that keep the name closed */
    struct api_counter events_missed, event_readers_cut; /* for streams of events */
    struct api_histogram acquire;                        /* granted without waiting */
    struct api_histogram wait; /* time of acquires that waited, to their end */
    struct api_histogram hold; /* from a grant to its release, of some */
    struct api_histogram round_trip[FENCE_MASTERS_MAX]; /* time of a script call, by master */
    struct api_histogram requests;                      /* in a script call */

    /* State at the end of the worker's last turn. */
    struct api_counter calls_now, waiting, connections, parked, cleanups;
    struct api_counter calls_max, waiting_max, connections_max;
    struct api_counter event_readers, event_readers_max;
    struct api_counter accepted, evicted; /* connections since the start; all counts below, too */
    struct api_counter attempts, contended, confirms, hedges;
    struct api_counter rejoins[FENCE_MASTERS_MAX];
    struct api_counter in_flight[FENCE_MASTERS_MAX]; /* requests, now */
};

/* The same memory as an array of counters that can be added up. */
union api_worker_counters {
    struct api_worker_metrics of;
    struct api_counter each[sizeof(struct api_worker_metrics) / sizeof(struct api_counter)];
};

enum {
    API_METRICS_TEXT_MAX = 384 * 1024, /* all samples that there can be, and more */
};

/* Writes the metrics of all workers and of the masters of @backend, without the metrics of the
 * process. @sum: the sum over all workers. */
void api_metrics_write(const struct api_backend *backend, const union api_worker_counters *sum,
                       struct api_metrics_text *text);

/* The route. @backend is borrowed for the life of the server. */
struct api_routes api_metrics_routes(struct api_backend *backend);

#endif
