/* One request as the server stores it: its content and its state. Private to request.c, requests.c,
 * parking.c, costly.c, stream.c and dispatch.c. Handlers see api/http/request.h, and transports
 * api/http/requests.h. */
#ifndef API_HTTP_REQUEST_STATE_H
#define API_HTTP_REQUEST_STATE_H

#include "api/http/access.h"
#include "api/http/headers.h"
#include "api/http/observer.h"
#include "api/http/piece.h"
#include "api/http/route.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct api_batch;
struct api_costly;
struct api_parking;
struct api_served;
struct api_transport;

enum api_request_state {
    API_REQUEST_READING,
    API_REQUEST_HANDLING,
    API_REQUEST_PARKED,    /* its client may have disconnected */
    API_REQUEST_STREAMING, /* the transport has the head of its answer (api/http/stream.h) */
    API_REQUEST_ANSWERED,  /* the transport has its answer */
};

struct api_request {
    enum api_request_state state;
    enum api_method method;
    bool is_options;                /* its method is OPTIONS */
    bool varies;                    /* another Origin may get another answer */
    bool shared;                    /* a page of a listed Origin may read the answer */
    bool too_large;                 /* the body, or its announced length, is too large */
    bool close_connection;          /* after the answer */
    bool may_wait;                  /* PARKED: for as long as the client asked for */
    bool told_left;                 /* PARKED: the backend of its call knows that the client has
                                     * disconnected */
    bool metrics_only;              /* it came through a door for metrics and health only */
    bool costly;                    /* it is being served as a costly request (api/http/costly.h) */
    bool batched;                   /* it is a call of a batch */
    const struct api_batch *within; /* the batch that it is a call of; NULL: it is none */
    bool lined;                     /* it waits in the queue of costly requests, or for the next
                                     * piece of its body */
    unsigned wait_locks;            /* may_wait: so many locks */
    uint32_t note;                  /* the handler's own */
    uint64_t came_us;               /* when its head was complete; CLOCK_MONOTONIC */
    const struct api_observer *observer;
    struct api_parking *parking;           /* parks it */
    struct api_costly *line;               /* the queue of costly requests in which it may wait */
    const struct api_served *served;       /* the data of its server serves */
    const struct api_transport *transport; /* the connection that brought it, */
    void *exchange;                        /* the connection's own data */
    const char *subject; /* subject of the client's certificate; stands behind the path */
    struct api_headers headers;
    struct api_match match;
    const struct api_access *access; /* NULL: every caller has all rights */
    struct api_caller caller;
    char *body; /* NULL until its first byte comes */
    size_t body_len;
    size_t body_size;
    char *kept;            /* the handler's own text; NULL: none */
    uint64_t dropped;      /* bytes of a body that is too large */
    uint64_t body_allowed; /* bytes of a body beyond API_COSTLY_BODY that may be read */
    uint64_t began_us;     /* costly: when it began; CLOCK_MONOTONIC */
    struct api_request *line_prev, *line_next;
    struct api_batch *batch; /* the calls that it waits for (api/http/batch.h); NULL: it is none */
    void (*batch_left)(struct api_batch *batch); /* the client of a batch has gone */
    struct api_stream_owner stream;              /* STREAMING: who has it */
    struct api_request *next;                    /* in its parking */
    struct api_request **link;                   /* the pointer to this request there */
    char path[]; /* decoded in place; the headers' values stand behind it */
};

/* CLOCK_MONOTONIC. */
uint64_t api_request_now_us(void);

#endif
