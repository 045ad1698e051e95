/* Histograms with fixed buckets. One thread writes, any reads: they are made of counters. */
#ifndef API_METRICS_HISTOGRAM_H
#define API_METRICS_HISTOGRAM_H

#include "api/metrics/counter.h"

#include <stdbool.h>

enum {
    API_BUCKETS_MAX = 20, /* with the last, which has no bound */
};

/* The measured values. */
enum api_scale {
    API_SCALE_TIME, /* microseconds, shown as seconds: 0.1 ms to 5 minutes */
    API_SCALE_SIZE, /* 1 to 1024, in powers of 2 */
};

struct api_histogram {
    struct api_counter bucket[API_BUCKETS_MAX]; /* each without those before it */
    struct api_counter sum;
};

void api_histogram_add(struct api_histogram *histogram, enum api_scale scale, uint64_t value);

/* How many buckets a scale has, and the upper bound of one as the text format has it: "0.005". The
 * last is "+Inf". */
unsigned api_scale_buckets(enum api_scale scale);
const char *api_scale_bound(enum api_scale scale, unsigned i);

#endif
