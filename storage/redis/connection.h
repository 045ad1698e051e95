/* The connection to one Redis: it opens, fails, and opens again by itself after a backoff. It knows
 * nothing of what is asked on it. Its owner and the parts of a master (handshake.h, outbox.h,
 * probe.h and others) stand above it. They call it, and it tells only the owner.
 *
 * Only connection.c moves the link. All functions and callbacks belong to the thread of the loop.
 */
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

    /* Do the handshake now: HANDSHAKE has begun. It ends with storage_connection_ready(), or fails.
     */
    void (*connected)(void *context);

    /* storage_connection_ready() was called: READY has begun. */
    void (*ready)(void *context);

    /* It failed: BACKOFF has begun, and nothing is closed yet. */
    void (*failed)(void *context, enum fence_reason reason);

    /* Requests on their way are answered with NULL. The owner's requests on this connection end
     * here, before the next one begins. */
    void (*ended)(void *context);

    /* The last callback, after storage_connection_close(): its memory may go. */
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
    uv_timer_t timer; /* the backoff, the handshake's deadline, or what is done every so often */
    uv_getaddrinfo_t resolve;
    unsigned failures; /* in a row */
    bool resolving;
    bool timer_open;
    void (*due)(void *context);
    void *due_context;
};

/* Starts to connect when the loop runs. @connection is zeroed; it stays where it is. */
void storage_connection_open(struct storage_connection *connection,
                             const struct storage_connection_config *config);

/* Ends it without a word of failure; events.closed follows. */
void storage_connection_close(struct storage_connection *connection);

/* Reports whether @context is that of the connection that stands, and its link is @link. Only then
 * an answer belongs to what was under way. */
bool storage_connection_is(const struct storage_connection *connection,
                           const redisAsyncContext *context, enum storage_link link);

/* It is of no more use, for @reason and @detail: tells the owner, closes it, and opens it again
 * after the backoff. Does nothing where that is under way. */
void storage_connection_fail(struct storage_connection *connection, enum fence_reason reason,
                             const char *detail);

/* The same, where @broken broke, or brought what no Redis says. */
void storage_connection_broke(struct storage_connection *connection, const redisContext *broken);

/* The same, where the connection is well and @reply an error. */
void storage_connection_refused(struct storage_connection *connection, const redisReply *reply);

/* Abandons it: the next storage_connection_flush() closes it, and it opens again after the
 * backoff. */
void storage_connection_reset(struct storage_connection *connection);

/* Sends what was asked on it, and does the reset that was asked for. */
void storage_connection_flush(struct storage_connection *connection);

/* Another handshake begins on the connection that stands. It has to end within
 * STORAGE_HANDSHAKE_DEADLINE_MS. */
void storage_connection_handshake(struct storage_connection *connection);

/* The handshake ended well. */
void storage_connection_ready(struct storage_connection *connection);

/* A cause of the failure may be gone: it is opened at once if it waits for its backoff, and the
 * next failure is the first of a row. */
void storage_connection_hurry(struct storage_connection *connection);

/* It has been of use for a while: the next failure is the first of a row. */
void storage_connection_steady(struct storage_connection *connection);

/* Calls @due now, and every @interval_ms, as long as no handshake begins and it does not fail. */
void storage_connection_every(struct storage_connection *connection, unsigned interval_ms,
                              void (*due)(void *context), void *context);

#endif
