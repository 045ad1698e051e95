/* PATCH and DELETE /v1/locks: a holder extends or releases several locks under one lock id, in one
 * request. Each name is a separate call, as in a batch (api/http/batch.h): a malformed body is
 * refused as a whole, and any other mistake is the answer of that name. All calls begin in one turn
 * of the loop, so each master gets them in one script call. */
#ifndef API_V1_GROUP_H
#define API_V1_GROUP_H

#include "api/http/route.h"
#include "api/v1/backend.h"
#include "fence/protocol/limits.h"

enum {
    API_LOCK_PATH_MAX = 16 + FENCE_RESOURCE_MAX + 2, /* the mark of a seat is encoded as %23 */
};

/* The path of @lock, which may be a seat or a gate, for a call of a batch. */
void api_lock_path(const char *lock, char ret_path[static API_LOCK_PATH_MAX + 1]);

/* The routes. */
struct api_routes api_group_routes(struct api_backend *backend);

#endif
