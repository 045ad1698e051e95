/* The limits of the body of a request: bounds that its reader and its route share. */
#ifndef API_HTTP_LIMITS_H
#define API_HTTP_LIMITS_H

enum {
    API_BODY_MAX = 64 * 1024,         /* bytes of a request body; more is 413 */
    API_HTTP_DRAIN_MAX = 1024 * 1024, /* bytes of a too large body that are read and dropped, so
                                       * that the client can read the 413 */
};

#endif
