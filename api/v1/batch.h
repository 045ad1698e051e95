/* POST /v1/batch: up to API_BATCH_MAX independent calls in one request. A malformed body is refused
 * as a whole. Any other mistake in a call is the answer of that call. */
#ifndef API_V1_BATCH_H
#define API_V1_BATCH_H

#include "api/http/route.h"

/* The route. */
struct api_routes api_batch_routes(void);

#endif
