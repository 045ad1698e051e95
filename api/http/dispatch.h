/* Takes a complete request to its handler. Refuses requests that are wrong for any call ("Bad
 * input" in the contract). Private to requests.c. */
#ifndef API_HTTP_DISPATCH_H
#define API_HTTP_DISPATCH_H

#include "api/http/access.h"
#include "api/http/cors.h"
#include "api/http/route.h"
#include "api/http/site.h"

#include <stdbool.h>
#include <stddef.h>

struct api_request;

/* The routes of a server, and the names under which it is known. */
struct api_served {
    const struct api_routes *routes;
    size_t routes_count;
    struct api_hosts hosts;
    struct api_origins origins;
    const struct api_access *access; /* NULL: every caller has all rights */
    bool leaving;                    /* each connection ends with its next answer */
    bool stopping;                   /* nothing is served any more */
};

/* Answers the request, or runs its handler, or queues it as costly (api/http/costly.h). */
void api_dispatch(const struct api_served *served, struct api_request *request);

#endif
