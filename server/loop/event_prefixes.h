/* The prefixes that readers of one worker follow, and the last event for each prefix. The worker
 * looks at an event once for all readers. Most readers of quiet names then know that there is
 * nothing for them, and look at no event. */
#ifndef SERVER_LOOP_EVENT_PREFIXES_H
#define SERVER_LOOP_EVENT_PREFIXES_H

#include "fence/protocol/limits.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SERVER_EVENT_CHAINS = 1024, /* chains of prefixes, a power of 2 */
};

/* A prefix that some readers follow. */
struct server_event_prefix {
    struct server_event_prefix *next; /* in its chain */
    uint64_t hash;
    unsigned readers;
    uint64_t last; /* number of the last event for the readers, among the events that the worker
                    * looked at */
    size_t len;
    char text[]; /* terminated */
};

/* All zero to begin with. */
struct server_event_prefixes {
    struct server_event_prefix *chains[SERVER_EVENT_CHAINS];
    unsigned of_length[FENCE_RESOURCE_MAX + 1]; /* number of prefixes for each length in bytes */
};

/* Adds a reader of @text. Events up to number @last may be for the reader. Returns NULL if there is
 * no memory. The caller must call server_event_prefixes_leave(). */
struct server_event_prefix *server_event_prefixes_join(struct server_event_prefixes *prefixes,
                                                       const char *text, uint64_t last);
void server_event_prefixes_leave(struct server_event_prefixes *prefixes,
                                 struct server_event_prefix *prefix);

/* Notes that the event with @number has the resource @name. */
void server_event_prefixes_note(struct server_event_prefixes *prefixes, const char *name,
                                size_t len, uint64_t number);

/* Notes that the event with @number is for all readers. */
void server_event_prefixes_note_all(struct server_event_prefixes *prefixes, uint64_t number);

#endif
