/* Calls about the service itself: GET /v1/fleet, /livez, /readyz. They are answered at once, from
 * what the backend knows. */
#ifndef API_V1_SERVICE_H
#define API_V1_SERVICE_H

#include "api/http/route.h"
#include "api/v1/backend.h"

/* The routes; @backend is borrowed for the life of the server. */
struct api_routes api_service_routes(struct api_backend *backend);

#endif
