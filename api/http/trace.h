/* The marks with which a client finds its request in logs: X-Request-Id, and traceparent (W3C Trace
 * Context, section 3.2). Pure. */
#ifndef API_HTTP_TRACE_H
#define API_HTTP_TRACE_H

#include <stdbool.h>

enum {
    API_REQUEST_ID_MAX = 128, /* bytes of a request's id */
    API_TRACE_MAX = 55,       /* bytes of a traceparent, of which no more is kept */
};

/* Reports whether @text is printable ASCII, at least one byte and at most API_REQUEST_ID_MAX. */
bool api_request_id_valid(const char *text);

/* Reports whether @text is a traceparent: version, trace id, parent id and flags in lower-case
 * hexadecimal digits, neither id all zeros. A version above 00 may say more behind these. */
bool api_trace_valid(const char *text);

#endif
