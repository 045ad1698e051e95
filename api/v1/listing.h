/* The listing of held locks: GET /v1/locks?prefix=&limit=&cursor=, page by page. A call is checked
 * here, handed to the backend, and answered when the backend says so. */
#ifndef API_V1_LISTING_H
#define API_V1_LISTING_H

#include "api/http/route.h"
#include "api/v1/backend.h"

#include <stddef.h>

enum {
    API_LISTING_LIMIT_MAX = 1000,
    API_LISTING_LIMIT_DEFAULT = 100,
    API_CURSOR_MAX = 511, /* bytes of a cursor */
};

struct api_listing_call {
    uint64_t client;
    const char *prefix; /* some resource begins with it; "": all do */
    const char *cursor; /* where the page begins, as the client sent it; "": at the start */
    unsigned limit;     /* 1 .. API_LISTING_LIMIT_MAX: locks on the page at most */
};

/* A lock on a page. */
struct api_listed {
    char resource[FENCE_RESOURCE_MAX + 1];
    char owner[FENCE_OWNER_MAX + 1];
    int64_t token; /* 0: the masters differ */
    uint64_t remaining_ms;
};

/* A page. Which members mean something depends on @error. */
struct api_listing {
    uint64_t client;
    int error; /* 0, or FENCE_E...; FENCE_EINVAL: the cursor is wrong, or outdated */
    const struct api_listed *locks;
    size_t count;
    const char *next_cursor;                  /* NULL: there is no more */
    unsigned total;                           /* FENCE_ENOQUORUM: masters in the fleet, */
    enum fence_part parts[FENCE_MASTERS_MAX]; /* and what each contributed */
};

/* The route; @backend is borrowed for the life of the server. */
struct api_routes api_listing_routes(struct api_backend *backend);

/* Turns a page into the HTTP answer of listing->client; each call is answered exactly once. Allowed
 * inside backend->list() too. */
void api_listing_answer(const struct api_listing *listing);

#endif
