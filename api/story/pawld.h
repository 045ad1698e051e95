/* pawld in the story: the real core, told of calls and replies, and acting on what it says. */
#ifndef API_STORY_PAWLD_H
#define API_STORY_PAWLD_H

#include "api/story/world.h"

/* FENCE_EINVAL, FENCE_ENOMEM. */
FENCE_CHECKED int story_pawld_open(struct story_world *world);
void story_pawld_close(struct story_world *world);

/* Gives @event to the core, with the time, and does what it says. */
void story_pawld_step(struct story_world *world, struct fence_event *event);

/* A client asks. */
void story_pawld_asked(struct story_world *world, const struct story_message *message);

#endif
