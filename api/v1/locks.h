/* The routes of locks, and what a holder calls: extend (PATCH) and release (DELETE), and the break
 * of an admin. A call is checked, handed to the backend, and answered when the backend says so.
 * api/v1/acquire.h and api/v1/inspect.h have the handlers of POST and GET. */
#ifndef API_V1_LOCKS_H
#define API_V1_LOCKS_H

#include "api/http/route.h"
#include "api/v1/backend.h"

/* The routes; @backend is borrowed for the life of the server. */
struct api_routes api_locks_routes(struct api_backend *backend);

/* Turns the answer to a call into its HTTP answer. answer->client is that of the call; each call is
 * answered exactly once. Allowed inside backend->call() too. @left: the client has gone, so no
 * caller holds a lock that was granted. The caller looks once, and all that it tells goes by that.
 */
void api_locks_answer(const struct fence_answer *answer, bool left);

#endif
