#include "api/v1/parts.h"

#include "api/auth/auth.h"
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

void api_write_token_now(struct api_writer *writer, int64_t token)
{
    if (token > 0)
        api_write_integer(writer, "token", token);
    else
        api_write_null(writer, "token");
}

void api_write_owner(struct api_writer *writer, struct api_request *request, const char *owner)
{
    char label[FENCE_OWNER_MAX + 1];
    const char *key_id = fence_owner_split(owner, label);
    api_write_string(writer, "owner", label);
    if (key_id[0] != '\0' && api_auth_sees_key(request, key_id))
        api_write_string(writer, "key", key_id);
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
