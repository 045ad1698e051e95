#include "fence/fleet/clock_watch.h"

#include <assert.h>

static int64_t tolerance_us(int64_t elapsed_us)
{
    return elapsed_us / FENCE_CLOCK_RATE_DIVISOR + FENCE_CLOCK_SLACK_US;
}

int64_t fence_clock_strayed_us(const struct fence_clock_reading *first,
                               const struct fence_clock_reading *second)
{
    assert(first->before_us <= first->after_us && first->after_us <= second->before_us &&
           second->before_us <= second->after_us);
    int64_t theirs_us = (int64_t)second->theirs_us - (int64_t)first->theirs_us;
    int64_t least_us = (int64_t)(second->before_us - first->after_us);
    int64_t most_us = (int64_t)(second->after_us - first->before_us);
    if (theirs_us > most_us + tolerance_us(most_us))
        return theirs_us - most_us;
    if (theirs_us < least_us - tolerance_us(least_us))
        return theirs_us - least_us;
    return 0;
}
