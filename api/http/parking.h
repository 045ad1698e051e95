/* Requests that wait for their answers: parked ones. Their clients may leave meanwhile. Private to
 * request.c, exchange.c and http.c.
 *
 * A parked request hovers first: libmicrohttpd looks at it in each turn, and takes its answer when
 * it is there. Most answers come within a few turns, and suspending a connection costs two system
 * calls. One that hovers for too long is suspended, and costs nothing until it is answered. */
#ifndef API_HTTP_PARKING_H
#define API_HTTP_PARKING_H

#include "api/http/request_state.h"

#include <stdbool.h>

enum {
    API_HOVER_LOOKS = 16,
};

/* The parked requests of a server. */
struct api_parking {
    struct api_request *first;
    unsigned count;
    int watch_fd;                                             /* of api/mhd/watch.h */
    void (*left)(void *context, struct api_request *request); /* its client has gone */
    void *left_context;
};

/* Parks a request that its handler kept; called from within libmicrohttpd's look at it. */
void api_parking_add(struct api_request *request);

/* A parked or prepared request is looked at: hands over its answer if there is one, or lets it wait
 * on. Called from within libmicrohttpd's look at it. */
void api_parking_look(struct api_request *request);

/* The response of a parked request is there, or could not be made: what can be done with it outside
 * a look. */
void api_parking_answered(struct api_request *request);

/* The client of a suspended request has left, or sent more. If it has gone, the backend of its call
 * is told. */
void api_parking_stirred(struct api_request *request);

/* Whether the client of a parked request is known to have gone. */
bool api_parking_has_left(const struct api_request *request);

/* The connection is gone, and the client of a parked request with it. The backend of its call is
 * told. */
void api_parking_disconnected(struct api_request *request);

#endif
