/* When a lock was last in the way, as the world sees it: more than any server can know. If a
 * lock went without its master being asked (a wipe, a restart, a clock that did anything), it
 * counts as there until its lease would have ended or its master is asked again. */
#ifndef TESTS_SIM_PROMISES_FREEDOM_H
#define TESTS_SIM_PROMISES_FREEDOM_H

#include "tests/sim/promises/check.h"

struct sim_world;

struct sim_freedom {
    uint64_t held_until_us[SIM_MACHINES_MAX][SIM_RESOURCES_MAX]; /* true time */
};

/* @machine has just executed a request about @resource. */
void sim_freedom_note(struct sim_world *world, unsigned machine, uint32_t resource);

/* Something happened to all that @machine has. */
void sim_freedom_note_all(struct sim_world *world, unsigned machine);

/* Reports whether @resource is locked at @machine now. */
bool sim_freedom_is_held(const struct sim_world *world, unsigned machine, uint32_t resource);

/* Since when server @s could have taken @resource: none was locked of a majority of those that it
 * is connected to and may ask. FENCE_NEVER: it cannot now. */
uint64_t sim_freedom_since_us(const struct sim_world *world, unsigned s, uint32_t resource);

#endif
