/* The one place that decides whether something goes wrong now.
 *
 * Each kind of fault has random numbers of its own, so that one that is left out shifts no other:
 * the shrinker needs a history to stay much the same without it. */
#ifndef TESTS_SIM_WORLD_CHAOS_H
#define TESTS_SIM_WORLD_CHAOS_H

#include "tests/sim/world/plan.h"

struct sim_chaos {
    const struct sim_plan *plan;
    struct sim_rng rng[SIM_FAULTS];
    bool healed;
    uint64_t struck[SIM_FAULTS]; /* how often each kind did, or was left out of the plan */
};

/* @plan is borrowed for the life of @chaos. */
void sim_chaos_init(struct sim_chaos *chaos, const struct sim_plan *plan, uint64_t seed);

/* From now on nothing goes wrong any more. */
void sim_chaos_heal(struct sim_chaos *chaos);

/* True if @fault strikes here and now. */
bool sim_chaos_strikes(struct sim_chaos *chaos, enum sim_fault fault);

/* How long a message is on its way, slow ones included: drawn from @rng, which is the sender's.
 * @slowness is that of its connection. */
uint64_t sim_chaos_delay_us(struct sim_chaos *chaos, struct sim_rng *rng, unsigned slowness);

/* The needs of a fault that strikes: how long after the original a duplicate comes; how long an
 * outage lasts; a choice, 0 .. @bound - 1. */
uint64_t sim_chaos_lateness_us(struct sim_chaos *chaos, enum sim_fault fault);
uint64_t sim_chaos_outage_us(struct sim_chaos *chaos, enum sim_fault fault);
uint32_t sim_chaos_pick(struct sim_chaos *chaos, enum sim_fault fault, uint32_t bound);

#endif
