/* PATCH and DELETE /v1/rwlocks/{name}: a holder extends or releases its lock. A reader names its
 * seat, which is one lock. A writer has all seats and the gate: each is a separate call, as in
 * PATCH /v1/locks, and the answers become one. An admin breaks a writer with ?force=true. */
#ifndef API_V1_RWLOCKS_H
#define API_V1_RWLOCKS_H

#include "api/http/route.h"
#include "api/v1/backend.h"

/* The routes, for @backend, which must outlive them. */
struct api_routes api_rwlocks_routes(struct api_backend *backend);

/* Breaks, for an admin, the writer that has the locks of @name (the name or its gate), under the
 * token of the If-Match header: each of its seats, and its gate. Answers @request. */
void api_rwlocks_break(struct api_request *request, const struct api_backend *backend,
                       const char *name);

#endif
