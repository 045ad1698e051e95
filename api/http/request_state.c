#include "api/http/request_state.h"

#include <stdlib.h>

void api_request_queue(struct api_request *request)
{
    request->state = API_REQUEST_BROKEN;
    if (request->response != NULL &&
        MHD_queue_response(request->connection, request->status, request->response) == MHD_YES)
        request->state = API_REQUEST_ANSWERED;
}

void api_request_free(struct api_request *request)
{
    if (request->caller.done != NULL)
        request->caller.done(&request->caller);
    if (request->response != NULL)
        MHD_destroy_response(request->response);
    free(request->body);
    free(request);
}
