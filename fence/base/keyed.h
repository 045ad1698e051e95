/* A hash for tables whose keys outsiders choose. */
#ifndef FENCE_BASE_KEYED_H
#define FENCE_BASE_KEYED_H

#include <stddef.h>
#include <stdint.h>

/* Returns SipHash-2-4 (J.-P. Aumasson, D. J. Bernstein, 2012) of @len bytes. A caller that does not
 * know @seed finds two texts with the same hash only by chance. */
uint64_t fence_keyed_hash(const void *bytes, size_t len, const uint64_t seed[static 2]);

#endif
