/* The wall clock of one redis-server, which a test sets. Its monotonic clock goes on (a library
 * that is preloaded: tests/chaos/clock_shim.c). */
#ifndef TESTS_LIB_REDIS_CLOCK_H
#define TESTS_LIB_REDIS_CLOCK_H

#include "tests/lib/redis_fleet.h"

#include <stdbool.h>
#include <stdint.h>

struct chaos_clock;

struct redis_clock {
    struct chaos_clock *shown; /* NULL: no master was started under it */
    char *path;
};

/* Kills master @i, and starts it again under @clock, which is all zero the first time. */
void redis_clock_restart(struct redis_clock *clock, struct redis_fleet *fleet, unsigned i,
                         bool keep_data);

/* The clock shows the real time and @offset_ms more, from now on. */
void redis_clock_set(struct redis_clock *clock, int64_t offset_ms);

void redis_clock_fini(struct redis_clock *clock);

#endif
