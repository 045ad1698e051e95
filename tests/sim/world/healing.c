#include "tests/sim/world/healing.h"

#include "fence/fleet/majority_lost_data.h"
#include "fence/protocol/lease.h"
#include "tests/sim/promises/voters.h"
#include "tests/sim/world/faults.h"
#include "tests/sim/world/world.h"

enum {
    /* From healing on: leaders of rejoins that died are abandoned, and others lead. If nothing
     * will ever be well again, only the calls come to their end. */
    CALM_US = 20 * 1000 * 1000,
    CALM_IN_VAIN_US = 1000 * 1000,
    SLOWEST_CLOCK = 4, /* true milliseconds in one of a server's, at most: its waits take longer */
    CALM_DELAY_US = 500,
    LOOK_US = 8 * 1000 * 1000, /* from healing on until the operator looks what is still wrong */

    LOSES_AGAIN = 500, /* per mille of the worlds whose operator is done by then */

    MAINTENANCE_BEGINS = 1, /* the id of a MAINTAIN event */
};

static void schedule(struct sim_world *world, uint64_t after_us, enum sim_event_kind kind,
                     unsigned s, uint32_t id)
{
    struct sim_event event = {.kind = (uint8_t)kind, .server = (uint8_t)s, .id = id};
    sim_world_schedule(world, after_us, &event);
}

/* Questions that make servers look at their masters: an idle one does not see that it was wiped. */
static void schedule_nudges(struct sim_world *world, uint64_t from_us)
{
    static const uint32_t after_ms[] = {0, 500, 1500, 3000, 6000, 10000, 15000};
    for (unsigned k = 0; k < sizeof(after_ms) / sizeof(after_ms[0]); k++)
        for (unsigned s = 0; s < world->plan.servers; s++)
            schedule(world, from_us + after_ms[k] * UINT64_C(1000), SIM_EVENT_NUDGE, s, 0);
}

static void schedule_probes(struct sim_world *world, uint64_t after_us)
{
    for (unsigned r = 0; r < world->plan.resources; r++, after_us += SIM_PROBE_US)
        schedule(world, after_us, SIM_EVENT_PROBE, 0, r);
    if (world->plan.resources > 1 && !world->plan.seats && sim_plan_recovers(&world->plan)) {
        schedule(world, after_us, SIM_EVENT_PROBE_GROUPS, 0, 0);
        after_us += SIM_PROBE_GROUPS_US;
    }
    if (world->plan.maintains) {
        schedule(world, after_us, SIM_EVENT_MAINTAIN, 0, MAINTENANCE_BEGINS);
        after_us += SIM_MAINTAIN_US;
    }
    schedule(world, after_us, SIM_EVENT_FINISH, 0, 0);
}

/* The state when the fleet is one again. The operator looks first. */
static void schedule_end(struct sim_world *world)
{
    uint64_t after_us = world->plan.slow_us + 2 * world->plan.outage_us;
    if (sim_plan_recovers(&world->plan)) {
        schedule_nudges(world, after_us);
        schedule(world, after_us + LOOK_US, SIM_EVENT_OPERATOR, 0, 0);
    } else {
        schedule_probes(world, after_us + CALM_IN_VAIN_US +
                                   SLOWEST_CLOCK * UINT64_C(1000) * world->plan.watch_high_ms);
    }
}

/* A majority may forget once more: what the operator did is then what survivors tell of. */
static void perhaps_lose_again(struct sim_world *world)
{
    if (world->plan.kind != SIM_LOST || !world->plan.early || world->lost_again ||
        !sim_rng_chance(&world->operators.rng, LOSES_AGAIN))
        return;
    world->lost_again = true;
    world->stats.losses_again++;
    sim_faults_lose_majority(world);
    sim_operator_begin(world, true);
}

void sim_healing_begin(struct sim_world *world)
{
    world->liar.lies = false;
    if (world->chaos.healed)
        return;
    sim_faults_disaster(world);
    SIM_SAY(world, "all is well from now on");
    sim_chaos_heal(&world->chaos);
    world->plan.delay_high_us = CALM_DELAY_US;
    sim_links_heal(world);
    sim_faults_mend_all(world);
    if (!sim_operators_are_busy(world)) {
        if (world->plan.kind == SIM_LOST && !world->plan.early)
            sim_operator_begin(world, true);
        else
            perhaps_lose_again(world);
    }
    if (!sim_operators_are_busy(world))
        schedule_end(world);
}

