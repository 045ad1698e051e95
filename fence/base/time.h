/* The time of the protocol: microseconds of the boot clock. The caller reads the clock. */
#ifndef FENCE_BASE_TIME_H
#define FENCE_BASE_TIME_H

#include <stdint.h>

/* No deadline. */
#define FENCE_NEVER UINT64_MAX

#endif
