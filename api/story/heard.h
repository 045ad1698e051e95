/* Messages of masters that arrive at pawld, and timers of its connections to them. */
#ifndef API_STORY_HEARD_H
#define API_STORY_HEARD_H

#include "api/story/world.h"

/* A timer of master @i is due. */
void story_link_due(struct story_world *world, unsigned i, enum story_master_timer timer);

/* A message of a master arrives. */
void story_heard(struct story_world *world, struct story_message *message);

#endif
