/* Routes: which handler serves which method and path. Pure: no I/O, no allocation.
 *
 * A pattern is matched against the decoded path, segment by segment:
 *
 *     /v1/accounts/{id}/claim      {id} is one segment, not empty
 *     /v1/locks/{resource...}      the rest of the path, slashes and all; may be empty
 *
 * GET answers HEAD too; the library below leaves out the body. */
#ifndef API_HTTP_ROUTE_H
#define API_HTTP_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

struct api_request;

enum api_method {
    API_GET,
    API_HEAD,
    API_POST,
    API_PUT,
    API_PATCH,
    API_DELETE,
    API_METHOD_OTHER, /* any other word of the client; no route serves it */
};

enum {
    API_PARAMS_MAX = 2, /* parameters in one pattern */
    API_ALLOW_MAX = 64, /* bytes of an Allow header, terminated */
};

/* Serves one request: answers it (api/http/request.h) before it returns, or keeps @request and
 * answers it exactly once later, from the same loop. @context is the table's. */
typedef void api_handler(struct api_request *request, void *context);

/* The parts of a request besides its path and headers. If a route does not take a part, such a
 * request is refused before its handler; a body that is empty or {} counts as absent. */
enum api_takes {
    API_TAKES_NOTHING,
    API_TAKES_BODY,
    API_TAKES_QUERY,
};

/* The right that the caller of a route needs, if the program knows its callers (api/http/access.h).
 * Each right includes the rights before it. */
enum api_right {
    API_RIGHT_NONE, /* any caller, even without a key */
    API_RIGHT_READ,
    API_RIGHT_LOCK,
    API_RIGHT_ADMIN,
    API_RIGHTS, /* how many there are */
};

/* The cost of a call for the service or its masters. */
enum api_cost {
    API_CHEAP,
    API_COSTLY,           /* waits in the queue of costly requests (api/http/costly.h) */
    API_COSTLY_EVEN_LEFT, /* costly, and served even if its client left the queue */
    API_COSTLIEST,        /* costly, and counts as so many calls of its key: */
    API_COSTLIEST_CALLS = 10,
};

struct api_route {
    enum api_method method; /* not API_HEAD, not API_METHOD_OTHER */
    const char *pattern;
    api_handler *handler;
    enum api_takes takes;
    enum api_right right;
    const char *call; /* its name in metrics and logs: "acquire"; no two routes have the same */
    enum api_cost cost;
};

/* A table of routes that share a context. Everything is borrowed. */
struct api_routes {
    const struct api_route *items;
    size_t count;
    void *context;
};

struct api_match {
    const struct api_route *route;
    void *context;
    const char *params[API_PARAMS_MAX]; /* terminated, in the order of the pattern; into the path */
};

enum api_found {
    API_FOUND,
    API_FOUND_OTHER_METHOD, /* the path exists, the method does not: 405 */
    API_FOUND_NOTHING,      /* 404 */
};

/* Finds the route that serves @method and @path in @tables; the first match wins. API_FOUND: fills
 * *@ret_match, and terminates the parameters in place in @path. API_FOUND_OTHER_METHOD: writes the
 * allowed methods to @ret_allow ("GET, HEAD, POST"). Other outputs stay untouched. */
enum api_found api_route_find(const struct api_routes *tables, size_t count, enum api_method method,
                              char *path, struct api_match *ret_match,
                              char ret_allow[static API_ALLOW_MAX]);

/* The method of a request line; case matters (RFC 9110, section 9.1). */
enum api_method api_method_parse(const char *text);
const char *api_method_name(enum api_method method);

#endif
