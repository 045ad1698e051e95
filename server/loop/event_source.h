/* Makes the events of GET /v1/events: what happens to locks through this worker, and how the
 * masters and the fleet are. */
#ifndef SERVER_LOOP_EVENT_SOURCE_H
#define SERVER_LOOP_EVENT_SOURCE_H

#include "api/v1/backend.h"
#include "server/loop/event_ring.h"
#include "server/loop/leases.h"
#include "server/loop/lock_event.h"

#include <stdbool.h>

/* One worker's. */
struct server_event_source {
    struct server_event_ring *ring;    /* borrowed */
    const struct api_backend *backend; /* borrowed */
    char server[API_EVENT_SERVER_MAX]; /* the name of this server in events */
    struct server_leases *leases;      /* that it granted or extended; NULL: none yet */
    bool tells_fleet;                  /* one of several workers is enough */
    bool knows_fleet;                  /* later events were told */
    bool ready;
    struct {
        enum fence_master_state state;
        enum fence_reason reason;
    } told[FENCE_MASTERS_MAX];
};

/* Names this server by the machine and the @port at which it listens; 0: none. */
void server_event_source_name(struct server_event_source *source, unsigned port);

/* For server/loop/lock_event.h. */
struct server_listening server_event_source_listening(struct server_event_source *source);

/* In each turn: tells of leases that ended, and what changed about masters and the fleet. Returns
 * whether events are recorded. */
bool server_event_source_turn(struct server_event_source *source);

/* Frees what it has. */
void server_event_source_fini(struct server_event_source *source);

#endif
