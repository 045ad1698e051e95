#include "api/v1/ttl.h"

#include "fence/protocol/limits.h"

int64_t api_ttl_default_ms(const struct api_backend *backend)
{
    uint32_t max_ms = backend->fleet->ttl_max_ms;
    return max_ms != 0 && max_ms < FENCE_TTL_DEFAULT_MS ? max_ms : FENCE_TTL_DEFAULT_MS;
}

struct api_json_member api_ttl_member(const struct api_backend *backend, int64_t *ttl_ms)
{
    return (struct api_json_member){
        .name = "ttl_ms",
        .type = API_JSON_INTEGER,
        .min = FENCE_TTL_MIN_MS,
        .max = FENCE_TTL_CEILING_MS,
        .told_max = backend->fleet->ttl_max_ms,
        .integer = ttl_ms,
    };
}
