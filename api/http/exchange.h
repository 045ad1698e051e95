/* One exchange, request and answer, as libmicrohttpd drives it. Private to http.c, request.c,
 * exchange.c and dispatch.c; handlers see api/http/request.h. */
#ifndef API_HTTP_EXCHANGE_H
#define API_HTTP_EXCHANGE_H

#include "api/http/framing.h"
#include "api/http/guard.h"
#include "api/http/http.h"
#include "api/http/request.h"
#include "api/http/shard.h"

#include <microhttpd.h>

struct api_http {
    struct api_rooms rooms;
    struct api_guards guards;
    int listen_fd;       /* -1 once quiesced */
    bool accepting;      /* false: there is no space, or was none when it was last tried */
    bool short_of_space; /* and that was told; until a tenth of the space is free */
    unsigned capacity;   /* connections */
    int watch_fd;
    uint16_t port;
    const struct api_routes *routes;
    size_t routes_count;
    struct api_hosts hosts;
    struct api_request *parked; /* list of the requests that wait for their answer */
    unsigned parked_count;
    unsigned hovering_count; /* of those, how many are not suspended */
    bool stopping;
    void (*left)(void *context, uint64_t client); /* may be NULL */
    void *left_context;
    void (*log)(void *context, const char *message);
    void *log_context;
};

/* A parked request hovers first: libmicrohttpd looks at it in each turn, and takes its answer when
 * it is there. Most answers come within a few turns, and suspending a connection costs two system
 * calls. One that hovers for too long is suspended, and costs nothing until it is answered. */
enum {
    API_HOVER_LOOKS = 16,
};

enum api_request_state {
    API_REQUEST_READING,
    API_REQUEST_HANDLING,
    API_REQUEST_PARKED,   /* hovering, suspended, or its client gone */
    API_REQUEST_PREPARED, /* the answer is made, and waits for the next look */
    API_REQUEST_ANSWERED,
    API_REQUEST_BROKEN, /* the answer could not be made: the connection is closed instead */
};

struct api_request {
    enum api_request_state state;
    enum api_method method;
    bool too_large;        /* the body, or what was announced of it */
    bool close_connection; /* after the answer */
    bool suspended;        /* PARKED: libmicrohttpd does not look at it */
    unsigned looks;        /* PARKED, hovering: how often it was looked at */
    unsigned status;       /* PREPARED: of the response */
    struct MHD_Response *response;
    struct api_http *http;
    struct api_room *room;
    struct MHD_Connection *connection; /* NULL: the client is gone */
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

/* libmicrohttpd's callbacks; @context is the struct api_room. */
enum MHD_Result api_exchange_handle(void *context, struct MHD_Connection *connection,
                                    const char *url, const char *method, const char *version,
                                    const char *data, size_t *data_size, void **request);
void api_exchange_completed(void *context, struct MHD_Connection *connection, void **request,
                            enum MHD_RequestTerminationCode why);
void api_exchange_connected(void *context, struct MHD_Connection *connection,
                            void **connection_context, enum MHD_ConnectionNotificationCode code);

/* Parks a request that its handler kept; called from within api_exchange_handle(). */
void api_request_park(struct api_request *request);

/* A parked or prepared request is looked at: hands over its answer if there is one, or lets it wait
 * on. Called from within api_exchange_handle(). */
void api_request_look(struct api_request *request);

/* The client has gone: whoever works on its call is told. */
void api_request_left(struct api_request *request);

/* The connection is gone. Frees the request, unless its answer is still to come. */
void api_request_close(struct api_request *request);

#endif
