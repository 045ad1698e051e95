/* A streamed answer: its head goes out at once, and pieces of its body as they come, until the
 * program ends it or its client leaves. A stream has no place among the parked requests.
 *
 *   HANDLING --began in the handler--> STREAMING --ended--> ANSWERED
 *
 * One loop, one thread. */
#ifndef API_HTTP_STREAM_H
#define API_HTTP_STREAM_H

#include "api/http/request.h"

enum {
    API_STREAM_PIECE_MAX = 32 * 1024, /* bytes of one piece */
};

/* Who has a stream, and must end it. */
struct api_stream_owner {
    /* The client has gone. The owner calls api_stream_end() from within. */
    void (*left)(void *context, struct api_request *request);
    void *context;
};

/* Begins the answer to @request, from within its handler. @head has no body. False: the request was
 * a HEAD; it is answered, and there is no stream. The request counts as answered from here on. The
 * connection ends with the stream. */
bool api_stream_begin(struct api_request *request, const struct api_answer *head,
                      const struct api_stream_owner *owner);

/* What became of a piece. */
enum api_sent {
    API_SENT_WHOLE, /* the kernel has it, and all that was sent before */
    API_SENT_KEPT,  /* it is taken, and a part of it is kept */
    API_SENT_NONE,  /* it is not taken. Of what was kept, the kernel took nothing */
};

/* Sends a piece, up to API_STREAM_PIECE_MAX bytes, without waiting for the client. While a part of
 * the last piece is kept, the piece is 0 bytes: more of that part is sent. */
enum api_sent api_stream_send(struct api_request *request, const char *bytes, size_t len);

/* Ends the stream, and closes its connection. Bytes that the kernel did not take are dropped. The
 * request is gone afterwards: do not touch it again. */
void api_stream_end(struct api_request *request);

#endif
