/* The calls of named counters: take the next values (POST) and read the last one (GET) on
 * /v1/counters/{name...}. A call is checked here, passed to the backend, and answered when the
 * backend answers. api/v1/listing.h has the listing of counters, with that of locks. */
#ifndef API_V1_COUNTERS_H
#define API_V1_COUNTERS_H

#include "api/http/route.h"
#include "api/v1/backend.h"

/* The routes; @backend is borrowed for the life of the server. */
struct api_routes api_counters_routes(struct api_backend *backend);

/* Turns the answer to a call of FENCE_CALL_COUNT into its HTTP answer, as api_locks_answer() does
 * for the other calls. Values whose client has disconnected are a gap. */
void api_counters_answer(const struct fence_answer *answer);

#endif
