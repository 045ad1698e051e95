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
    API_COSTLY_SERVED = 1,          /* at a time */
    API_COSTLY_BODY = 8 * 1024,     /* bytes of a body that are not costly */
    API_COSTLY_PIECE = 16 * 1024,   /* bytes of each further piece of a body */
    API_COSTLY_PIECE_US = 250,      /* the weight of a piece */
    API_COSTLY_LOCK_US = 64,        /* the weight of a lock of a group that may wait: a master
                                     * takes it, and Redis expires it later */
    API_COSTLY_REST_MAX_US = 20000, /* time beyond this was spent waiting, and not working */
    API_COSTLY_OTHERS_US = 20000,   /* how long a caller of an ordinary request counts as present */
    API_COSTLY_TURN_US = 1000,      /* for one turn; its last request may take longer */
};

struct api_costly {
    struct api_request *first, *last; /* the waiters, in order */
    bool released;                    /* bodies are no longer suspended */
    unsigned served;                  /* requests whose handlers began, and that have no answer */
    uint64_t others_until_us;         /* until then other callers count as present;
                                       * CLOCK_MONOTONIC */
    uint64_t rests_until_us;          /* CLOCK_MONOTONIC */
    void (*left)(struct api_request *request); /* answers a request whose client left the queue */
};

/* Reports whether @request, which has no answer yet, may begin. If not, it waits, and a later turn
 * runs its handler. */
bool api_costly_begins(struct api_request *request);

/* Notes an ordinary request. */
void api_costly_saw_other(struct api_costly *costly);

/* @request has its answer, or may now wait for as long as its client wants; if it is in the queue,
 * it leaves the queue. Does nothing for a request that is not costly. */
void api_costly_ended(struct api_request *request);

/* A piece of the body of @request arrived. Suspends the connection if its next piece has to
 * wait. */
void api_costly_body_came(struct api_request *request);

/* Begins the requests whose turn has come. */
void api_costly_turn(struct api_costly *costly);

/* Returns the milliseconds until a turn can begin a request; -1: no request waits for time
 * alone. */
int api_costly_timeout_ms(const struct api_costly *costly);

/* Resumes all bodies in the queue: a transport cannot end while a connection is suspended. */
void api_costly_release(struct api_costly *costly);

#endif
