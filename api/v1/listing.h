/* The listings of held locks and of named counters: GET /v1/locks?prefix=&limit=&cursor= and GET
 * /v1/counters?..., page by page. A call is checked here, passed to the backend, and answered when
 * the backend answers. */
#ifndef API_V1_LISTING_H
#define API_V1_LISTING_H

#include "api/http/route.h"
#include "api/v1/backend.h"
#include "fence/protocol/listing_message.h"

enum {
    API_LISTING_LIMIT_MAX = 1000, /* locks or counters on a page */
    API_LISTING_LIMIT_DEFAULT = 100,
    API_CURSOR_MAX = 511, /* bytes of a cursor */
};

/* The routes; @backend is borrowed for the life of the server. */
struct api_routes api_listing_routes(struct api_backend *backend);

/* Turns a page into the HTTP answer of listing->client; each call is answered exactly once. Allowed
 * inside backend->list() too. */
void api_listing_answer(const struct fence_listing_answer *listing);

#endif
