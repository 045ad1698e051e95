/* The clients of one worker that follow events. Each client has a cursor into the ring of the
 * process. While there are such clients, a timer of the loop sends the new events.
 *
 * Events must not slow down locks. The worker spends at most one part in SERVER_EVENTS_SHARE of its
 * time on streams. A client that falls behind the ring, for this reason or its own slowness, gets a
 * gap. A client that does not read is cut when it is SERVER_EVENTS_BACKLOG events behind, or has
 * read nothing for SERVER_EVENTS_STUCK_US. Until then it costs one system call in each turn. */
#ifndef SERVER_LOOP_EVENT_STREAMS_H
#define SERVER_LOOP_EVENT_STREAMS_H

#include "api/v1/events.h"
#include "api/v1/metrics.h"
#include "server/loop/event_ring.h"
#include "server/loop/http_loop.h"

#include <uv.h>

enum {
    SERVER_EVENTS_READERS = 1024,              /* for a process; one more is refused (429) */
    SERVER_EVENTS_BACKLOG = 8192,              /* events behind which a stuck reader is cut */
    SERVER_EVENTS_PATIENCE_US = 1000 * 1000,   /* after it took nothing for so long */
    SERVER_EVENTS_STUCK_US = 30 * 1000 * 1000, /* time without a read after which any reader is
                                                * cut */
    SERVER_EVENTS_HEARTBEAT_US = 15 * 1000 * 1000,
    SERVER_EVENTS_TICK_MS = 20, /* the least time between two sends */
    SERVER_EVENTS_TURN_US = 3000,
    SERVER_EVENTS_SHARE = 32,
    SERVER_EVENTS_REST_MS = 500, /* the longest rest: up to so long a rest is 32 times the cost
                                  * of a turn */
};

/* All is borrowed for the life of the streams. */
struct server_event_streams_config {
    uv_loop_t *loop;
    struct server_event_ring *ring;
    struct server_http_loop *http_loop;
    struct api_worker_metrics *metrics;
    const struct api_backend *backend;
    const char *server; /* the name of this server in events */
    unsigned readers;   /* limit of readers */
};

struct server_event_streams;

/* FENCE_ENOMEM. */
FENCE_CHECKED int server_event_streams_new(const struct server_event_streams_config *config,
                                           struct server_event_streams **ret_streams);

/* Frees the streams, which were stopped before. The memory is freed when the loop has run once
 * more. NULL is fine. */
void server_event_streams_free(struct server_event_streams *streams);

/* Begins the stream of a client that wants to follow events, or refuses it. */
void server_event_streams_follow(struct server_event_streams *streams,
                                 const struct api_events_call *call);

/* Ends all streams; their clients reconnect. */
void server_event_streams_end(struct server_event_streams *streams);

/* Ends all streams, and begins no more: the process is ending. */
void server_event_streams_stop(struct server_event_streams *streams);

#endif
