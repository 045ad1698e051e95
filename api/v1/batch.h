/* POST /v1/batch: up to API_BATCH_MAX independent calls in one request. A body that is malformed is
 * refused whole; whatever else is wrong with one call is that call's own answer. */
#ifndef API_V1_BATCH_H
#define API_V1_BATCH_H

#include "api/http/route.h"

/* The route. */
struct api_routes api_batch_routes(void);

#endif
