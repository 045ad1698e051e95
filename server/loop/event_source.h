/* Makes the events of GET /v1/events: events of locks that pass through this worker, and the state
 * of the masters and the fleet. */
#ifndef SERVER_LOOP_EVENT_SOURCE_H
#define SERVER_LOOP_EVENT_SOURCE_H

#include "api/v1/backend.h"
#include "server/loop/event_ring.h"
#include "server/loop/leases.h"
#include "server/loop/lock_event.h"

#include <stdbool.h>

/* The event source of one worker. */
struct server_event_source {
    struct server_event_ring *ring;    /* borrowed */
    const struct api_backend *backend; /* borrowed */
    char server[API_EVENT_SERVER_MAX]; /* the name of this server in events */
    struct server_leases *leases;      /* leases that the worker granted or extended; NULL: none
                                        * yet */
    bool tells_fleet;                  /* one of several workers is enough */
    bool knows_fleet;                  /* the state of the fleet is known: changes are events */
    bool ready;
    struct {
        enum fence_master_state state;
        enum fence_reason reason;
    } told[FENCE_MASTERS_MAX];
};

/* Names this server after the machine and the @port of its listener; 0: no listener has one. */
void server_event_source_name(struct server_event_source *source, unsigned port);

/* For server/loop/lock_event.h. */
struct server_listening server_event_source_listening(struct server_event_source *source);

/* Adds events for leases that ended and for changes of masters and the fleet. Call it in each turn.
 * Returns whether events are recorded. */
bool server_event_source_turn(struct server_event_source *source);

/* Frees the memory of @source. */
void server_event_source_fini(struct server_event_source *source);

#endif
