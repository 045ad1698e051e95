/* The observer of answered requests: called once for each, for metrics and logs. One loop, one
 * thread. */
#ifndef API_HTTP_OBSERVER_H
#define API_HTTP_OBSERVER_H

#include "api/http/outcome.h"
#include "api/http/route.h"

#include <stdint.h>

/* All pointers are borrowed for the call. */
struct api_observed {
    const struct api_route *route; /* NULL: the request reached no route */
    enum api_method method;        /* API_METHOD_OTHER if the head was not understood */
    unsigned status;
    enum api_outcome outcome;
    uint64_t took_us;   /* from the end of the head to the answer; 0: the head did not end */
    const char *caller; /* the id of the key in the request; "": none */
    const struct api_request *request; /* NULL: refused before it was complete. A request that
                                        * reached no route has no parameters */
};

struct api_observer {
    /* Called before the answer is sent: when a client has its answer, the request is counted. Must
     * not answer a request. May be NULL. */
    void (*answered)(void *context, const struct api_observed *observed);
    void *context;
};

#endif
