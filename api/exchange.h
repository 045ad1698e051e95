/* One exchange, request and answer, as libmicrohttpd drives it. Private to http.c, request.c,
 * exchange.c and dispatch.c; handlers see api/request.h. */
#ifndef API_EXCHANGE_H
#define API_EXCHANGE_H

#include "api/framing.h"
#include "api/http.h"
#include "api/request.h"

#include <microhttpd.h>

struct api_http {
    struct MHD_Daemon *daemon;
    int fd;
    int listen_fd; /* -1 once quiesced */
    uint16_t port;
    const struct api_routes *routes;
    size_t routes_count;
    struct api_request *parked; /* list of the requests that wait for their answer */
    unsigned parked_count;
    bool stopping;
    void (*log)(void *context, const char *message);
    void *log_context;
};

enum api_request_state {
    API_REQUEST_READING,
    API_REQUEST_HANDLING,
    API_REQUEST_PARKED,
    API_REQUEST_ANSWERED,
    API_REQUEST_BROKEN, /* the answer could not be made: the connection is closed instead */
};

struct api_request {
    enum api_request_state state;
    enum api_method method;
    bool too_large;        /* the body, or what was announced of it */
    bool close_connection; /* after the answer */
    struct api_http *http;
    struct MHD_Connection *connection;
    struct api_headers headers;
    struct api_match match;
    char *body; /* NULL until its first byte comes */
    size_t body_len;
    size_t body_size;
    uint64_t dropped;          /* bytes of a body that is too large */
    struct api_request *next;  /* in http->parked */
    struct api_request **link; /* what points to this one there */
    char path[];               /* decoded in place; the headers' values stand behind it */
};

/* libmicrohttpd's callbacks; @context is the struct api_http. */
enum MHD_Result api_exchange_handle(void *context, struct MHD_Connection *connection,
                                    const char *url, const char *method, const char *version,
                                    const char *data, size_t *data_size, void **request);
void api_exchange_completed(void *context, struct MHD_Connection *connection, void **request,
                            enum MHD_RequestTerminationCode why);

/* Parks a request that its handler kept; called from within api_exchange_handle(). */
void api_request_park(struct api_request *request);

#endif
