/* Calls that pawld refuses before they reach the core, because pawld drains or the call is in a
 * batch. */
#ifndef API_V1_REFUSE_BEFORE_CALL_H
#define API_V1_REFUSE_BEFORE_CALL_H

#include "api/http/request.h"
#include "api/v1/backend.h"

#include <stdbool.h>
#include <stdint.h>

/* Refuses a grant while the process ends. A holder can still extend and release. Returns true if
 * the request is answered. */
bool api_refuse_while_draining(struct api_request *request, const struct api_backend *backend);

/* Refuses a call of a batch that would wait. Returns true if the request is answered. */
bool api_refuse_wait_in_batch(struct api_request *request, int64_t wait_ms);

#endif
