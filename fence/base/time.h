/* Time as the protocol counts it: microseconds of the boot clock, which the caller reads. */
#ifndef FENCE_BASE_TIME_H
#define FENCE_BASE_TIME_H

#include <stdint.h>

/* No deadline. */
#define FENCE_NEVER UINT64_MAX

#endif
