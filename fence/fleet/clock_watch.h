/* Another machine's wall clock, held against our boot clock. A master lets locks expire by its wall
 * clock. A clock that is stepped, or runs at a wrong rate, ends leases early or late. */
#ifndef FENCE_FLEET_CLOCK_WATCH_H
#define FENCE_FLEET_CLOCK_WATCH_H

#include <stdint.h>

enum {
    /* A clock may move by 1% and 2 ms more or less than ours, beyond the uncertainty of two
     * readings. fence_validity_us() takes the same off a lease. */
    FENCE_CLOCK_RATE_DIVISOR = 100,
    FENCE_CLOCK_SLACK_US = 2000,
};

/* They said @theirs_us at some moment between @before_us and @after_us of CLOCK_BOOTTIME. All zero:
 * they did not say. */
struct fence_clock_reading {
    uint64_t theirs_us; /* since 1970; below 2^62 */
    uint64_t before_us;
    uint64_t after_us;
};

/* The least difference by which their clock moved more (positive) or less (negative) than ours
 * between two readings. The second reading began after the first ended. 0: it stayed within the
 * bounds. */
int64_t fence_clock_strayed_us(const struct fence_clock_reading *first,
                               const struct fence_clock_reading *second);

#endif
