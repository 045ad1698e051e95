#include "api/http/header.h"

static const char *const header_names[API_HEADERS] = {
    [API_HEADER_HOST] = "Host",
    [API_HEADER_CONTENT_LENGTH] = "Content-Length",
    [API_HEADER_TRANSFER_ENCODING] = "Transfer-Encoding",
    [API_HEADER_CONTENT_TYPE] = "Content-Type",
    [API_HEADER_EXPECT] = "Expect",
    [API_HEADER_LOCK_ID] = "Lock-Id",
    [API_HEADER_FENCING_TOKEN] = "Fencing-Token",
    [API_HEADER_WAITED_MS] = "Waited-Ms",
    [API_HEADER_IF_MATCH] = "If-Match",
    [API_HEADER_ORIGIN] = "Origin",
    [API_HEADER_SEC_FETCH_SITE] = "Sec-Fetch-Site",
    [API_HEADER_AUTHORIZATION] = "Authorization",
    [API_HEADER_REQUEST_METHOD] = "Access-Control-Request-Method",
    [API_HEADER_REQUEST_ID] = "X-Request-Id",
    [API_HEADER_TRACEPARENT] = "traceparent",
};

const char *api_header_name(enum api_header header)
{
    return header_names[header];
}
