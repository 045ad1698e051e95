/* Hears of each request that was answered, once: for metrics and logs. One loop, one thread.
 */
#ifndef API_HTTP_OBSERVER_H
#define API_HTTP_OBSERVER_H

#include "api/http/outcome.h"
#include "api/http/route.h"

#include <stdint.h>

/* All of it lives for the call. */
struct api_observed {
    const struct api_route *route; /* NULL: it reached none */
    enum api_method method;        /* API_METHOD_OTHER where the head was not understood */
    unsigned status;
    enum api_outcome outcome;
    uint64_t took_us;   /* from the end of its head to its answer; 0: the head did not end */
    const char *caller; /* the id of the key that it came with; "": none */
    const struct api_request *request; /* NULL: refused before it came whole. A request that reached
                                        * no route has no parameters */
};

struct api_observer {
    /* Called before the answer is sent: a client that has its answer finds it counted. May answer
     * nothing. NULL: no client is told. */
    void (*answered)(void *context, const struct api_observed *observed);
    void *context;
};

#endif
