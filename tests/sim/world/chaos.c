#include "tests/sim/world/chaos.h"

#include <string.h>

enum {
    STREAM = 64, /* part of the seed's random numbers: this and as many as there are kinds */
    HALVINGS = 10,
    DELAY_MAX_US = 20 * 1000, /* so that a slow connection is still of use */
};

void sim_chaos_init(struct sim_chaos *chaos, const struct sim_plan *plan, uint64_t seed)
{
    memset(chaos, 0, sizeof(*chaos));
    chaos->plan = plan;
    for (unsigned i = 0; i < SIM_FAULTS; i++)
        if (plan->permille[i])
            sim_rng_init(&chaos->rng[i], seed, STREAM + i);
}

void sim_chaos_heal(struct sim_chaos *chaos)
{
    chaos->healed = true;
}

static bool left_out(const struct sim_plan *plan, enum sim_fault fault, uint64_t number)
{
    return number < SIM_LEFT_OUT_MAX && (plan->left_out[fault] >> number & 1);
}

bool sim_chaos_strikes(struct sim_chaos *chaos, enum sim_fault fault)
{
    uint32_t permille = chaos->plan->permille[fault];
    if (permille == 0 || chaos->healed || !sim_rng_chance(&chaos->rng[fault], permille))
        return false;
    return !left_out(chaos->plan, fault, chaos->struck[fault]++);
}

/* Most often short, now and then as long as can be: what goes wrong at one moment of a long delay
 * goes wrong at many, and the short ones are where messages cross. */
static uint64_t skewed_us(struct sim_rng *rng, uint32_t most_us)
{
    uint32_t halvings = sim_rng_below(rng, HALVINGS);
    return 1 + sim_rng_below(rng, most_us >> halvings);
}

uint64_t sim_chaos_delay_us(struct sim_chaos *chaos, struct sim_rng *rng, unsigned slowness)
{
    const struct sim_plan *plan = chaos->plan;
    uint64_t delay_us = sim_rng_between(rng, plan->delay_low_us, plan->delay_high_us);
    delay_us <<= slowness;
    if (delay_us > DELAY_MAX_US)
        delay_us = DELAY_MAX_US;
    if (sim_chaos_strikes(chaos, SIM_FAULT_SLOW))
        delay_us += skewed_us(&chaos->rng[SIM_FAULT_SLOW], plan->slow_us);
    return delay_us;
}

uint64_t sim_chaos_lateness_us(struct sim_chaos *chaos, enum sim_fault fault)
{
    return skewed_us(&chaos->rng[fault], chaos->plan->slow_us);
}

uint64_t sim_chaos_outage_us(struct sim_chaos *chaos, enum sim_fault fault)
{
    return skewed_us(&chaos->rng[fault], chaos->plan->outage_us);
}

uint32_t sim_chaos_pick(struct sim_chaos *chaos, enum sim_fault fault, uint32_t bound)
{
    return sim_rng_below(&chaos->rng[fault], bound);
}
