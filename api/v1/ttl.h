/* The TTL that a body may name. */
#ifndef API_V1_TTL_H
#define API_V1_TTL_H

#include "api/json/reader.h"
#include "api/v1/backend.h"

#include <stdint.h>

/* The TTL if the client names none: at most the fleet's longest lease, if that is known. */
int64_t api_ttl_default_ms(const struct api_backend *backend);

/* Describes the body's "ttl_ms". The core refuses a TTL that the fleet does not allow. The reader
 * refuses a TTL that is longer than any fleet allows, with this fleet's bound if it is known. */
struct api_json_member api_ttl_member(const struct api_backend *backend, int64_t *ttl_ms);

#endif
