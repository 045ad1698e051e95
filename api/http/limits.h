/* What a request may be: bounds that its reader, its connection and its answer share. */
#ifndef API_HTTP_LIMITS_H
#define API_HTTP_LIMITS_H

enum {
    API_BODY_MAX = 64 * 1024,   /* bytes of a request body; more is 413 */
    API_HTTP_MEMORY = 6 * 1024, /* bytes a connection has for the heads of request and answer:
                                 * most of what a parked request costs */
    API_HTTP_FIELD_COST = 64,   /* of them, for each header, cookie and query parameter, beside
                                 * its bytes */
    API_HTTP_HEAD_MAX = 5 * 1024 + 512, /* for a request's head, by that reckoning; more is 431. The
                                         * rest is for the answer's */
    API_HTTP_SEND_BUFFER = 64 * 1024,   /* bytes of answers that the kernel keeps of a connection
                                         * (and as many for itself). Of a client that never reads it
                                         * would keep megabytes (tcp(7), tcp_wmem) */
    API_HTTP_AHEAD_MAX = 32 * 1024,     /* bytes that a client may send behind a request that waits
                                         * for its answer; who sends more counts as gone */
    API_HTTP_DRAIN_MAX = 1024 * 1024,   /* of a body that is too large, so much is read and dropped,
                                         * so that the client gets to see its 413 */
};

#endif
