/* The functions that a request needs from the connection that brought it: a table of functions.
 * api/mhd fills it for libmicrohttpd. Another transport (another library, another protocol) fills a
 * table of its own, and serves the same routes. */
#ifndef API_HTTP_TRANSPORT_H
#define API_HTTP_TRANSPORT_H

#include "api/http/answer.h"
#include "api/http/piece.h"

#include <stdbool.h>
#include <stddef.h>

struct api_request;

struct api_transport {
    /* Sends @response, which lives for the call. Called once for each request that was completed or
     * refused: from within api_request_complete() or api_request_refuse(), or later. Later the
     * request may be gone afterwards. */
    void (*answer)(struct api_request *request, const struct api_response *response);

    /* Sends the head of a streamed answer; @head has no body. From within api_request_complete().
     */
    void (*begin_stream)(struct api_request *request, const struct api_response *head);

    /* As api_stream_send(). */
    enum api_sent (*stream)(struct api_request *request, const char *bytes, size_t len);

    /* The stream ends with its connection; the request may be gone afterwards. */
    void (*end_stream)(struct api_request *request);

    /* Reports whether the client of a request that waits for its answer is known to have
     * disconnected. */
    bool (*has_left)(const struct api_request *request);

    /* The client's socket; -1: it is gone. */
    int (*socket)(const struct api_request *request);

    /* Calls @visit with each query parameter until @visit returns false: not decoded, but "+" has
     * become a space; @value is NULL if it has no "=". */
    void (*query)(const struct api_request *request,
                  bool (*visit)(void *context, const char *name, const char *value), void *context);

    /* Stops reading the body until resume(). */
    void (*suspend)(struct api_request *request);
    void (*resume)(struct api_request *request);
};

#endif
