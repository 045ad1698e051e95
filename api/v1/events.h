/* GET /v1/events?prefix=&after=: live events of locks, masters and the fleet, as server-sent
 * events. A call is checked here, passed to the backend, and begun or refused when the backend
 * decides. */
#ifndef API_V1_EVENTS_H
#define API_V1_EVENTS_H

#include "api/http/piece.h"
#include "api/http/route.h"
#include "api/v1/backend.h"
#include "api/v1/event.h"

struct api_events_call {
    struct api_request *request;
    const char *prefix; /* prefix of the names of locks; "": all. Borrowed for the call */
    const char *after;  /* the id of the last event that the client has; "": none. Borrowed */
};

/* The routes; @backend is borrowed for the life of the server. */
struct api_routes api_events_routes(struct api_backend *backend);

/* Begins the stream. False: it was a HEAD, and is answered. */
bool api_events_begin(struct api_request *request, const struct api_stream_owner *owner);

/* Answers a call that cannot be served: FENCE_EBUSY, the limit of readers is reached; FENCE_ELEFT,
 * the process ends; FENCE_ENOMEM. */
void api_events_refuse(struct api_request *request, int error);

#endif
