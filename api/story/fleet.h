/* The fleet of the story is made by the machine of `pawld init --new` before the story begins. */
#ifndef API_STORY_FLEET_H
#define API_STORY_FLEET_H

#include "api/story/world.h"

/* Errors as fence_bootstrap_error(). */
FENCE_CHECKED int story_fleet_make(struct story_world *world);

#endif
