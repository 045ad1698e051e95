/* A clock that runs at its own rate. The world has one true time; servers and masters see it
 * through one of these. */
#ifndef TESTS_SIM_WORLD_CLOCK_H
#define TESTS_SIM_WORLD_CLOCK_H

#include <stdint.h>

struct sim_clock {
    uint64_t offset_us;
    uint32_t rate_ppm; /* local microseconds in a true second */
};

enum {
    SIM_RATE_TRUE_PPM = 1000000,
};

static inline uint64_t sim_clock_read(const struct sim_clock *clock, uint64_t true_us)
{
    return clock->offset_us + true_us * clock->rate_ppm / SIM_RATE_TRUE_PPM;
}

/* The first true instant at which the clock shows @local_us or more. */
static inline uint64_t sim_clock_when(const struct sim_clock *clock, uint64_t local_us)
{
    if (local_us <= clock->offset_us)
        return 0;
    uint64_t local_part = (local_us - clock->offset_us) * SIM_RATE_TRUE_PPM;
    return (local_part + clock->rate_ppm - 1) / clock->rate_ppm;
}

/* How long, in true time, the clock needs for @local_us: rounded down. */
static inline uint64_t sim_clock_span(const struct sim_clock *clock, uint64_t local_us)
{
    return local_us * SIM_RATE_TRUE_PPM / clock->rate_ppm;
}

#endif
