/* A streamed answer: its head is sent at once (api_request_stream()), and the pieces of its body
 * later, until the program ends the stream or its client disconnects. A stream is not a parked
 * request.
 *
 *   HANDLING --began in the handler--> STREAMING --ended--> ANSWERED
 *
 * One loop, one thread. */
#ifndef API_HTTP_STREAM_H
#define API_HTTP_STREAM_H

#include "api/http/piece.h"

#include <stddef.h>

/* Sends a piece, up to API_STREAM_PIECE_MAX bytes, without waiting for the client. While a part of
 * the last piece is kept, pass a piece of 0 bytes: more of the kept part is sent. */
enum api_sent api_stream_send(struct api_request *request, const char *bytes, size_t len);

/* Ends the stream, and closes its connection. Bytes that the kernel did not take are dropped. Do
 * not use the request afterwards. */
void api_stream_end(struct api_request *request);

#endif
