/* POST on locks, semaphores and read-write locks: reads the parameters, and hands an acquire to the
 * backend. The handlers' context is a struct api_backend. */
#ifndef API_V1_ACQUIRE_H
#define API_V1_ACQUIRE_H

#include "api/http/request.h"

void api_acquire(struct api_request *request, void *context);         /* one lock */
void api_acquire_several(struct api_request *request, void *context); /* all or none */
void api_acquire_seat(struct api_request *request, void *context);    /* of a semaphore */
void api_acquire_shared(struct api_request *request, void *context);  /* as reader or writer */

#endif
