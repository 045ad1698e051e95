/* Calls that pawld refuses before the core sees them, since pawld drains or the call is in a batch.
 */
#ifndef API_V1_REFUSE_BEFORE_CALL_H
#define API_V1_REFUSE_BEFORE_CALL_H

#include "api/http/request.h"
#include "api/v1/backend.h"

#include <stdbool.h>
#include <stdint.h>

/* A process that ends grants nothing more. A holder can still extend and release. True: answered.
 */
bool api_refuse_while_draining(struct api_request *request, const struct api_backend *backend);

/* A call of a batch cannot wait. True: answered. */
bool api_refuse_wait_in_batch(struct api_request *request, int64_t wait_ms);

#endif
