#include "scripts/bench.d/programs/histogram.h"

#include <inttypes.h>

/* Below 2 x 32 each value has a bucket of its own. Above, the bucket is the place of the highest
 * bit and the five bits after it. */
static unsigned bucket_of(uint64_t value)
{
    if (value >> HISTOGRAM_LINEAR_BITS == 0)
        return (unsigned)value;
    const unsigned highest = 63 - (unsigned)__builtin_clzll(value);
    const unsigned shift = highest - HISTOGRAM_LINEAR_BITS;
    return ((shift + 1) << HISTOGRAM_LINEAR_BITS) +
           (unsigned)((value >> shift) - (UINT64_C(1) << HISTOGRAM_LINEAR_BITS));
}

/* The largest value that belongs to @bucket. */
static uint64_t bucket_end(unsigned bucket)
{
    const uint64_t linear = UINT64_C(1) << HISTOGRAM_LINEAR_BITS;
    if (bucket < linear)
        return bucket;
    const unsigned shift = (bucket >> HISTOGRAM_LINEAR_BITS) - 1;
    return ((linear + (bucket & (linear - 1)) + 1) << shift) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
    histogram->buckets[bucket_of(value)]++;
    histogram->count++;
    if (value > histogram->max)
        histogram->max = value;
}

uint64_t histogram_quantile(const struct histogram *histogram, double quantile)
{
    const uint64_t wanted = (uint64_t)((double)histogram->count * quantile);
    uint64_t seen = 0;
    for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        seen += histogram->buckets[bucket];
        if (seen > wanted) {
            const uint64_t end = bucket_end(bucket);
            return end < histogram->max ? end : histogram->max;
        }
    }
    return histogram->max;
}

void histogram_print(const struct histogram *histogram, FILE *out)
{
    fprintf(out, "{\"p50\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64 "}",
            histogram_quantile(histogram, 0.50), histogram_quantile(histogram, 0.99),
            histogram->max);
}
