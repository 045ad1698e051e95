#include "server/loop/metrics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct server_metrics *server_metrics_new(unsigned workers)
{
    assert(workers > 0);
    const size_t size = workers * sizeof(struct server_metrics);
    struct server_metrics *metrics = aligned_alloc(SERVER_METRICS_ALIGN, size);
    if (metrics)
        memset(metrics, 0, size);
    return metrics;
}

/* ---- counting -------------------------------------------------------------------------------- */

static void count_grant(struct server_metrics *metrics, const struct fence_answer *answer,
                        uint64_t now_us)
{
    assert(answer->error == 0);
    struct api_worker_metrics *of = &metrics->counters.of;
    const enum api_grant_path path = answer->acquire.found       ? API_GRANT_FOUND
                                     : answer->acquire.confirmed ? API_GRANT_CONFIRMED
                                                                 : API_GRANT_FAST;
    api_counter_add(&of->grants[path], 1);
    if (!answer->waited)
        api_histogram_add(&of->acquire, API_SCALE_TIME, answer->served_us);
    if (answer->lease.delay_ms > 0 && !answer->acquire.found)
        api_counter_add(&of->delayed, 1);
    if (answer->acquire.found)
        return; /* granted before, at an unknown time */
    if (!answer->acquire.group)
        server_holds_granted(&metrics->holds, answer->lock_id, answer->resource, now_us);
    for (unsigned k = 0; answer->acquire.group && k < answer->acquire.group->count; k++)
        server_holds_granted(&metrics->holds, answer->lock_id,
                             answer->acquire.group->locks[k].resource, now_us);
}

static void count_acquire(struct server_metrics *metrics, const struct fence_answer *answer,
                          uint64_t now_us)
{
    if (answer->error == 0)
        count_grant(metrics, answer, now_us);
    if (answer->waited)
        api_histogram_add(&metrics->counters.of.wait, API_SCALE_TIME, answer->served_us);
}

static void count_extension(struct api_worker_metrics *of, const struct fence_answer *answer)
{
    if (answer->error == 0)
        api_counter_add(answer->extend.anew ? &of->regrants : &of->extensions, 1);
    else if (answer->error == FENCE_EEXHAUSTED)
        api_counter_add(&of->exhausted, 1);
    else if (answer->error == FENCE_ELOCKLOST || answer->error == FENCE_EBROKEN)
        api_counter_add(&of->lost, 1);
}

static void count_release(struct server_metrics *metrics, const struct fence_answer *answer,
                          uint64_t now_us)
{
    uint64_t held_us = 0;
    if (answer->error == 0 && answer->release.released && answer->release.keep_ms > 0)
        api_counter_add(&metrics->counters.of.kept, 1);
    if (answer->error == 0 &&
        server_holds_ended(&metrics->holds, answer->lock_id, answer->resource, now_us, &held_us) &&
        answer->release.released)
        api_histogram_add(&metrics->counters.of.hold, API_SCALE_TIME, held_us);
}

void server_metrics_answered(struct server_metrics *metrics, const struct fence_answer *answer,
                             uint64_t now_us)
{
    switch (answer->kind) {
    case FENCE_CALL_ACQUIRE:
        count_acquire(metrics, answer, now_us);
        break;
    case FENCE_CALL_EXTEND:
        count_extension(&metrics->counters.of, answer);
        break;
    case FENCE_CALL_RELEASE:
        count_release(metrics, answer, now_us);
        break;
    case FENCE_CALL_BREAK:
        if (answer->error == 0 && answer->breaks.released)
            api_counter_add(&metrics->counters.of.broken, 1);
        break;
    case FENCE_CALL_INSPECT:
    case FENCE_CALL_WATCH:
    case FENCE_CALL_COUNT:
        break;
    }
}

void server_metrics_batch(struct server_metrics *metrics, unsigned i, unsigned requests,
                          uint64_t round_trip_us)
{
    struct api_worker_metrics *of = &metrics->counters.of;
    assert(i < FENCE_MASTERS_MAX);
    api_histogram_add(&of->round_trip[i], API_SCALE_TIME, round_trip_us);
    api_histogram_add(&of->requests, API_SCALE_SIZE, requests);
}

uint64_t server_metrics_least_connections(const struct server_metrics metrics[], unsigned workers)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < workers; i++) {
        const uint64_t connections = api_counter_get(&metrics[i].counters.of.connections);
        least = connections < least ? connections : least;
    }
    return least;
}
