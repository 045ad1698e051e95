/* The rights of callers. The server itself knows no rights: the program provides these callbacks
 * (api/auth/auth.h has them for keys). A server without them serves every caller. */
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

    /* Called once for each request, before the answer tells anything about its path, method or
     * body. @route would serve the request; NULL: none would. @value is the value of the
     * Authorization header; NULL: there is none. A request with two such headers was refused
     * before. If the request may go on, fills @ret_caller and returns true. Otherwise it has
     * answered the request. */
    bool (*authorize)(void *context, struct api_request *request, const struct api_route *route,
                      const char *value, struct api_caller *ret_caller);

    /* Reports whether the caller of @request has @right on @name, a resource or a prefix of names.
     * If not, it has answered the request. */
    bool (*permits)(void *context, struct api_request *request, enum api_right right,
                    const char *name);
};

#endif
