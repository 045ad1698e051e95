/* Tags of requests: a tag tells which call or which clean-up a reply is for. */
#ifndef FENCE_STATE_TAG_H
#define FENCE_STATE_TAG_H

#include "fence/protocol/limits.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* The lower 16 bits of a tag are the index of a call or of a clean-up. The next bit tells which of
 * the two. The upper bits are the round of the call, or the serial of the clean-up. 0 is neither:
 * its reply is only counted. */
enum {
    TAG_INDEX_BITS = 16,
    TAG_CLEANUP_BIT = 16,
    TAG_SERIAL_SHIFT = 17,
};
static_assert(FENCE_CALLS_MAX <= 1 << TAG_INDEX_BITS, "an index must fit its bits");
static_assert(FENCE_CLEANUPS_MAX <= 1 << TAG_INDEX_BITS, "an index must fit its bits");

static inline uint64_t core_tag(uint64_t serial, bool is_cleanup, uint32_t index)
{
    return serial << TAG_SERIAL_SHIFT | (uint64_t)is_cleanup << TAG_CLEANUP_BIT | index;
}

static inline uint32_t core_tag_index(uint64_t tag)
{
    return tag & ((UINT32_C(1) << TAG_INDEX_BITS) - 1);
}

static inline bool core_tag_is_cleanup(uint64_t tag)
{
    return tag >> TAG_CLEANUP_BIT & 1;
}

static inline uint64_t core_tag_serial(uint64_t tag)
{
    return tag >> TAG_SERIAL_SHIFT;
}

#endif
