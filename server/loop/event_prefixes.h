/* The prefixes that readers of one worker follow, and the last event for each. The worker looks at
 * an event once for all readers: most readers of quiet names then know that there is nothing for
 * them, and look at none. */
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
    uint64_t last; /* no event behind the one with this number is for the readers, of those that
                    * were looked at */
    size_t len;
    char text[]; /* terminated */
};

/* All zero to begin with. */
struct server_event_prefixes {
    struct server_event_prefix *chains[SERVER_EVENT_CHAINS];
    unsigned of_length[FENCE_RESOURCE_MAX + 1]; /* how many prefixes have so many bytes */
};

/* A reader of @text comes. Events up to the one with the number @last may be for it. NULL: memory
 * is short. server_event_prefixes_leave() is the caller's duty. */
struct server_event_prefix *server_event_prefixes_join(struct server_event_prefixes *prefixes,
                                                       const char *text, uint64_t last);
void server_event_prefixes_leave(struct server_event_prefixes *prefixes,
                                 struct server_event_prefix *prefix);

/* The event with @number has the resource @name. */
void server_event_prefixes_note(struct server_event_prefixes *prefixes, const char *name,
                                size_t len, uint64_t number);

/* The event with @number is for all readers. */
void server_event_prefixes_note_all(struct server_event_prefixes *prefixes, uint64_t number);

#endif
