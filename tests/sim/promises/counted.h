/* C1 to C3: the values of named counters.
 *
 *   C1  the values of two calls are distinct;
 *   C2  a call that counts gets higher values than all that were told before it began, to calls
 * that count or read; C3  a reading is told no less than what was told before it began. It is told
 * "never counted" only if nothing was, or after a majority had forgotten. */
#ifndef TESTS_SIM_PROMISES_COUNTED_H
#define TESTS_SIM_PROMISES_COUNTED_H

#include "tests/sim/world/message.h"

struct sim_check;
struct sim_call;

struct sim_counted {
    int64_t highest; /* told */
    uint32_t blocks_count;
    struct sim_block {
        int64_t first;
        int64_t last;
    } blocks[SIM_CALLS_MAX]; /* one for each call that counted */
};

/* @call is about to be given to the core: notes what it has to exceed. */
void sim_counted_begun(const struct sim_check *check, struct sim_call *call);

/* The core answered @call with call->error and @value. */
void sim_counted_answered(struct sim_check *check, const struct sim_call *call, int64_t value);

#endif
