/* A client of the story. It acquires the lock, reads the balance of the account, works, looks at
 * its clock, writes the balance, and releases the lock. A reader only reads. The client has to
 * trust its clock: a pause between the look and the write goes unnoticed. */
#ifndef API_STORY_CLIENT_H
#define API_STORY_CLIENT_H

#include "api/story/world.h"

enum {
    STORY_WORK_MS = 1200, /* between the read and the look at the clock */
    STORY_WORK_MS_MAX = 60 * 1000,
};

void story_client_open(struct story_world *world, unsigned c);

/* Client @c begins a task, if it has none: as a holder, a reader or a writer. */
void story_client_begin(struct story_world *world, unsigned c, enum fence_mode mode);

/* The timer of client @c is due; a message arrives at client @c. */
void story_client_due(struct story_world *world, unsigned c);
void story_client_hear(struct story_world *world, unsigned c, const struct story_message *message);

#endif
