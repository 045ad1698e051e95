#include "api/v1/parts.h"

#include "fence/protocol/owner.h"

#include <assert.h>

void api_write_parts(struct api_writer *writer, const enum fence_part parts[], unsigned total)
{
    assert(total <= FENCE_MASTERS_MAX);
    api_write_array(writer, "masters");
    for (unsigned i = 0; i < total; i++)
        api_write_string(writer, NULL, fence_part_name(parts[i]));
    api_write_end(writer);
}

void api_write_remaining(struct api_writer *writer, const char *owner, bool kept,
                         uint64_t remaining_ms)
{
    const uint32_t delay_ms = kept ? 0 : fence_owner_delay_ms(owner);
    api_write_integer(writer, "remaining_ms", (int64_t)remaining_ms);
    if (delay_ms > 0)
        api_write_integer(writer, "delay_ms", delay_ms);
    if (kept || (delay_ms > 0 && remaining_ms <= delay_ms))
        api_write_string(writer, "closed", kept ? "kept" : "delay");
}
