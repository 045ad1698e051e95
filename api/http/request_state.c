#include "api/http/request_state.h"

#include <stdlib.h>
#include <time.h>

void api_request_queue(struct api_request *request)
{
    request->state = API_REQUEST_BROKEN;
    if (request->response != NULL &&
        MHD_queue_response(request->connection, request->status, request->response) == MHD_YES)
        request->state = API_REQUEST_ANSWERED;
}

uint64_t api_request_now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void api_request_free(struct api_request *request)
{
    if (request->caller.done != NULL)
        request->caller.done(&request->caller);
    if (request->response != NULL)
        MHD_destroy_response(request->response);
    free(request->body);
    free(request->kept);
    free(request);
}
