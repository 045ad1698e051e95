/* The connection to one Redis: it opens, fails, and reconnects after a backoff. It knows nothing of
 * the requests on it. Its owner and the parts of a master (handshake.h, outbox.h, probe.h and
 * others) call it, and it calls back only the owner.
 *
 * Only connection.c moves the link. All functions and callbacks belong to the thread of the
 * loop. */
#ifndef STORAGE_REDIS_CONNECTION_H
#define STORAGE_REDIS_CONNECTION_H

#include "fence/fleet/fleet.h"
#include "storage/redis/url.h"

#include <stdbool.h>
#include <stdint.h>

#include <hiredis/async.h>
#include <uv.h>

enum {
    STORAGE_DETAIL_MAX = 160,           /* bytes of the text of a failure */
    STORAGE_REPLY_BUFFER = 1024 * 1024, /* bytes hiredis keeps between replies */
};

enum storage_link {
    STORAGE_LINK_BACKOFF,
    STORAGE_LINK_RESOLVING,
    STORAGE_LINK_CONNECTING,
    STORAGE_LINK_HANDSHAKE,
    STORAGE_LINK_READY,
    STORAGE_LINK_CLOSED, /* closed by its owner: the last callbacks are on their way */
};

/* The callbacks from a connection to its owner. */
struct storage_connection_events {
    void *context;

    /* HANDSHAKE has begun: do the handshake now. It ends with storage_connection_ready(), or
     * fails. */
    void (*connected)(void *context);

    /* storage_connection_ready() was called: READY has begun. */
    void (*ready)(void *context);

    /* The connection failed: BACKOFF has begun, and nothing is closed yet. */
    void (*failed)(void *context, enum fence_reason reason);

    /* Requests under way are answered with NULL. The owner must end its requests on this connection
     * here, before the next one begins. */
    void (*ended)(void *context);

    /* The last callback, after storage_connection_close(): the memory may be freed. */
    void (*closed)(void *context);
};

struct storage_connection_config {
    uv_loop_t *loop;
    struct storage_redis_url *url; /* borrowed */
    struct storage_connection_events events;
};

struct storage_connection {
    struct storage_connection_config config;
    enum storage_link link;     /* only connection.c moves it */
    redisAsyncContext *context; /* NULL unless CONNECTING, HANDSHAKE or READY */
    uint64_t ready_ns;          /* when the last handshake ended well */
    uint64_t round_trip_us;     /* time of the last script call or probe; 0 before the first */
    bool reset_wanted;
    char detail[STORAGE_DETAIL_MAX]; /* text of the last failure; "" if there was none */

    /* Of connection.c. */
    uv_timer_t timer; /* the backoff, the handshake's deadline, or a periodic task */
    uv_getaddrinfo_t resolve;
    unsigned failures; /* consecutive failures */
    bool resolving;
    bool timer_open;
    void (*due)(void *context);
    void *due_context;
};

/* Starts to connect when the loop runs. @connection is zeroed; it stays where it is. */
void storage_connection_open(struct storage_connection *connection,
                             const struct storage_connection_config *config);

/* Closes the connection without a failure; events.closed follows. */
void storage_connection_close(struct storage_connection *connection);

/* Reports whether @context belongs to the current connection, and its link is @link. Only then an
 * answer belongs to the requests under way. */
bool storage_connection_is(const struct storage_connection *connection,
                           const redisAsyncContext *context, enum storage_link link);

/* Fails the connection, for @reason and @detail: tells the owner, closes it, and reconnects after
 * the backoff. Does nothing if that is already under way. */
void storage_connection_fail(struct storage_connection *connection, enum fence_reason reason,
                             const char *detail);

/* Does the same if @broken broke, or sent bytes that no Redis sends. */
void storage_connection_broke(struct storage_connection *connection, const redisContext *broken);

/* Does the same if the connection is well and @reply is an error. */
void storage_connection_refused(struct storage_connection *connection, const redisReply *reply);

/* Abandons the connection: the next storage_connection_flush() closes it, and it reconnects after
 * the backoff. */
void storage_connection_reset(struct storage_connection *connection);

/* Sends the gathered requests, and does a requested reset. */
void storage_connection_flush(struct storage_connection *connection);

/* Begins another handshake on the current connection. It has to end within
 * STORAGE_HANDSHAKE_DEADLINE_MS. */
void storage_connection_handshake(struct storage_connection *connection);

/* The handshake ended well. */
void storage_connection_ready(struct storage_connection *connection);

/* A cause of the failure may have disappeared: if the connection waits for its backoff, it opens at
 * once, and the next failure counts as the first. */
void storage_connection_hurry(struct storage_connection *connection);

/* The connection has been useful for a while: the next failure counts as the first. */
void storage_connection_steady(struct storage_connection *connection);

/* Calls @due now, and every @interval_ms, until a handshake begins or the connection fails. */
void storage_connection_every(struct storage_connection *connection, unsigned interval_ms,
                              void (*due)(void *context), void *context);

#endif
