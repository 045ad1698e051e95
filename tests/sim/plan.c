#include "tests/sim/plan.h"

#include "fence/limits.h"
#include "tests/sim/clock.h"
#include "tests/sim/message.h"

#include <string.h>

enum {
    /* Two clocks of which one gains this and one loses it differ by less than the drift of 1%. */
    SANE_RATE_PPM = 4900,
    WILD_RATE_PPM = 600 * 1000,

    EXTREME_RATES = 500, /* of a thousand clocks */
    STORMS = 250,        /* of a thousand worlds */
};

/* How often a fault strikes in the worlds that have it: seldom, or often. */
static const struct {
    const char *name;
    uint32_t seldom;
    uint32_t often;
} faults[SIM_FAULTS] = {
    [SIM_FAULT_SLOW] = {"slow", 20, 150},
    [SIM_FAULT_DUPLICATE] = {"duplicate", 20, 250},
    [SIM_FAULT_REPLAY] = {"replay", 20, 250},
    [SIM_FAULT_BREAK] = {"break", 4, 30},
    [SIM_FAULT_HALF_OPEN] = {"half-open", 2, 10},
    [SIM_FAULT_VANISH] = {"vanish", 30, 200},
    [SIM_FAULT_CLIENT_PAUSE] = {"client-pause", 30, 200},
    [SIM_FAULT_CLIENT_LEAVES] = {"client-leaves", 30, 150},
    [SIM_FAULT_MASTER_STOP] = {"master-stop", 2, 10},
    [SIM_FAULT_MASTER_RESTART] = {"master-restart", 20, 150},
    [SIM_FAULT_SERVER_PAUSE] = {"server-pause", 2, 10},
    [SIM_FAULT_CUT] = {"cut", 50, 400},
};

const char *sim_fault_name(enum sim_fault fault)
{
    return faults[fault].name;
}

static unsigned draw_masters(struct sim_rng *rng)
{
    static const unsigned choices[] = {1, 3, 3, 3, 3, 5, 5, 7};
    return choices[sim_rng_below(rng, sizeof(choices) / sizeof(choices[0]))];
}

static void draw_sizes(struct sim_plan *plan, struct sim_rng *rng)
{
    plan->servers = sim_rng_chance(rng, 100) ? 1 : sim_rng_between(rng, 2, SIM_SERVERS_MAX);
    plan->clients = sim_rng_between(rng, 2, SIM_CLIENTS_MAX);
    plan->resources = sim_rng_chance(rng, 600) ? 1 : sim_rng_between(rng, 2, SIM_RESOURCES_MAX);
    plan->slots = sim_rng_between(rng, 1, plan->resources);
    plan->rounds = sim_rng_between(rng, 2, 5);
    plan->extensions = sim_rng_chance(rng, 500) ? FENCE_EXTENSIONS_MAX : 1;
    plan->calls = sim_rng_chance(rng, 900) ? 8 : 1;
}

static void draw_times(struct sim_plan *plan, struct sim_rng *rng)
{
    plan->ttl_low_ms = FENCE_TTL_MIN_MS;
    plan->ttl_high_ms = sim_rng_chance(rng, 700) ? 150 : 1000;
    plan->think_us = sim_rng_chance(rng, 700) ? 3000 : 50 * 1000;
    plan->delay_low_us = 50;
    plan->delay_high_us = sim_rng_chance(rng, 700) ? 500 : 5000;
    plan->slowness = sim_rng_chance(rng, 500) ? 0 : sim_rng_between(rng, 2, 6);
    plan->slow_us = plan->ttl_high_ms * (sim_rng_chance(rng, 500) ? 100 : 2500);
    plan->outage_us = plan->ttl_high_ms * (sim_rng_chance(rng, 500) ? 200 : 2000);
    plan->fault_us = sim_rng_chance(rng, 500) ? 10 * 1000 : 50 * 1000;
}

static void draw_faults(struct sim_plan *plan, struct sim_rng *rng)
{
    for (unsigned i = 0; i < SIM_FAULTS; i++) {
        static const unsigned levels = 5; /* two of them: not in this world */
        unsigned level = sim_rng_below(rng, levels);
        plan->permille[i] = level < 2 ? 0 : level < 4 ? faults[i].seldom : faults[i].often;
    }
    if (plan->sane)
        plan->permille[SIM_FAULT_VANISH] = 0;
}

/* A storm: everybody wants one lock, which goes at any moment, requests happen twice, some masters
 * are far away, and all else is well. Here attempts meet each other half-way most often. */
static void draw_storm(struct sim_plan *plan, struct sim_rng *rng)
{
    plan->sane = false;
    plan->servers = SIM_SERVERS_MAX;
    plan->clients = SIM_CLIENTS_MAX;
    plan->resources = plan->slots = 1;
    plan->calls = 8;
    plan->ttl_low_ms = plan->ttl_high_ms = 1000;
    plan->rounds = 8;
    plan->think_us = 3000;
    plan->delay_high_us = 500;
    plan->slowness = 6;
    memset(plan->permille, 0, sizeof(plan->permille));
    plan->permille[SIM_FAULT_VANISH] = sim_rng_between(rng, 50, 400);
    plan->permille[SIM_FAULT_REPLAY] = sim_rng_between(rng, 50, 500);
    plan->permille[SIM_FAULT_BREAK] = sim_rng_chance(rng, 500) ? 10 : 0;
}

void sim_plan_draw(struct sim_plan *plan, struct sim_rng *rng, unsigned masters)
{
    memset(plan, 0, sizeof(*plan));
    unsigned drawn = draw_masters(rng);
    plan->masters = masters ? masters : drawn;
    plan->sane = sim_rng_chance(rng, 500);
    draw_sizes(plan, rng);
    draw_times(plan, rng);
    draw_faults(plan, rng);
    if (sim_rng_chance(rng, STORMS))
        draw_storm(plan, rng);
}

uint32_t sim_plan_draw_rate(const struct sim_plan *plan, struct sim_rng *rng)
{
    uint32_t off = plan->sane ? SANE_RATE_PPM : WILD_RATE_PPM;
    if (sim_rng_chance(rng, EXTREME_RATES))
        return SIM_RATE_TRUE_PPM + (sim_rng_chance(rng, 500) ? off : -off);
    return sim_rng_between(rng, SIM_RATE_TRUE_PPM - off, SIM_RATE_TRUE_PPM + off);
}
