/* A message that reached a master: what it does there, told, counted and checked. */
#ifndef TESTS_SIM_MASTERS_EXECUTE_H
#define TESTS_SIM_MASTERS_EXECUTE_H

#include "tests/sim/world/heap.h"
#include "tests/sim/world/network.h"

struct sim_world;

/* Executes @message, which @event brought, and sets its reply; perhaps an earlier one again first.
 */
void sim_execute(struct sim_world *world, const struct sim_event *event,
                 struct sim_message *message);

#endif
