/* The arithmetic of a lease: quorum, drift, validity. Instants are microseconds of the boot-time
 * clock (CLOCK_BOOTTIME, which counts while a machine is suspended). The name of a duration ends
 * with its unit. */
#ifndef FENCE_PROTOCOL_LEASE_H
#define FENCE_PROTOCOL_LEASE_H

#include "fence/protocol/limits.h"

#include <stdint.h>

/* Returns the majority of a fleet: of all @n masters, not only of the masters that happened to
 * answer. */
static inline unsigned fence_majority(unsigned n)
{
    return n / 2 + 1;
}

/* Returns the number of masters that make a majority impossible if they refuse or do not answer. */
static inline unsigned fence_blocking(unsigned n)
{
    return n - fence_majority(n) + 1;
}

/* Returns the validity that is left of a lease of @ttl_ms whose first request left at @began_us:
 * ttl - elapsed - drift, where drift = 1% of the TTL + 2 ms (Redlock, S. Sanfilippo). If the result
 * is not positive, the lease must not be granted. */
int64_t fence_validity_us(uint32_t ttl_ms, uint64_t began_us, uint64_t now_us);

/* Returns how long a master that lost its locks stays out: the longest lease and its drift. The
 * time begins when no earlier vote of that master can still help a client. */
uint64_t fence_quarantine_us(uint32_t ttl_max_ms);

/* Returns how long one call waits for one master: the deadline of masters, or a tenth of the TTL if
 * that is less. One slow master must not use up a short lease. */
uint64_t fence_round_timeout_us(uint64_t deadline_us, uint32_t ttl_ms);

#endif
