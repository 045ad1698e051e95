/* One request as the server keeps it: what it brought, how far it is, and where it waits for its
 * answer. Private to request.c, dispatch.c, exchange.c and http.c; handlers see
 * api/http/request.h. */
#ifndef API_HTTP_REQUEST_STATE_H
#define API_HTTP_REQUEST_STATE_H

#include "api/http/framing.h"
#include "api/http/request.h"
#include "api/http/shard.h"

#include <microhttpd.h>

/* The requests of a server that wait for their answers. */
struct api_parking {
    struct api_request *first;
    unsigned count;
    int watch_fd; /* of api/http/watch.h: clients that leave meanwhile */
    void (*left)(void *context, uint64_t client); /* may be NULL */
    void *left_context;
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
    struct api_parking *parking;
    struct api_room *room;
    struct MHD_Connection *connection; /* NULL: the client is gone */
    struct api_headers headers;
    struct api_match match;
    char *body; /* NULL until its first byte comes */
    size_t body_len;
    size_t body_size;
    uint64_t dropped;          /* bytes of a body that is too large */
    struct api_request *next;  /* in its parking */
    struct api_request **link; /* what points to this one there */
    char path[];               /* decoded in place; the headers' values stand behind it */
};

/* Parks a request that its handler kept; called from within libmicrohttpd's look at it. */
void api_request_park(struct api_request *request);

/* A parked or prepared request is looked at: hands over its answer if there is one, or lets it wait
 * on. Called from within libmicrohttpd's look at it. */
void api_request_look(struct api_request *request);

/* The client has gone: whoever works on its call is told. */
void api_request_left(struct api_request *request);

/* The connection is gone. Frees the request, unless its answer is still to come. */
void api_request_close(struct api_request *request);

#endif
