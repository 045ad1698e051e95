#include "api/metrics/histogram.h"

#include <assert.h>

struct bound {
    uint64_t most;
    const char *text;
};

static const struct bound times[] = {
    {100, "0.0001"},  {250, "0.00025"}, {500, "0.0005"},  {1000, "0.001"},    {2500, "0.0025"},
    {5000, "0.005"},  {10000, "0.01"},  {25000, "0.025"}, {50000, "0.05"},    {100000, "0.1"},
    {250000, "0.25"}, {500000, "0.5"},  {1000000, "1"},   {2500000, "2.5"},   {5000000, "5"},
    {10000000, "10"}, {30000000, "30"}, {60000000, "60"}, {300000000, "300"}, {UINT64_MAX, "+Inf"},
};

static const struct bound sizes[] = {
    {1, "1"},   {2, "2"},     {4, "4"},     {8, "8"},     {16, "16"},     {32, "32"},
    {64, "64"}, {128, "128"}, {256, "256"}, {512, "512"}, {1024, "1024"}, {UINT64_MAX, "+Inf"},
};

static_assert(sizeof(times) / sizeof(times[0]) <= API_BUCKETS_MAX, "more bounds than buckets");
static_assert(sizeof(sizes) / sizeof(sizes[0]) <= API_BUCKETS_MAX, "more bounds than buckets");

static const struct bound *bounds_of(enum api_scale scale)
{
    return scale == API_SCALE_TIME ? times : sizes;
}

void api_histogram_add(struct api_histogram *histogram, enum api_scale scale, uint64_t value)
{
    const struct bound *bound = bounds_of(scale);
    unsigned i = 0;
    while (value > bound[i].most)
        i++;
    api_counter_add(&histogram->bucket[i], 1);
    api_counter_add(&histogram->sum, value);
}

unsigned api_scale_buckets(enum api_scale scale)
{
    return scale == API_SCALE_TIME ? sizeof(times) / sizeof(times[0])
                                   : sizeof(sizes) / sizeof(sizes[0]);
}

const char *api_scale_bound(enum api_scale scale, unsigned i)
{
    assert(i < api_scale_buckets(scale));
    return bounds_of(scale)[i].text;
}
