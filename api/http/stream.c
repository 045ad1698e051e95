#include "api/http/stream.h"

#include "api/http/request_state.h"
#include "api/http/transport.h"

#include <assert.h>

enum api_sent api_stream_send(struct api_request *request, const char *bytes, size_t len)
{
    assert(request->state == API_REQUEST_STREAMING);
    assert(len <= API_STREAM_PIECE_MAX);
    return request->transport->stream(request, bytes, len);
}

void api_stream_end(struct api_request *request)
{
    assert(request->state == API_REQUEST_STREAMING);
    request->state = API_REQUEST_ANSWERED;
    request->transport->end_stream(request);
}
