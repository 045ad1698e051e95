/* PATCH and DELETE /v1/locks: a holder extends or releases several locks under one lock id, in one
 * request. Each name is a call of its own, as in a batch (api/http/batch.h): a malformed body is
 * refused as a whole, and any other mistake is the answer of that name. All calls begin in one turn
 * of the loop, so each master gets them in one script call. */
#ifndef API_V1_GROUP_H
#define API_V1_GROUP_H

#include "api/http/route.h"

/* The routes. */
struct api_routes api_group_routes(void);

#endif
