/* One request as the server keeps it: what it brought, how far it is, and its response. Private to
 * request.c, parking.c, dispatch.c, exchange.c and http.c; handlers see api/http/request.h. */
#ifndef API_HTTP_REQUEST_STATE_H
#define API_HTTP_REQUEST_STATE_H

#include "api/http/access.h"
#include "api/http/framing.h"
#include "api/http/observer.h"
#include "api/http/route.h"
#include "api/mhd/door.h"
#include "api/mhd/shard.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <microhttpd.h>

struct api_costly;
struct api_parking;

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
    bool is_options;       /* its method is OPTIONS */
    bool varies;           /* its answer may be another one for another Origin */
    bool shared;           /* with the page of the Origin, which is listed */
    bool too_large;        /* the body, or what was announced of it */
    bool called;           /* READING: once with no more of a body, after an Expect */
    bool close_connection; /* after the answer */
    bool may_wait;         /* PARKED: for as long as the client asked for */
    bool suspended;        /* PARKED: libmicrohttpd does not look at it */
    bool costly;           /* it is being served as one (api/http/costly.h) */
    bool lined;            /* it waits for that, or for the next piece of its body */
    unsigned wait_locks;   /* may_wait: so many locks */
    unsigned looks;        /* PARKED, hovering: how often it was looked at */
    unsigned status;       /* PREPARED: of the response */
    uint32_t note;         /* the handler's own */
    uint64_t came_us;      /* when its head was complete; CLOCK_MONOTONIC */
    const struct api_observer *observer;
    struct MHD_Response *response;
    struct api_parking *parking; /* where it can wait */
    struct api_costly *line;     /* where it waits for its turn, if it is costly */
    const struct api_door *door; /* through which its connection came */
    struct api_shard *shard;
    struct MHD_Connection *connection; /* NULL: the client is gone */
    const char *subject;               /* of the client's certificate; stands behind the path */
    struct api_headers headers;
    struct api_match match;
    const struct api_access *access; /* NULL: everybody may call everything */
    struct api_caller caller;
    char *body; /* NULL until its first byte comes */
    size_t body_len;
    size_t body_size;
    char *kept;            /* the handler's own text; NULL: none */
    uint64_t dropped;      /* bytes of a body that is too large */
    uint64_t body_allowed; /* bytes of a body beyond API_COSTLY_BODY whose turn has come */
    uint64_t began_us;     /* costly: when it began; CLOCK_MONOTONIC */
    struct api_request *line_prev, *line_next;
    struct api_request *next;  /* in its parking */
    struct api_request **link; /* what points to this one there */
    char path[];               /* decoded in place; the headers' values stand behind it */
};

/* Hands the response to libmicrohttpd, which looks at the connection or is about to resume it. The
 * request is then ANSWERED; or BROKEN, where there is no response or it is not taken. */
void api_request_queue(struct api_request *request);

/* CLOCK_MONOTONIC. */
uint64_t api_request_now_us(void);

void api_request_free(struct api_request *request);

#endif
