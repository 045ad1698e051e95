/* A streamed answer: its head goes out at once (api_request_stream()), and pieces of its body as
 * they come, until the program ends it or its client leaves. A stream has no place among the parked
 * requests.
 *
 *   HANDLING --began in the handler--> STREAMING --ended--> ANSWERED
 *
 * One loop, one thread. */
#ifndef API_HTTP_STREAM_H
#define API_HTTP_STREAM_H

#include "api/http/piece.h"

#include <stddef.h>

/* Sends a piece, up to API_STREAM_PIECE_MAX bytes, without waiting for the client. While a part of
 * the last piece is kept, the piece is 0 bytes: more of that part is sent. */
enum api_sent api_stream_send(struct api_request *request, const char *bytes, size_t len);

/* Ends the stream, and closes its connection. Bytes that the kernel did not take are dropped. The
 * request is gone afterwards: do not touch it again. */
void api_stream_end(struct api_request *request);

#endif