void sim_healing_fleet_is_made(struct sim_world *world)
{
    if (world->chaos.healed)
        schedule_end(world);
}

/* ---- the operator: the status says what to do --------------------------------------------- */

static bool is_superseded(const struct sim_world *world, unsigned i)
{
    for (unsigned s = 0; s < world->plan.servers; s++)
        if (fence_core_fleet(world->servers[s].core)->master[i].reason == FENCE_REASON_SUPERSEDED)
            return true;
    return false;
}

/* A claim of a run that had ended can reach a master late, and take back what another run made: the
 * connection was closed, and the master read it no sooner. /readyz then asks for a token floor, and
 * the status of the master names the run. */
static bool is_claimed_late(const struct sim_world *world)
{
    for (unsigned s = 0; s < world->plan.servers; s++) {
        const struct fence_fleet *fleet = fence_core_fleet(world->servers[s].core);
        for (unsigned i = 0; i < world->plan.masters && fence_fleet_lost_memory(fleet); i++)
            if (fence_fleet_told(fleet, i) == FENCE_REASON_INIT)
                return true;
    }
    return false;
}

/* An old machine that was given its address again is taken for what it was, until it is restarted.
 */
static void operator_looks(struct sim_world *world)
{
    for (unsigned i = 0; i < world->plan.masters; i++)
        if (is_superseded(world, i))
            sim_faults_restart_empty(world, i);
    if (is_claimed_late(world)) {
        sim_operator_begin(world, true);
    } else {
        schedule_probes(world, CALM_US - LOOK_US);
    }
}

/* ---- is all well? ---------------------------------------------------------------------------- */

static void check_all_active(struct sim_world *world)
{
    for (unsigned s = 0; s < world->plan.servers; s++) {
        const struct fence_fleet *fleet = fence_core_fleet(world->servers[s].core);
        for (unsigned i = 0; i < world->plan.masters; i++)
            if (fleet->master[i].state != FENCE_MASTER_ACTIVE)
                sim_check_fail(&world->check,
                               "P3: all is well again, but to server %u master %u is %s: %s", s, i,
                               fence_master_state_name(fleet->master[i].state),
                               fence_reason_words(fleet->master[i].reason, NULL)->name);
    }
}

static void probe(struct sim_world *world, uint32_t resource)
{
    sim_check_all_answered(&world->check);
    if (!sim_plan_recovers(&world->plan) || !sim_check_ok(&world->check))
        return;
    check_all_active(world);
    if (sim_check_ok(&world->check))
        sim_probe_one(world, resource);
}

static void probe_groups(struct sim_world *world)
{
    sim_check_all_answered(&world->check);
    if (sim_check_ok(&world->check))
        sim_probe_groups(world);
}

static void finish(struct sim_world *world)
{
    sim_check_all_answered(&world->check);
    sim_maintain_check(world);
    sim_listing_check_over(world);
    for (unsigned s = 0; s < world->plan.servers; s++)
        if (fence_core_calls(world->servers[s].core) > 0)
            sim_check_fail(&world->check, "server %u is still busy after its last answer", s);
    sim_voters_check(world);
    world->over = true;
}

void sim_healing_act(struct sim_world *world, const struct sim_event *event)
{
    if (event->kind == SIM_EVENT_OPERATOR)
        operator_looks(world);
    else if (event->kind == SIM_EVENT_NUDGE)
        sim_probe_nudge(world, event->server);
    else if (event->kind == SIM_EVENT_PROBE)
        probe(world, event->id);
    else if (event->kind == SIM_EVENT_PROBE_AGAIN)
        sim_probe_again(world, event->id);
    else if (event->kind == SIM_EVENT_MAINTAIN && event->id == MAINTENANCE_BEGINS)
        sim_maintain_begin(world);
    else if (event->kind == SIM_EVENT_MAINTAIN)
        sim_maintain_go_on(world);
    else if (event->kind == SIM_EVENT_PROBE_GROUPS)
        probe_groups(world);
    else
        finish(world);
}
