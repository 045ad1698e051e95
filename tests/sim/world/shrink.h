/* Makes a failing history short: fewer servers, clients and kinds of faults, then fewer faults.
 *
 * Each step is a plan with something less in it, played again. If the same seed does not fail
 * any more, others get a chance: what is kept is the violation, not the way to it. */
#ifndef TESTS_SIM_WORLD_SHRINK_H
#define TESTS_SIM_WORLD_SHRINK_H

#include "tests/sim/world/world.h"

struct sim_short {
    struct sim_plan plan;
    uint64_t seed;
    uint32_t events; /* until the violation */
    uint32_t played; /* histories, to find it */
};

/* Shrinks seed @seed, which must fail. *@ret_short can be told by sim_world_play(). False, and
 * nothing else: it does not fail. */
bool sim_shrink(struct sim_world *world, uint64_t seed, unsigned masters,
                struct sim_short *ret_short);

#endif
