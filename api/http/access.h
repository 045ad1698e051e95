/* The rights of callers. A server does not know it by itself: the program says so through these
 * callbacks (api/auth/auth.h has them for keys). A server without them serves everybody. */
#ifndef API_HTTP_ACCESS_H
#define API_HTTP_ACCESS_H

#include "api/http/route.h"

/* The sender of a request, as far as the program knows. */
struct api_caller {
    const char *id;                          /* for logs and problems; NULL: unknown */
    void *key;                               /* the program's own */
    void *keyring;                           /* the program's own */
    unsigned reserved;                       /* the program's own */
    void (*done)(struct api_caller *caller); /* the request is over; NULL: nothing to do */
};

struct api_access {
    void *context;

    /* Called once for each request, before anything is told about its path, method or body. @route
     * is what would serve it; NULL: nothing does. @value is that of the Authorization header, NULL
     * if there is none. A request with two of them was refused before. Fills @ret_caller, and
     * returns true, if the request may go on. Otherwise it has answered it. */
    bool (*authorize)(void *context, struct api_request *request, const struct api_route *route,
                      const char *value, struct api_caller *ret_caller);

    /* Reports whether the caller of @request has @right on @name, a resource or the beginning of
     * some. Otherwise it has answered it. */
    bool (*permits)(void *context, struct api_request *request, enum api_right right,
                    const char *name);
};

#endif
