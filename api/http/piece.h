/* The pieces of a streamed answer (api/http/stream.h), and who has the stream. */
#ifndef API_HTTP_PIECE_H
#define API_HTTP_PIECE_H

struct api_request;

enum {
    API_STREAM_PIECE_MAX = 32 * 1024, /* bytes of one piece */
};

/* The fate of a piece. */
enum api_sent {
    API_SENT_WHOLE, /* the kernel has it, and all that was sent before */
    API_SENT_KEPT,  /* it is taken, and a part of it is kept */
    API_SENT_NONE,  /* the piece is not taken, and the kernel took nothing that was kept */
};

/* The owner of a stream. The owner must end the stream. */
struct api_stream_owner {
    /* The client has gone. The owner calls api_stream_end() from within. */
    void (*left)(void *context, struct api_request *request);
    void *context;
};

#endif
