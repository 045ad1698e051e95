/* From a complete request to its handler. Refuses requests without knowing the call: those ("Bad
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

/* The routes of a server, and by which names it is known. */
struct api_served {
    const struct api_routes *routes;
    size_t routes_count;
    struct api_hosts hosts;
    struct api_origins origins;
    const struct api_access *access; /* NULL: everybody may call everything */
    bool leaving;                    /* each connection ends with its next answer */
    bool stopping;                   /* nothing is served any more */
};

/* Answers the request, or runs its handler, or has it wait for its turn (api/http/costly.h). */
void api_dispatch(const struct api_served *served, struct api_request *request);

#endif
