/* The one place that decides whether something goes wrong now. Each fault that strikes gets the
 * next number, so a history can be told again with some of them left out. */
#ifndef SIM_CHAOS_H
#define SIM_CHAOS_H

#include "tests/sim/plan.h"

struct sim_chaos {
    const struct sim_plan *plan;
    struct sim_rng rng;
    bool healed;
    uint64_t struck; /* faults so far */
    uint64_t by_kind[SIM_FAULTS];
};

/* @plan is borrowed for the life of @chaos. */
void sim_chaos_init(struct sim_chaos *chaos, const struct sim_plan *plan, uint64_t seed);

/* From now on nothing goes wrong any more. */
void sim_chaos_heal(struct sim_chaos *chaos);

/* True if @fault strikes here and now. */
bool sim_chaos_strikes(struct sim_chaos *chaos, enum sim_fault fault);

/* How long a message is on its way, slow ones included; @slowness is that of its connection. */
uint64_t sim_chaos_delay_us(struct sim_chaos *chaos, unsigned slowness);

/* How long after the original a duplicate comes; how long an outage lasts. */
uint64_t sim_chaos_lateness_us(struct sim_chaos *chaos);
uint64_t sim_chaos_outage_us(struct sim_chaos *chaos);

/* A choice that a fault needs: 0 .. @bound - 1. */
uint32_t sim_chaos_pick(struct sim_chaos *chaos, uint32_t bound);

#endif
