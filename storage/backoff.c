#include "storage/backoff.h"

#include <sodium.h>

enum {
    DOUBLINGS_MAX = 8,
};

uint64_t storage_backoff_ms(unsigned failures)
{
    unsigned doublings = failures < DOUBLINGS_MAX ? failures : DOUBLINGS_MAX;
    uint64_t delay_ms = (uint64_t)STORAGE_BACKOFF_MIN_MS << doublings;
    if (delay_ms > STORAGE_BACKOFF_MAX_MS)
        delay_ms = STORAGE_BACKOFF_MAX_MS;
    return delay_ms / 2 + randombytes_uniform((uint32_t)delay_ms / 2 + 1);
}
