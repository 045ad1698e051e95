#include "fence/protocol/lease.h"

#include <assert.h>

int64_t fence_validity_us(uint32_t ttl_ms, uint64_t began_us, uint64_t now_us)
{
    assert(now_us >= began_us && now_us - began_us <= INT64_MAX);
    int64_t ttl_us = (int64_t)ttl_ms * 1000;
    int64_t drift_us = ttl_us / 100 + 2000;
    return ttl_us - (int64_t)(now_us - began_us) - drift_us;
}

uint64_t fence_quarantine_us(uint32_t ttl_max_ms)
{
    return ttl_max_ms * UINT64_C(1010) + 2000;
}

uint64_t fence_round_timeout_us(uint64_t deadline_us, uint32_t ttl_ms)
{
    uint64_t tenth_us = (uint64_t)ttl_ms * 100;
    return tenth_us < deadline_us ? tenth_us : deadline_us;
}
