/* The database of the story: one account, and a guard that can be switched off. The guard is the
 * rule of fence/guard. */
#ifndef API_STORY_DATABASE_H
#define API_STORY_DATABASE_H

#include "api/story/world.h"

void story_database_open(struct story_world *world);

/* Handles a read, which claims the account, or a write. */
void story_database_asked(struct story_world *world, const struct story_message *message);

#endif
