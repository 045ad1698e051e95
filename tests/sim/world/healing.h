/* The end of a history: nothing goes wrong any more, and after a while everything must be well. */
#ifndef TESTS_SIM_WORLD_HEALING_H
#define TESTS_SIM_WORLD_HEALING_H

#include "tests/sim/world/heap.h"

struct sim_world;

/* From now on nothing goes wrong. Its consequences are scheduled. */
void sim_healing_begin(struct sim_world *world);

/* No operator has anything left to do. */
void sim_healing_fleet_is_made(struct sim_world *world);

/* Acts on OPERATOR, NUDGE, PROBE or FINISH. */
void sim_healing_act(struct sim_world *world, const struct sim_event *event);

#endif
