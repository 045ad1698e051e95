#include "tests/sim/world/shrink.h"

#include <string.h>

enum {
    REROLLS = 400,       /* other seeds, where a smaller plan does not fail with the same one */
    LAST_REROLLS = 4000, /* and of the smallest plan, to find the one that fails soonest */
    CLASS_LEN = 2,       /* "P1", "P2": the same promise must be broken */
};

struct shrinking {
    struct sim_world *world;
    struct sim_short best;
    char violation[CLASS_LEN + 1];
};

static bool fails(struct shrinking *shrinking, const struct sim_plan *plan, uint64_t seed)
{
    struct sim_world *world = shrinking->world;
    (void)sim_world_play(world, plan, seed, NULL);
    shrinking->best.played++;
    return strncmp(world->check.violation, shrinking->violation, CLASS_LEN) == 0;
}

static void keep(struct shrinking *shrinking, const struct sim_plan *plan, uint64_t seed)
{
    shrinking->best.plan = *plan;
    shrinking->best.seed = seed;
    shrinking->best.events = shrinking->world->events;
}

/* Tries a plan that has less in it. */
static bool try(struct shrinking *shrinking, const struct sim_plan *plan)
{
    uint64_t seed = shrinking->best.seed;
    for (unsigned k = 0; k <= REROLLS; k++) {
        if (!fails(shrinking, plan, seed + k))
            continue;
        keep(shrinking, plan, seed + k);
        return true;
    }
    return false;
}

/* ---- what a plan can do without -------------------------------------------------------------- */

static bool drop_fault(struct shrinking *shrinking, enum sim_fault fault)
{
    struct sim_plan plan = shrinking->best.plan;
    if (plan.permille[fault] == 0)
        return false;
    plan.permille[fault] = 0;
    return try(shrinking, &plan);
}

static bool lower(struct shrinking *shrinking, unsigned *member, unsigned to, struct sim_plan *plan)
{
    if (*member <= to)
        return false;
    *member = to;
    return try(shrinking, plan);
}

static bool drop_parts(struct shrinking *shrinking)
{
    bool any = false;
    struct sim_plan plan = shrinking->best.plan;
    any |= plan.masters > 3 && lower(shrinking, &plan.masters, plan.masters - 2, &plan);
    plan = shrinking->best.plan;
    any |=
        plan.servers > plan.quiet + 1 && lower(shrinking, &plan.servers, plan.servers - 1, &plan);
    plan = shrinking->best.plan;
    any |= plan.clients > 1 && lower(shrinking, &plan.clients, plan.clients - 1, &plan);
    plan = shrinking->best.plan;
    any |= plan.rounds > 1 && lower(shrinking, &plan.rounds, plan.rounds - 1, &plan);
    plan = shrinking->best.plan;
    any |= lower(shrinking, &plan.slowness, 0, &plan);
    plan = shrinking->best.plan;
    if (plan.lists) {
        plan.lists = false;
        any |= try(shrinking, &plan);
    }
    plan = shrinking->best.plan;
    if (plan.resources > 1) {
        plan.resources = plan.slots = 1;
        plan.seats = plan.shared = false;
        any |= try(shrinking, &plan);
    }
    return any;
}

static void drop_what_is_not_needed(struct shrinking *shrinking)
{
    bool any = true;
    while (any) { /* each round makes the plan smaller */
        any = drop_parts(shrinking);
        for (unsigned fault = 0; fault < SIM_FAULTS; fault++)
            any |= drop_fault(shrinking, (enum sim_fault)fault);
    }
}

/* ---- the shortest history -------------------------------------------------------------------- */

static void find_soonest(struct shrinking *shrinking)
{
    const struct sim_plan plan = shrinking->best.plan;
    uint64_t seed = shrinking->best.seed;
    for (unsigned k = 1; k <= LAST_REROLLS; k++)
        if (fails(shrinking, &plan, seed + k) && shrinking->world->events < shrinking->best.events)
            keep(shrinking, &plan, seed + k);
}

/* Leaves single faults out, as long as the seed still fails. */
static void leave_out_faults(struct shrinking *shrinking)
{
    for (unsigned fault = 0; fault < SIM_FAULTS; fault++)
        for (unsigned k = 0; k < SIM_LEFT_OUT_MAX; k++) {
            struct sim_plan plan = shrinking->best.plan;
            if (plan.permille[fault] == 0)
                break;
            plan.left_out[fault] |= UINT64_C(1) << k;
            if (fails(shrinking, &plan, shrinking->best.seed) &&
                shrinking->world->events <= shrinking->best.events)
                keep(shrinking, &plan, shrinking->best.seed);
            if (shrinking->world->chaos.struck[fault] <= k)
                break;
        }
}

bool sim_shrink(struct sim_world *world, uint64_t seed, unsigned masters,
                struct sim_short *ret_short)
{
    struct shrinking shrinking = {.world = world};
    (void)sim_world_run(world, seed, masters, NULL);
    if (sim_check_ok(&world->check))
        return false;
    memcpy(shrinking.violation, world->check.violation, CLASS_LEN);
    struct sim_plan plan = sim_plan_of_seed(seed, masters);
    keep(&shrinking, &plan, seed);
    drop_what_is_not_needed(&shrinking);
    find_soonest(&shrinking);
    leave_out_faults(&shrinking);
    *ret_short = shrinking.best;
    return true;
}
