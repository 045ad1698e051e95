/* Requests that arrive at a master. */
#ifndef API_STORY_SERVED_H
#define API_STORY_SERVED_H

#include "api/story/world.h"

/* A request of pawld arrives at a master. */
void story_served(struct story_world *world, struct story_message *message);

/* Tells what master @i holds, where that changed. */
void story_served_tell(struct story_world *world, unsigned i);

#endif
