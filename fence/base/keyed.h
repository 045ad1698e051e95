/* A hash for tables whose keys somebody else chooses. */
#ifndef FENCE_BASE_KEYED_H
#define FENCE_BASE_KEYED_H

#include <stddef.h>
#include <stdint.h>

/* SipHash-2-4 (J.-P. Aumasson, D. J. Bernstein, 2012) of @len bytes. Without @seed no caller can
 * find two texts of one hash any sooner than by chance. */
uint64_t fence_keyed_hash(const void *bytes, size_t len, const uint64_t seed[static 2]);

#endif
