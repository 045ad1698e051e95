/* Latencies, counted in buckets that widen with the value: a fixed size, no allocation, and every
 * percentile right to within 1/32. */
#ifndef SCRIPTS_BENCH_D_PROGRAMS_HISTOGRAM_H
#define SCRIPTS_BENCH_D_PROGRAMS_HISTOGRAM_H

#include <stdint.h>
#include <stdio.h>

enum {
    HISTOGRAM_LINEAR_BITS = 5, /* 32 buckets for each doubling */
    HISTOGRAM_BUCKETS = (64 - HISTOGRAM_LINEAR_BITS + 1) << HISTOGRAM_LINEAR_BITS,
};

/* Begins as {0}. */
struct histogram {
    uint64_t count;
    uint64_t max;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t value);

/* The value below or at which the part @quantile (0 .. 1) of all lies; 0 if there are none. */
uint64_t histogram_quantile(const struct histogram *histogram, double quantile);

/* Writes {"p50":...,"p99":...,"max":...}. */
void histogram_print(const struct histogram *histogram, FILE *out);

#endif
