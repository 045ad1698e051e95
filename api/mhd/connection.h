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
    API_CONNECTION_EVICT_MS = 1000,  /* if space is short, one may be ended whose head takes
                                      * longer, or that asked for nothing for so long */
    API_CONNECTION_EXPIRE_MAX = 512, /* connections ended in one turn */
};

struct api_connection {
    struct api_connections *connections;
    const struct api_door *door;     /* through which it came */
    struct api_tls_session *session; /* NULL: plain HTTP */
    struct api_deadline deadline;    /* of what it waits for */
    const struct api_fault *fault;   /* found, and to be told */
    int fd;
    uint32_t answered; /* requests; wraps, as framing.completed does */
    bool fresh;        /* nothing came yet, but what is TLS's own */
    bool ended;        /* libmicrohttpd is told that the client has gone */
    bool greeting;     /* the session is that of a handshake's thread (api/mhd/greeting.h) */
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

/* @observer is borrowed, and told of requests that are refused here. */
void api_connections_init(struct api_connections *connections, uint32_t head_ms, uint32_t body_ms,
                          const struct api_observer *observer);
void api_connections_fini(struct api_connections *connections);

/* The client behind @fd was accepted at @door, which is borrowed. @local: over the Unix domain.
 * FENCE_ENOMEM. */
FENCE_CHECKED int api_connections_add(struct api_connections *connections, int fd,
                                      const struct api_door *door, bool local);

/* The connection @fd is about to be closed. One that was not added is fine. */
void api_connections_remove(struct api_connections *connections, int fd);

/* NULL: @fd is not one of theirs. */
struct api_connection *api_connections_find(const struct api_connections *connections, int fd);

/* Leads libmicrohttpd's calls to the connections: their context is a struct api_connections. */
extern const struct api_socket_calls api_connection_calls;

/* recv(2) for libmicrohttpd: bytes that it may see; 0 at the end; -1 with errno. */
ssize_t api_connection_read(struct api_connection *connection, char *buffer, size_t size);

/* The common name of the client's certificate; "" without one. */
const char *api_connection_subject(const struct api_connection *connection);

/* A request was refused before it came whole: nothing more is waited for. */
void api_connection_refused(struct api_connection *connection);

/* A request that reached a handler has its answer, or its connection ends. */
void api_connection_answered(struct api_connection *connection);

/* Ends connections whose time is up, at most API_CONNECTION_EXPIRE_MAX. */
void api_connections_expire(struct api_connections *connections);

/* How long until the next time is up; -1: never. */
int api_connections_timeout_ms(const struct api_connections *connections);

/* Ends connections without a request, at most @count: there is no space for others. First
 * connections whose head is not there yet, then idle ones; of each the oldest first. Returns how
 * many. They are gone after the next round of their shard. */
unsigned api_connections_evict(struct api_connections *connections, unsigned count);

#endif
