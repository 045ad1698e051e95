/* Costly requests: a page of a listing, all metrics, a group of locks, a body of more than
 * API_COSTLY_BODY. A costly request costs the service or the masters up to 33 times an acquire
 * (server/LIMITS.md), and costs its client no more than an acquire does. Costly requests wait in
 * one queue, and the server serves one of them at a time. While other clients send ordinary
 * requests, the server pauses the queue for as long as the last costly request took. Ordinary
 * requests never wait in this queue.
 *
 * A large body waits in the queue before each piece of API_COSTLY_PIECE. The transport keeps the
 * connection suspended until then.
 * Private to api/. One loop, one thread. */
#ifndef API_HTTP_COSTLY_H
#define API_HTTP_COSTLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct api_request;

enum {
    API_COSTLY_SERVED = 1,        /* at a time */
    API_COSTLY_BODY = 8 * 1024,   /* bytes of a body that cost nothing special, */
    API_COSTLY_PIECE = 16 * 1024, /* and of each further piece of it */
    API_COSTLY_PIECE_US = 250,    /* the weight of a piece */
    API_COSTLY_LOCK_US = 64,      /* the weight of a lock of a group that may wait: a master
                                   * takes it, and Redis expires it later */
    API_COSTLY_REST_MAX_US =
        20000, /* whatever took longer waited for something, and did not work */
    API_COSTLY_OTHERS_US =
        20000, /* a caller that asked for something ordinary counts as being there for so long */
    API_COSTLY_TURN_US = 1000, /* for one turn; the last of it may take longer */
};

struct api_costly {
    struct api_request *first, *last; /* the waiters, in order */
    bool released;                    /* no body is suspended any more */
    unsigned served;                  /* requests whose handlers began, and who have no answer */
    uint64_t others_until_us;         /* others count as being there; CLOCK_MONOTONIC */
    uint64_t rests_until_us;          /* CLOCK_MONOTONIC */
    void (*left)(struct api_request *request); /* answers one whose client left in the line */
};

/* @request, which has no answer yet, wants to begin. False: it has to wait; its handler is run by a
 * later turn. */
bool api_costly_begins(struct api_request *request);

/* Something ordinary was asked for. */
void api_costly_saw_other(struct api_costly *costly);

/* @request has its answer, or may wait from here on for as long as its client likes; if it stood in
 * the line, it leaves it. Fine for a request that is not costly. */
void api_costly_ended(struct api_request *request);

/* A piece of the body of @request came. Suspends its connection, where its next piece has to wait.
 */
void api_costly_body_came(struct api_request *request);

/* Lets begin who may. */
void api_costly_turn(struct api_costly *costly);

/* Milliseconds until a turn can let somebody begin; -1: no call waits for that alone. */
int api_costly_timeout_ms(const struct api_costly *costly);

/* Lets all bodies in the line go on: a transport cannot end while a connection is suspended. */
void api_costly_release(struct api_costly *costly);

#endif
