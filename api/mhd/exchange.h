/* One exchange: a request of api/http and the connection of libmicrohttpd that brought it, until
 * its answer is sent.
 *
 *     READING --answered at once---------------------------------------------> SENT
 *        '--not yet--> HOVERING --answered--> PREPARED --looked at--------------^
 *                        |  '--looks are used up--> SUSPENDED --answered--------^
 *                        '--the client is gone--> GONE --answered--> freed
 *     READING --streams--> OPENING --head is sent--> STREAMING --ended------> SENT
 *
 * libmicrohttpd looks at an exchange that hovers in each turn, and takes its answer when it is
 * there. Most answers come within a few turns, and suspending a connection costs two system calls.
 * One that hovers for too long is suspended, and costs nothing until it is answered. An answer that
 * cannot be made or taken leads to BROKEN, not to SENT: the connection is closed instead.
 *
 * Private to api/mhd. One loop, one thread. */
#ifndef API_MHD_EXCHANGE_H
#define API_MHD_EXCHANGE_H

#include "api/http/requests.h"
#include "api/mhd/shard.h"

#include <stdbool.h>

#include <microhttpd.h>

/* The state that all exchanges of a server share: the context of its shards. */
struct api_exchanges {
    struct api_requests requests;
    int watch_fd; /* from api/mhd/watch.h */
};

enum api_exchange_state {
    API_EXCHANGE_READING,
    API_EXCHANGE_HOVERING,
    API_EXCHANGE_SUSPENDED,
    API_EXCHANGE_PREPARED,  /* the answer is ready, and waits for the next look */
    API_EXCHANGE_GONE,      /* the connection has ended, and the request still has to be answered */
    API_EXCHANGE_OPENING,   /* libmicrohttpd has the head of a streamed answer */
    API_EXCHANGE_STREAMING, /* libmicrohttpd has sent the head; the connection is suspended */
    API_EXCHANGE_SENT,      /* libmicrohttpd has the answer */
    API_EXCHANGE_BROKEN,
    API_EXCHANGE_STATES, /* how many there are */
};

struct api_exchange {
    enum api_exchange_state state;
    bool called;    /* READING: libmicrohttpd called once without more of a body, after an Expect */
    unsigned looks; /* HOVERING: how often it was looked at */
    struct api_exchanges *exchanges;
    struct api_shard *shard;
    struct MHD_Connection *connection; /* NULL: GONE */
    struct MHD_Response *response;     /* NULL: not made */
    unsigned status;                   /* status of the response */
    bool in_chunks;                    /* the answer is streamed: the client speaks HTTP/1.1 */
    bool ends;                         /* OPENING: the stream has no more to send */
    char *unsent;                   /* the unsent rest of a piece that is streamed; NULL: nothing */
    unsigned unsent_at, unsent_len; /* the part that was sent, and how long it is */
    struct api_request *request;    /* stands behind this struct */
};

/* A new exchange with the request that @head begins; @head->exchange is set here. NULL if memory is
 * out. */
struct api_exchange *api_exchange_new(struct api_exchanges *exchanges, struct api_shard *shard,
                                      struct MHD_Connection *connection, struct api_incoming *head);

/* Frees it with its request, which is not parked. */
void api_exchange_free(struct api_exchange *exchange);

/* Moves @exchange to @state, which the diagram above must allow. */
void api_exchange_move(struct api_exchange *exchange, enum api_exchange_state state);

/* Adds the header fields of @response to @made. False: memory is out. */
bool api_exchange_add_fields(struct MHD_Response *made, const struct api_response *response);

/* Makes what libmicrohttpd sends. */
void api_exchange_prepare(struct api_exchange *exchange, const struct api_response *response);

/* Gives the response to libmicrohttpd, which is looking at the connection or is about to resume it.
 * The exchange is then SENT or BROKEN. */
void api_exchange_send(struct api_exchange *exchange);

#endif
