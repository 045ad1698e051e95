#include "tests/sim/chaos.h"

#include <string.h>

enum {
    STREAM = 2, /* of the seed's random numbers */
    HALVINGS = 10,
    DELAY_MAX_US = 20 * 1000, /* so that a slow connection is still of use */
};

void sim_chaos_init(struct sim_chaos *chaos, const struct sim_plan *plan, uint64_t seed)
{
    memset(chaos, 0, sizeof(*chaos));
    chaos->plan = plan;
    sim_rng_init(&chaos->rng, seed, STREAM);
}

void sim_chaos_heal(struct sim_chaos *chaos)
{
    chaos->healed = true;
}

bool sim_chaos_strikes(struct sim_chaos *chaos, enum sim_fault fault)
{
    uint32_t permille = chaos->plan->permille[fault];
    if (permille == 0 || chaos->healed || !sim_rng_chance(&chaos->rng, permille))
        return false;
    chaos->struck++;
    chaos->by_kind[fault]++;
    return true;
}

/* Most often short, now and then as long as can be: what goes wrong at one moment of a long delay
 * goes wrong at many, and the short ones are where messages cross. */
static uint64_t skewed_us(struct sim_chaos *chaos, uint32_t most_us)
{
    uint32_t halvings = sim_rng_below(&chaos->rng, HALVINGS);
    return 1 + sim_rng_below(&chaos->rng, most_us >> halvings);
}

uint64_t sim_chaos_delay_us(struct sim_chaos *chaos, unsigned slowness)
{
    const struct sim_plan *plan = chaos->plan;
    uint64_t delay_us = sim_rng_between(&chaos->rng, plan->delay_low_us, plan->delay_high_us);
    delay_us <<= slowness;
    if (delay_us > DELAY_MAX_US)
        delay_us = DELAY_MAX_US;
    if (sim_chaos_strikes(chaos, SIM_FAULT_SLOW))
        delay_us += skewed_us(chaos, plan->slow_us);
    return delay_us;
}

uint64_t sim_chaos_lateness_us(struct sim_chaos *chaos)
{
    return skewed_us(chaos, chaos->plan->slow_us);
}

uint64_t sim_chaos_outage_us(struct sim_chaos *chaos)
{
    return skewed_us(chaos, chaos->plan->outage_us);
}

uint32_t sim_chaos_pick(struct sim_chaos *chaos, uint32_t bound)
{
    return sim_rng_below(&chaos->rng, bound);
}
