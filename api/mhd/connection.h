/* The connections of clients, each from its accept to its end. A connection reads the socket for
 * libmicrohttpd (api/wire/socket_calls.c), passes each byte through api/wire/framing.h, and gives a
 * head and a body their time. It refuses by itself what libmicrohttpd must not see: it writes the
 * answer to the socket after those of all earlier requests, and ends. Behind a door with TLS all
 * bytes pass its session (api/tls/session.h), and a handshake has the time of a first byte.
 *
 *     fresh --first byte--> HEAD --> BODY --> handled --answered--> idle --first byte--> HEAD ...
 *       '-------time is up---'--------'-----> refused: what still comes is dropped --> closed
 *
 * Private to api/. One loop, one thread. */
#ifndef API_MHD_CONNECTION_H
#define API_MHD_CONNECTION_H

#include "api/http/observer.h"
#include "api/mhd/deadlines.h"
#include "api/mhd/door.h"
#include "api/wire/framing.h"
#include "api/wire/socket_calls.h"
#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    API_CONNECTION_EVICT_MS = 1000,  /* when space is short, a connection may be ended whose head
                                      * takes longer, or which was idle for so long */
    API_CONNECTION_EXPIRE_MAX = 512, /* connections ended in one turn */
};

struct api_connection {
    struct api_connections *connections;
    const struct api_door *door;     /* through which it came */
    struct api_tls_session *session; /* NULL: plain HTTP */
    struct api_deadline deadline;    /* deadline of its current wait */
    const struct api_fault *fault;   /* a fault to report */
    int fd;
    uint32_t answered; /* requests; wraps, as framing.completed does */
    bool fresh;        /* no byte came yet, except of TLS */
    bool ended;        /* libmicrohttpd was told that the client has disconnected */
    bool greeting;     /* the thread of handshakes has the session (api/mhd/greeting.h) */
    bool local;        /* a socket of the Unix domain */
    struct api_framing framing;
};

struct api_connections {
    struct api_connection **by_fd;
    size_t size; /* number of entries in by_fd */
    const struct api_observer *observer;
    struct api_deadlines deadlines;
    void (*log)(void *context, const char *message); /* as in api/mhd/server.h; may be NULL */
    void *log_context;
};

/* @observer is borrowed, and gets the requests that are refused here. */
void api_connections_init(struct api_connections *connections, uint32_t head_ms, uint32_t body_ms,
                          const struct api_observer *observer);
void api_connections_fini(struct api_connections *connections);

/* The client behind @fd was accepted at @door, which is borrowed. @local: over the Unix domain.
 * FENCE_ENOMEM. */
FENCE_CHECKED int api_connections_add(struct api_connections *connections, int fd,
                                      const struct api_door *door, bool local);

/* Removes the connection @fd, which is about to be closed. Does nothing if it was not added. */
void api_connections_remove(struct api_connections *connections, int fd);

/* NULL: @fd is not one of theirs. */
struct api_connection *api_connections_find(const struct api_connections *connections, int fd);

/* Leads libmicrohttpd's calls to the connections: their context is a struct api_connections. */
extern const struct api_socket_calls api_connection_calls;

/* recv(2) for libmicrohttpd: bytes that it may see; 0 at the end; -1 with errno. */
ssize_t api_connection_read(struct api_connection *connection, char *buffer, size_t size);

/* The common name of the client's certificate; "" without one. */
const char *api_connection_subject(const struct api_connection *connection);

/* A request was refused before it was complete: the connection waits for no more bytes. */
void api_connection_refused(struct api_connection *connection);

/* A request that reached a handler has its answer, or its connection ends. */
void api_connection_answered(struct api_connection *connection);

/* Ends connections whose time is up, up to API_CONNECTION_EXPIRE_MAX. */
void api_connections_expire(struct api_connections *connections);

/* Returns the time until the next deadline; -1: none. */
int api_connections_timeout_ms(const struct api_connections *connections);

/* Ends up to @count connections without a request, to make space for others: first connections
 * without a complete head, then idle ones, the oldest first. Returns how many. They are closed
 * after the next round of their shard. */
unsigned api_connections_evict(struct api_connections *connections, unsigned count);

#endif
