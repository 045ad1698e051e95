/* Calls about the service itself: GET /v1/fleet, /livez, /readyz. They are answered at once, from
 * what the backend knows. */
#ifndef API_SERVICE_H
#define API_SERVICE_H

#include "api/backend.h"
#include "api/route.h"

/* The routes; @backend is borrowed for the life of the server. */
struct api_routes api_service_routes(struct api_backend *backend);

#endif
