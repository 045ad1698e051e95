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
    SERVER_EVENTS_KEPT = 16384,                /* events, a power of 2, */
    SERVER_EVENTS_BYTES = 4 * 1024 * 1024,     /* and bytes of their text */
    SERVER_EVENTS_AFTER_US = 60 * 1000 * 1000, /* a reader that comes back finds them */
    SERVER_EVENTS_LOOK = 1024,                 /* that one read looks at */
};

struct server_event_ring;

/* Takes little memory until somebody reads. FENCE_ENOMEM. */
FENCE_CHECKED int server_event_ring_new(struct server_event_ring **ret_ring);
void server_event_ring_free(struct server_event_ring *ring); /* NULL is fine */

/* Reports whether events are worth telling. One atomic load. */
bool server_event_ring_records(const struct server_event_ring *ring);

/* Adds an event, if it is worth telling. */
void server_event_ring_add(struct server_event_ring *ring, const struct api_event *event);

/* A reader comes, or goes. FENCE_ENOMEM: there is no room for events. */
FENCE_CHECKED int server_event_ring_join(struct server_event_ring *ring);
void server_event_ring_leave(struct server_event_ring *ring);

/* The number that the next event will have. */
uint64_t server_event_ring_next(const struct server_event_ring *ring);

/* The id of the event with @number. */
void server_event_ring_id(const struct server_event_ring *ring, uint64_t number,
                          char ret_id[static API_EVENT_ID_MAX]);

/* The number of the event behind the one with @id. FENCE_ENOENT: the id is not of this process, or
 * the events behind it are no longer kept. */
FENCE_CHECKED int server_event_ring_find(struct server_event_ring *ring, const char *id,
                                         uint64_t *ret_number);

/* Calls @look with the resource of each event from *@cursor on; @len 0: the event has none. Looks
 * at SERVER_EVENTS_LOOK events at most, and moves *@cursor behind them. Returns how many events are
 * not kept any more; *@cursor moves behind them, too. */
uint64_t server_event_ring_look(struct server_event_ring *ring, uint64_t *cursor,
                                void (*look)(void *context, const char *name, size_t len,
                                             uint64_t number),
                                void *context);

/* Copies events from *@cursor on, up to @size bytes. The resource of each begins with @prefix, or
 * the event has none. Moves *@cursor behind the last event that it read. Returns how many bytes. It
 * looks at SERVER_EVENTS_LOOK events at most. *@ret_missed: events that are no longer kept. If it
 * is not 0, *@cursor is the first kept event, and nothing is copied. */
size_t server_event_ring_read(struct server_event_ring *ring, uint64_t *cursor, const char *prefix,
                              char *buffer, size_t size, uint64_t *ret_missed);

#endif
