/* The pages of other sites that may call this service: cross-origin resource sharing (Fetch
 * standard, section "HTTP extensions"). Without a list no such page may call. No credentials are
 * allowed: such a page brings its own key. Pure. */
#ifndef API_HTTP_CORS_H
#define API_HTTP_CORS_H

#include <stdbool.h>

enum {
    API_ORIGINS_MAX = 16,
    API_ORIGIN_MAX = 300, /* bytes of one */
};

/* "https://app.example.com", "http://localhost:3000"; borrowed. */
struct api_origins {
    const char *const *items;
    unsigned count;
};

/* Reports whether @text is an origin as a browser writes it: a scheme, a host in lower case, and a
 * port unless it is the scheme's default (RFC 6454, section 6.2). */
bool api_cors_is_origin(const char *text);

/* Reports whether @origin, the value of an Origin header or NULL, is one of @origins, byte for
 * byte. */
bool api_cors_is_listed(const char *origin, const struct api_origins *origins);

/* The methods that a listed page may use. */
#define API_CORS_METHODS "GET, HEAD, POST, PUT, PATCH, DELETE"
#define API_CORS_SENT                                                                              \
    "Authorization, Content-Type, Fencing-Token, If-Match, Last-Event-ID, Lock-Id, Waited-Ms"
#define API_CORS_READ    "Allow, ETag, Retry-After"
#define API_CORS_MAX_AGE "600" /* seconds for which a browser may remember it */

#endif
