/* Reads who has a lock on three masters, again and again, in its own thread and past every
 * pawld. */
#ifndef TESTS_SYSTEM_CLIENT_SAMPLER_H
#define TESTS_SYSTEM_CLIENT_SAMPLER_H

#include "fence/protocol/limits.h"
#include "tests/lib/redis_fleet.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SAMPLE_MASTERS = 3,
};

/* All masters answered between the two times, of the boot clock in microseconds. */
struct sample {
    uint64_t from_us;
    uint64_t till_us;
    char lock_id[SAMPLE_MASTERS][FENCE_LOCK_ID_MAX + 1]; /* "": none */
};

struct sampler;

/* Starts to read the lock @name. @fleet has three masters, and may lose them meanwhile. */
struct sampler *sampler_start(const struct redis_fleet *fleet, const char *name);

/* Ends the thread. Returns the samples, in order, until sampler_free(). */
const struct sample *sampler_stop(struct sampler *sampler, size_t *ret_count);
void sampler_free(struct sampler *sampler);

#endif
