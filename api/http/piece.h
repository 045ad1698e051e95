/* The pieces of a streamed answer (api/http/stream.h), and the owner of the stream. */
#ifndef API_HTTP_PIECE_H
#define API_HTTP_PIECE_H

struct api_request;

enum {
    API_STREAM_PIECE_MAX = 32 * 1024, /* bytes of one piece */
};

/* The fate of a piece. */
enum api_sent {
    API_SENT_WHOLE, /* the kernel has this piece, and everything sent before */
    API_SENT_KEPT,  /* the piece is accepted, and a part of it is kept */
    API_SENT_NONE,  /* the piece is not accepted, and the kernel took nothing of the kept part */
};

/* The owner of a stream. The owner must end the stream. */
struct api_stream_owner {
    /* The client has disconnected. The owner must call api_stream_end() within this function. */
    void (*left)(void *context, struct api_request *request);
    void *context;
};

#endif
