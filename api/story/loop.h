/* The loop of the story: opens a world, runs it, and closes it. */
#ifndef API_STORY_LOOP_H
#define API_STORY_LOOP_H

#include "api/story/world.h"

/* Makes a world with a new fleet of @masters, 3 or 5. FENCE_EINVAL; FENCE_ENOMEM. */
FENCE_CHECKED int story_world_open(struct story_world *world, uint64_t seed, unsigned masters);
void story_world_close(struct story_world *world);

/* Runs until @until_us, or until events must be taken first. Returns the time that it has
 * reached. */
uint64_t story_world_run(struct story_world *world, uint64_t until_us);

#endif
