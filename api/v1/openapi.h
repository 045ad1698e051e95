/* GET /openapi.json: what these calls take and answer, as an OpenAPI 3.1 document for programs.
 * The document is the file openapi.json beside this one; tests hold it against the routes, the
 * problems, the bounds and the answers of the code. */
#ifndef API_V1_OPENAPI_H
#define API_V1_OPENAPI_H

#include "api/http/route.h"

/* The document, terminated. It lasts as long as the program. */
const char *api_openapi_text(size_t *ret_len);

/* The route. */
struct api_routes api_openapi_routes(void);

#endif
