/* The features of one world in so many: a fleet that is not made yet, masters that owe few locks,
 * named counters, breaks, listings, watches, seats. The seed says so by its remainder. So the rest
 * of a plan is what it was before there was the extra. */
#ifndef TESTS_SIM_WORLD_EXTRAS_H
#define TESTS_SIM_WORLD_EXTRAS_H

#include "tests/sim/world/plan.h"

/* Completes @plan, which was drawn from @seed. */
void sim_extras_of_seed(struct sim_plan *plan, uint64_t seed);

#endif
