/* The last events of the process, as text that is ready to be sent. All workers write into one
 * ring, and each worker reads from it for its clients. Any thread, under one mutex.
 *
 * Without readers nothing is recorded: events are kept from the first reader on, until
 * SERVER_EVENTS_AFTER_US after the last one. */
#ifndef SERVER_LOOP_EVENT_RING_H
#define SERVER_LOOP_EVENT_RING_H

#include "api/v1/event.h"
#include "fence/protocol/error.h"

#include <stdbool.h>

enum {
    SERVER_EVENTS_KEPT = 16384,                /* events that are kept, a power of 2 */
    SERVER_EVENTS_BYTES = 4 * 1024 * 1024,     /* bytes of their text */
    SERVER_EVENTS_AFTER_US = 60 * 1000 * 1000, /* how long events are kept without a reader, for
                                                * a reader that comes back */
    SERVER_EVENTS_LOOK = 1024,                 /* events that one read looks at */
};

struct server_event_ring;

/* Makes a ring, which takes little memory until a reader joins. FENCE_ENOMEM. */
FENCE_CHECKED int server_event_ring_new(struct server_event_ring **ret_ring);
void server_event_ring_free(struct server_event_ring *ring); /* NULL is fine */

/* Reports whether events are recorded. One atomic load. */
bool server_event_ring_records(const struct server_event_ring *ring);

/* Adds an event, if events are recorded. */
void server_event_ring_add(struct server_event_ring *ring, const struct api_event *event);

/* Add and remove a reader. FENCE_ENOMEM: there is no memory for events. */
FENCE_CHECKED int server_event_ring_join(struct server_event_ring *ring);
void server_event_ring_leave(struct server_event_ring *ring);

/* Returns the number of the next event. */
uint64_t server_event_ring_next(const struct server_event_ring *ring);

/* Writes the id of the event with @number. */
void server_event_ring_id(const struct server_event_ring *ring, uint64_t number,
                          char ret_id[static API_EVENT_ID_MAX]);

/* Finds the number of the event behind the event with @id. FENCE_ENOENT: @id is not of this
 * process, or the events behind it are no longer kept. */
FENCE_CHECKED int server_event_ring_find(struct server_event_ring *ring, const char *id,
                                         uint64_t *ret_number);

/* Calls @look with the resource of each event from *@cursor on; @len 0: the event has none. Looks
 * at up to SERVER_EVENTS_LOOK events, and moves *@cursor behind them. Returns how many events are
 * no longer kept; *@cursor moves behind them, too. */
uint64_t server_event_ring_look(struct server_event_ring *ring, uint64_t *cursor,
                                void (*look)(void *context, const char *name, size_t len,
                                             uint64_t number),
                                void *context);

/* Copies events from *@cursor on, up to @size bytes: events without a resource, and events whose
 * resource begins with @prefix. Moves *@cursor behind the last event that it read. Returns the
 * number of bytes. Looks at up to SERVER_EVENTS_LOOK events. *@ret_missed is the number of events
 * that are no longer kept. If it is not 0, *@cursor is the first kept event, and nothing is
 * copied. */
size_t server_event_ring_read(struct server_event_ring *ring, uint64_t *cursor, const char *prefix,
                              char *buffer, size_t size, uint64_t *ret_missed);

#endif
