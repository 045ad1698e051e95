/* The routes of locks, and the calls of a holder: extend (PATCH) and release (DELETE), and the
 * break of an admin. A call is checked, passed to the backend, and answered when the backend
 * answers. api/v1/acquire.h and api/v1/inspect.h have the handlers of POST and GET. */
#ifndef API_V1_LOCKS_H
#define API_V1_LOCKS_H

#include "api/http/route.h"
#include "api/v1/backend.h"

/* The routes; @backend is borrowed for the life of the server. */
struct api_routes api_locks_routes(struct api_backend *backend);

/* Turns the answer to a call into its HTTP answer. answer->client is the client of the call; each
 * call is answered exactly once. Allowed inside backend->call() too. @left: the client has
 * disconnected, so no caller holds a granted lock. The caller checks that once, and uses the same
 * result everywhere. */
void api_locks_answer(const struct fence_answer *answer, bool left);

#endif
