#include "storage/redis/clock.h"

#include <assert.h>
#include <time.h>

uint64_t storage_clock_us(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_BOOTTIME, &now);
    assert(!failed);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}
