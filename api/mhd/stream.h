/* Streamed answers (api/http/stream.h). libmicrohttpd sends the head, and the end. Between them the
 * connection is suspended, and this file writes the pieces to its socket: to wake a connection of
 * libmicrohttpd for each piece would cost four more system calls. Private to api/mhd. */
#ifndef API_MHD_STREAM_H
#define API_MHD_STREAM_H

#include "api/http/piece.h"
#include "api/mhd/exchange.h"

/* As the functions of api/http/transport.h. */
void api_mhd_stream_begin(struct api_request *request, const struct api_response *head);
enum api_sent api_mhd_stream_send(struct api_request *request, const char *bytes, size_t len);
void api_mhd_stream_end(struct api_request *request);

#endif
