/* The HTTP server: libmicrohttpd, driven by the program's own loop. It has no thread and never
 * blocks. The loop does this:
 *
 *     poll api_http_fd() for reading, at most api_http_timeout_ms()
 *     readable, or the time is up: api_http_turn()
 *     poll api_http_watch_fd() for reading too
 *     readable: api_http_watch_turn()
 *     after answering parked requests: api_http_send(), or their answers wait for the next poll
 *
 * Handlers run inside these turns. SIGPIPE must be ignored by the program. */
#ifndef API_MHD_SERVER_H
#define API_MHD_SERVER_H

#include "api/http/access.h"
#include "api/http/cors.h"
#include "api/http/limits.h"
#include "api/http/observer.h"
#include "api/http/request.h"
#include "api/http/route.h"
#include "api/http/site.h"
#include "api/mhd/door.h"
#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    API_HTTP_CONNECTIONS = 16384,      /* open at a time; further clients wait to be accepted */
    API_HTTP_CONNECTIONS_MAX = 262144, /* the highest limit that the process may set */
    API_HTTP_IDLE_MAX_S = 3600,
    API_HTTP_IDLE_S = 75,       /* an idle connection is closed after so long; one whose request
                                 * is parked is not idle */
    API_HTTP_WAIT_MS = 10000,   /* time for the head of a request, from its first byte to its
                                 * last, and for its body; after it 408. A new connection has as
                                 * long for its first byte */
    API_HTTP_WAIT_MIN_MS = 100, /* the limits of both */
    API_HTTP_WAIT_MAX_MS = 3600 * 1000,
};

struct api_http_config {
    /* At most API_DOORS_MAX. Copied. The server owns their descriptors once it is made. */
    const struct api_door *doors;
    unsigned doors_count;
    bool holds; /* accepts no client before api_http_let_in(): clients wait in the kernel's queue */
    const struct api_routes *routes; /* borrowed for the life of the server */
    size_t routes_count;
    unsigned connections;       /* 0: API_HTTP_CONNECTIONS */
    unsigned idle_s;            /* 0: API_HTTP_IDLE_S */
    uint32_t head_ms, body_ms;  /* 0: API_HTTP_WAIT_MS */
    struct api_hosts hosts;     /* the service's names; borrowed */
    struct api_origins origins; /* origins of pages that may call; borrowed */
    const struct api_access
        *access; /* the rights of callers; NULL: every caller has all; borrowed */
    void (*log)(void *context, const char *message); /* receives messages of libmicrohttpd; may be
                                                      * NULL. It ends with a newline */
    void *log_context;

    /* The client of a parked request has disconnected: api_request_client() is its number. The
     * request still has to be answered, within this function or later. Not called from within a
     * handler. May be NULL. */
    void (*left)(void *context, uint64_t client);
    void *left_context;

    struct api_observer observer; /* gets each answered request */

    /* Reports whether other servers that accept from the same sockets have fewer connections. This
     * server then waits for them for a short time. Otherwise the server that wakes first would get
     * all clients. NULL: it never waits. */
    bool (*crowded)(void *context);
    void *crowded_context;
};

struct api_http;

/* Serves at the doors. FENCE_EIO; FENCE_ENOMEM: the doors are still the caller's. */
FENCE_CHECKED int api_http_new(const struct api_http_config *config, struct api_http **ret_http);

/* Answers all parked requests with 503, sends what can be sent at once, and closes everything.
 * Answer no request of this server afterwards. NULL is fine. */
void api_http_free(struct api_http *http);

/* Returns the port of the first door; 0: it has none, or is closed. */
uint16_t api_http_port(const struct api_http *http);

/* The descriptor to poll for reading. It stays the same for the life of the server. */
int api_http_fd(const struct api_http *http);

/* Returns how long to poll; -1: no limit. */
int api_http_timeout_ms(struct api_http *http);

/* Does the work there is, without waiting. The work is bounded: if some is left, the timeout is 0.
 * Do not call it from a handler. */
void api_http_turn(struct api_http *http);

/* Sends answers only: it does not ask the kernel about clients, which costs system calls. Bytes
 * from clients still make the descriptor readable. */
void api_http_send(struct api_http *http);

/* Handles clients that connect, and clients that disconnect while they wait. Returns true if it
 * also did a turn. */
int api_http_watch_fd(const struct api_http *http);
bool api_http_watch_turn(struct api_http *http);

/* Starts to accept clients, also those already waiting. Only with config.holds; more than once is
 * fine. */
void api_http_let_in(struct api_http *http);

/* The first step of a clean stop. All calls are served as before, but each connection ends with its
 * next answer ("Connection: close"), even if its request is parked. Clients then reconnect, and a
 * load balancer sends them elsewhere. */
void api_http_leave(struct api_http *http);

/* The same if another process has all listening sockets open and accepts the clients. So this
 * server closes its doors at once, and leaves their queues to that process. */
void api_http_hand_over(struct api_http *http);

/* Reports whether a door is open, so that clients are accepted. */
bool api_http_is_open(const struct api_http *http);

/* A parked request that may wait long (api_request_may_wait()); NULL: there is none. */
struct api_request *api_http_waiting(const struct api_http *http);

/* The last step but one: accepts the connections in the kernel's queues, which would otherwise be
 * reset, closes the doors, and refuses new requests with 503. Parked requests can still be
 * answered. */
void api_http_quiesce(struct api_http *http);

/* How many requests are parked, and how many connections are open. Between turns. */
unsigned api_http_parked(const struct api_http *http);
unsigned api_http_connections(const struct api_http *http);

/* How many connections may be open. */
unsigned api_http_capacity(const struct api_http *http);

/* How many connections were accepted since the start. */
uint64_t api_http_accepted(const struct api_http *http);

/* How many of these were ended without a request, to make space for others. */
uint64_t api_http_evicted(const struct api_http *http);

#endif
