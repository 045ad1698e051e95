/* GET on locks, semaphores and read-write locks: an inspection, or a watch that waits for a change.
 * The handlers' context is a struct api_backend. */
#ifndef API_V1_INSPECT_H
#define API_V1_INSPECT_H

#include "api/http/request.h"

void api_inspect(struct api_request *request, void *context);        /* or watch one lock */
void api_inspect_seats(struct api_request *request, void *context);  /* of a semaphore */
void api_inspect_shared(struct api_request *request, void *context); /* a writer, or readers */

#endif
